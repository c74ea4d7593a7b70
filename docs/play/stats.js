// Quantities, means with intervals and sentences of a comparison, as midpath/{units,stats,matched,compare}.py have them:
// tests/python/test_play.py compares the two, figure by figure. What is a table there comes with play.json.
import { numbers, texts } from "./simulator.js";

const NO_BREAK = "\u00a0",
  TIE = "5".padEnd(30, "0");
let facts;

/** Takes play.json: metrics, units, schemes, Student's t. */
export function use(found) {
  facts = found;
}

export const metrics = () => facts.metrics;
export const units = () => facts.units;
export const tints = () => facts.tints;

/** What stands before a variant's name where a scheme's could be. */
export const VARIANT = "variant:";

/** A column's name as people write it: `CUBIC + RPM`, `CUBIC @ fq_codel`. */
export function name(scheme) {
  if (scheme === "ideal") return "Ideal";
  if (scheme.startsWith(VARIANT)) return scheme.slice(VARIANT.length);
  const [column, queue] = scheme.split("@");
  const titles = column.split("+").map((part) => facts.titles[part] ?? part);
  return titles.join(" + ") + (queue ? ` @ ${queue}` : "");
}

export function listed(names) {
  return names.length > 1 ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}` : names[0];
}

/** The unit in which a value reads best. */
export function scale(kind, value) {
  const steps = facts.units[kind],
    size = Math.abs(value);
  if (size === 0 || !Number.isFinite(size)) return kind === "seconds" ? [1, "s"] : steps[0];
  return steps.filter(([factor]) => size >= factor * 0.9995).at(-1) ?? steps[0];
}

// Python rounds to even where a binary number is exactly between two decimals; JavaScript takes the larger.
function toEven(text, exact, step) {
  const isBetween = exact.endsWith(TIE);
  return isBetween && !"02468".includes(text.at(-1)) ? step(Number(text)) : text;
}

function fixed(value, places) {
  const down = (up) => (up - Math.sign(value) * 10 ** -places).toFixed(places);
  return toEven(value.toFixed(places), value.toFixed(places + TIE.length), down);
}

/** A number to three digits. */
function threeDigits(value) {
  const size = Math.abs(value),
    [digits, power] = size.toExponential(2).split("e");
  const down = (up) => (up - 0.01).toFixed(2);
  const rounded = toEven(digits, size.toExponential(2 + TIE.length).split("e")[0], down);
  return Math.sign(value) * Number(`${rounded}e${power}`);
}

function grouped(text) {
  const [whole, rest] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest === undefined ? "" : "." + rest);
}

/** Three significant digits. */
export function digits(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) < 1000) value = threeDigits(value);
  const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value)) + 1e-12));
  if (places > 6) return value.toExponential(1).replace(/e([+-])(\d)$/, "e$10$2");
  return grouped(fixed(value, places));
}

/** `61.2 ± 1.3 ms`. */
export function quantity(kind, value, ci95 = null) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (kind === "count") {
    const number = ci95 === null ? grouped(fixed(value, 0)) : digits(value);
    return ci95 ? `${number} ± ${digits(ci95)}` : number;
  }
  if (kind === "bytes" && value > 0 && value < 1 && ci95 === null) return `<${NO_BREAK}1${NO_BREAK}B`;
  const [factor, suffix] = scale(kind, value);
  let number = kind === "index" ? fixed(value, 3) : digits(value / factor);
  if (ci95 !== null) {
    const places = number.split(".")[1]?.length ?? 0;
    number += ` ± ${number.includes("e") ? digits(ci95 / factor) : grouped(fixed(ci95 / factor, places))}`;
  }
  return number + (suffix === "" || suffix === "×" ? "" : NO_BREAK) + suffix;
}

/** A sum in numpy's order of additions, so that it has numpy's last bit, too. */
export function total(values, from = 0, to = values.length) {
  const count = to - from;
  if (count > 128) {
    const half = Math.floor(count / 2),
      middle = from + half - (half % 8);
    return total(values, from, middle) + total(values, middle, to);
  }
  let sum = 0,
    i = from;
  if (count >= 8) {
    const r = Array.from({ length: 8 }, (_, k) => values[from + k]);
    for (i += 8; i + 8 <= to; i += 8) for (let k = 0; k < 8; k++) r[k] += values[i + k];
    sum = r[0] + r[1] + (r[2] + r[3]) + (r[4] + r[5] + (r[6] + r[7]));
  }
  for (; i < to; i++) sum += values[i];
  return sum;
}

export const average = (values) => total(values) / values.length;

/** Mean and half of its 95 % interval; null without values. */
export function estimate(values) {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  if (!known.length) return null;
  const mean = average(known);
  if (known.length === 1) return { mean, ci95: null, n: 1, of: values.length };
  const spread = Math.sqrt(total(known.map((value) => (value - mean) * (value - mean))) / (known.length - 1));
  return {
    mean,
    ci95: (facts.student_t[known.length - 1] / Math.sqrt(known.length)) * spread,
    n: known.length,
    of: values.length,
  };
}

const pairs = (values, others) =>
  values.map((value, i) => [value, others[i]]).filter(([a, b]) => a !== null && b !== null);

export function differs(values, others) {
  const found = estimate(values.map((value, i) => (value !== null && others[i] !== null ? value - others[i] : null)));
  if (!found || (found.ci95 === null && found.n < found.of)) return false;
  return Math.abs(found.mean) > (found.ci95 ?? 0);
}

export function excess(values, others) {
  const both = pairs(values, others);
  const found = estimate(both.map(([a, b]) => a - b));
  const base = average(both.map(([, b]) => b));
  if (!found || !(base > 0)) return null;
  return { mean: found.mean / base, ci95: found.ci95 === null ? null : found.ci95 / base };
}

export function ratio(values, references) {
  return estimate(values.map((value, i) => (value !== null && references[i] > 0 ? value / references[i] : null)));
}

// numpy's linear interpolation.
export function quantile(sorted, share) {
  const at = share * (sorted.length - 1),
    low = Math.floor(at),
    t = at - low;
  const [a, b] = [sorted[low], sorted[Math.min(low + 1, sorted.length - 1)]];
  return t >= 0.5 ? b - (b - a) * (1 - t) : a + (b - a) * t;
}

const MATCHED = {
  afct_s: ["fct_s", average],
  fct_p50_s: ["fct_s", (v) => quantile(v.sort(), 0.5)],
  fct_p99_s: ["fct_s", (v) => quantile(v.sort(), 0.99)],
  slowdown_mean: ["slowdown", average],
  slowdown_p99: ["slowdown", (v) => quantile(v.sort(), 0.99)],
};

const COUNTS = ["received_packets", "lost_packets", "late_packets"];
const DELAYS = ["delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_p999_s", "jitter_s"];
// Of ports, means over seeds; the rest is the same in each.
const MEANS = [
  "utilisation",
  "queue_mean_bytes",
  "delay_p50_s",
  "delay_p99_s",
  "drops_queue",
  "drops_aqm",
  "drops_fault",
  "marks",
];

/** A run's flows: who they are of, and which of them ended when. */
function flowsOf({ tables: { flows } }) {
  const [fct, bytes] = ["fct_s", "delivered_bytes"].map((key) => numbers(flows.columns[key]));
  return { group: texts(flows.columns.group), fct, bytes };
}

const NO_IDEAL = {
  after: "no ideal: some flows start `after` others, and the fluid model starts flows at their times",
  write: "no ideal: some applications `write` now and then, and the fluid model has all data at the start",
};

/** Why a scenario has no ideal, if it has none. */
export function noIdeal({ client = [], job = [], flow = [], workload = [] }) {
  if (client.length || job.length || [...flow, ...workload].some(({ after }) => after)) return NO_IDEAL.after;
  return flow.some(({ write }) => write) ? NO_IDEAL.write : null;
}

/**
 * Several schemes over the same seeds: `results.get(scheme)` is a list of opened answers, by seed; `scenario` is what was
 * run, as JSON. `beside` has, by seed, runs of other variants: times are over the flows that ended in these, too.
 */
export class Comparison {
  constructor(schemes, seeds, results, scenario, beside = null) {
    Object.assign(this, { schemes, seeds, results, scenario, beside });
    this.common = seeds.map((_, i) => this.#endedInAll(i));
    this.isRandom = this.#isRandom();
  }

  #isRandom() {
    const summary = ({ run }) => JSON.stringify(metrics().map(({ key }) => run.summary[key]));
    if (this.seeds.length > 1)
      return this.schemes.some((scheme) => new Set(this.results.get(scheme).map(summary)).size > 1);
    return this.schemes.some((scheme) => this.results.get(scheme)[0].run.stochastic);
  }

  /** The ports of a scheme, means over seeds; `label` names each of them. */
  ports(scheme) {
    this.portsOf ??= new Map();
    if (!this.portsOf.has(scheme)) this.portsOf.set(scheme, this.#ports(scheme));
    return this.portsOf.get(scheme);
  }

  #ports(scheme) {
    const runs = this.results.get(scheme);
    const { columns } = runs[0].tables.ports;
    const [node, peer] = ["node", "peer"].map((key) => texts(columns[key]));
    const [port, rate_bps] = ["port", "rate_bps"].map((key) => numbers(columns[key]));
    const means = MEANS.map((key) => {
      const all = runs.map(({ tables }) => numbers(tables.ports.columns[key]));
      return [key, node.map((_, i) => all.reduce((sum, values) => sum + values[i], 0) / all.length)];
    });
    const plain = node.map((from, i) => `${from} → ${peer[i]}`);
    const times = new Map();
    for (const label of plain) times.set(label, (times.get(label) ?? 0) + 1);
    return plain.map((label, i) => ({
      node: node[i],
      peer: peer[i],
      rate_bps: rate_bps[i],
      label: times.get(label) > 1 ? `${label} (port ${port[i]})` : label,
      ...Object.fromEntries(means.map(([key, values]) => [key, values[i]])),
    }));
  }

  /** Group by group of flows, a row for each scheme; none where there is but one group. */
  groups() {
    const flows = new Map(this.schemes.map((scheme) => [scheme, this.results.get(scheme).map(flowsOf)]));
    const names = new Set([...flows.values()].flat().flatMap(({ group }) => group));
    if (names.size < 2) return [];
    return [...names].flatMap((group) => this.schemes.map((scheme) => this.#group(group, scheme, flows.get(scheme))));
  }

  #group(group, scheme, runs) {
    const row = { group, scheme, flows: 0, completed: 0 };
    const [means, tails, rates] = [[], [], []];
    runs.forEach((run, seed) => {
      const mine = [...run.group.keys()].filter((i) => run.group[i] === group);
      const ended = mine.filter((i) => Number.isFinite(run.fct[i]));
      row.flows += mine.length;
      row.completed += ended.length;
      const mask = this.common[seed];
      const times = Float64Array.from(
        ended.filter((i) => !mask || mask[i]),
        (i) => run.fct[i],
      );
      means.push(times.length ? average(times) : null);
      tails.push(times.length ? quantile(times.sort(), 0.99) : null);
      rates.push((total(mine.map((i) => run.bytes[i] || 0)) * 8) / this.results.get(scheme)[seed].run.simulated_s);
    });
    return { ...row, afct_s: estimate(means), fct_p99_s: estimate(tails), goodput_bps: estimate(rates) };
  }

  /** A group's datagrams under each scheme: counts over flows and seeds; of each delay that of the worst flow. */
  datagrams() {
    const of = (scheme) => this.results.get(scheme).flatMap(({ tables }) => tables.datagrams ?? []);
    const rows = (table) => texts(table.columns.group).map((group, i) => ({ group, i, table }));
    const tables = this.schemes.map((scheme) => [scheme, of(scheme).map(rows)]).filter(([, found]) => found.length);
    const names = new Set(tables.flatMap(([, found]) => found.flat().map(({ group }) => group)));
    return [...names].flatMap((group) =>
      tables.map(([scheme, found]) => {
        const values = (key) =>
          found.map((rows) =>
            rows
              .filter((row) => row.group === group)
              .map(({ i, table }) => numbers(table.columns[key])[i])
              .filter(Number.isFinite),
          );
        const count = (key) =>
          values(key)
            .flat()
            .reduce((sum, value) => sum + value, 0);
        const worst = (key) => estimate(values(key).map((of) => (of.length ? Math.max(...of) : null)));
        return { group, scheme, counts: COUNTS.map(count), delays: DELAYS.map(worst) };
      }),
    );
  }

  #endedInAll(seed) {
    const runs = [...this.schemes.map((scheme) => this.results.get(scheme)[seed]), ...(this.beside?.[seed] ?? [])];
    if (runs.every(({ run: { summary } }) => summary.completed === summary.flows)) return null;
    const masks = runs.map(({ tables }) => Array.from(numbers(tables.flows.columns.fct_s), Number.isFinite));
    if (masks.every((mask) => mask.every((ended, i) => ended === masks[0][i]))) return null;
    return masks[0].map((_, i) => masks.every((mask) => mask[i]));
  }

  get first() {
    return this.results.get(this.schemes[0])[0];
  }

  get matching() {
    const masks = this.common.filter(Boolean);
    if (!masks.length) return null;
    const count = (of) => masks.reduce((sum, mask) => sum + of(mask), 0).toLocaleString("en");
    return `Times cover the ${count((mask) => mask.filter(Boolean).length)} of ${count((mask) => mask.length)} flows that ended under all schemes${this.beside ? " and in all variants" : ""}`;
  }

  values(scheme, key) {
    return this.results.get(scheme).map(({ run, tables }, seed) => {
      const mask = this.common[seed];
      if (!mask || !MATCHED[key]) return run.summary[key] ?? null;
      const [column, reduce] = MATCHED[key];
      const found = numbers(tables.flows.columns[column]).filter((value, i) => mask[i] && Number.isFinite(value));
      return found.length ? reduce(found) : null;
    });
  }

  figure(scheme, key) {
    return estimate(this.values(scheme, key));
  }
  differs(scheme, other, key) {
    return differs(this.values(scheme, key), this.values(other, key));
  }
  excess(scheme, other, key) {
    return excess(this.values(scheme, key), this.values(other, key));
  }

  toIdeal(scheme, key) {
    return this.results.has("ideal") ? ratio(this.values(scheme, key), this.values("ideal", key)) : null;
  }

  total(scheme, key) {
    return this.results.get(scheme).reduce((sum, { run }) => sum + run.summary[key], 0);
  }

  /** The scheme with the best mean, if seeds tell it apart from every other. */
  best({ key, better }) {
    const found = this.schemes.filter((scheme) => scheme !== "ideal" && this.figure(scheme, key));
    if (!better || found.length < 2 || (this.isRandom && this.seeds.length === 1)) return null;
    const sign = better === "lower" ? 1 : -1;
    const mean = (scheme) => sign * this.figure(scheme, key).mean;
    const top = found.reduce((one, other) => (mean(other) < mean(one) ? other : one));
    return found.every((scheme) => scheme === top || this.differs(scheme, top, key)) ? top : null;
  }

  /** The verdict, as midpath/compare/verdict.py writes it. */
  sentences() {
    const schemes = this.schemes.filter((scheme) => scheme !== "ideal");
    return [this.#speed(schemes), this.#memory(schemes), this.#routers(schemes)].filter(Boolean);
  }

  #ci(found) {
    return this.isRandom ? found.ci95 : null;
  }

  #speed(schemes) {
    const timed = schemes.filter((scheme) => this.figure(scheme, "afct_s"));
    if (!timed.length) return this.matching ? this.#byCompletion(schemes) : this.#byGoodput(schemes);
    const time = (scheme) => this.figure(scheme, "afct_s");
    let said = this.#ranked(timed);
    const missing = timed.filter((scheme) => time(scheme).n < time(scheme).of);
    if (missing.length)
      said += ` Some seeds gave no time: ${missing.map((s) => `${name(s)}'s is from ${time(s).n} of ${time(s).of} seeds`).join("; ")}.`;
    if (this.isRandom && this.seeds.length === 1)
      said += " One seed only: small differences may be chance; repeat with several.";
    if (this.isRandom && this.seeds.length === 2) said += " Two seeds only: intervals are wide.";
    return this.matching ? `${this.#byCompletion(schemes)} ${this.matching}: of these ${said}` : said;
  }

  #ranked(timed) {
    const time = (scheme) => this.figure(scheme, "afct_s");
    const [best, ...others] = timed.toSorted((a, b) => time(a).mean - time(b).mean);
    let said = `${name(best)} has the lowest AFCT: ${quantity("seconds", time(best).mean, this.#ci(time(best)))}`;
    const ideal = this.toIdeal(best, "afct_s");
    if (ideal) said += `, ${quantity("times", ideal.mean, this.#ci(ideal)).replace(/×$/, "")} times the ideal`;
    const rest = others.map((other) => `${name(other)} ${this.#longer(other, best)}`).join("; ");
    return `${said}${rest && `. ${rest}`}.`;
  }

  /** The scheme with the lowest AFCT, and how much longer the others take; empty if fewer than two have times. */
  fastest() {
    const timed = this.schemes.filter((scheme) => scheme !== "ideal" && this.figure(scheme, "afct_s"));
    return timed.length > 1 ? this.#ranked(timed) : "";
  }

  #longer(other, best) {
    const more = this.excess(other, best, "afct_s");
    if (!more || !this.differs(other, best, "afct_s")) return "does not differ significantly";
    return `takes ${quantity("ratio", more.mean, this.#ci(more))} longer`;
  }

  #byCompletion(schemes) {
    const done = (scheme) => this.total(scheme, "completed"),
      flows = (scheme) => this.total(scheme, "flows").toLocaleString("en");
    const [best, ...others] = schemes.toSorted((a, b) => done(b) - done(a));
    const ends = done(best) === this.total(best, "flows") ? "all" : `${done(best).toLocaleString("en")} of`;
    const rest = others.map((scheme) => `${name(scheme)} ${done(scheme).toLocaleString("en")}`).join(", ");
    return `${name(best)} completes ${ends} ${flows(best)} flows${rest && `; ${rest}`}.`;
  }

  #byGoodput(schemes) {
    const rate = (scheme) => this.figure(scheme, "goodput_total_bps");
    const found = schemes.filter(rate);
    if (!found.length) return "No flow delivered anything.";
    const best = found.reduce((one, other) => (rate(other).mean > rate(one).mean ? other : one));
    return `${name(best)} has the highest goodput: ${quantity("bps", rate(best).mean, rate(best).ci95)} over all flows.`;
  }

  #memory(schemes) {
    const held = (scheme) => this.figure(scheme, "queue_max_bytes"),
      wait = (scheme) => this.figure(scheme, "queue_delay_p99_s");
    const found = schemes.filter(held);
    if (found.length < 2 || schemes.filter(wait).length < found.length) return "";
    const order = found.toSorted((a, b) => held(a).mean - held(b).mean);
    const of = (scheme) =>
      `${quantity("bytes", held(scheme).mean)} with ${name(scheme)} (${quantity("seconds", wait(scheme).mean)})`;
    return `The fullest port held ${of(order[0])} to ${of(order.at(-1))}; in brackets the 99th percentile of a packet's wait.`;
  }

  #routers(schemes) {
    const isPlain = (scheme) =>
      (this.results.get(scheme)[0].run.deployment ?? []).every((one) => one.scheme === "none");
    const plain = schemes.filter(isPlain).map(name),
      others = schemes.filter((scheme) => !isPlain(scheme)).map(name);
    if (!others.length) return "";
    const run = others.length === 1 ? "runs" : "run";
    if (!plain.length) return `${listed(others)} ${run} in the routers, too.`;
    return `Routers stay as they are for ${listed(plain)}; ${listed(others)} ${run} in them, too.`;
  }
}
