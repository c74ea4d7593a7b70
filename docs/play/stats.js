// Quantities, means with intervals and sentences of a comparison, as midpath/{units,stats,matched,compare}.py have them:
// tests/python/test_play.py compares the two, figure by figure. What is a table there comes with play.json.
import { numbers } from "./simulator.js";

const NO_BREAK = "\u00a0",
  TIE = "5".padEnd(30, "0");
let facts;

/** Takes play.json: metrics, units, schemes, Student's t. */
export function use(found) {
  facts = found;
}

export const metrics = () => facts.metrics;

export function name(scheme) {
  return facts.schemes.find(({ id }) => id === scheme)?.name ?? scheme;
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

// As Python rounds: to even where a binary number is exactly between two decimals. JavaScript takes the larger.
function fixed(value, places) {
  const text = value.toFixed(places);
  const isBetween = value.toFixed(places + TIE.length).endsWith(TIE);
  if (!isBetween || "02468".includes(text.at(-1))) return text;
  const step = 10 ** -places;
  return (value - (Math.sign(value) * step) / 2).toFixed(places);
}

function grouped(text) {
  const [whole, rest] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (rest === undefined ? "" : "." + rest);
}

/** Three significant digits. */
export function digits(value) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  if (Math.abs(value) < 1000) value = Number(value.toPrecision(3));
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

/** Mean and half of its 95 % interval; null without values. */
export function estimate(values) {
  const known = values.filter((value) => value !== null && Number.isFinite(value));
  if (!known.length) return null;
  const mean = known.reduce((sum, value) => sum + value, 0) / known.length;
  if (known.length === 1) return { mean, ci95: null, n: 1, of: values.length };
  const spread = Math.sqrt(known.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (known.length - 1));
  return {
    mean,
    ci95: (facts.student_t[known.length - 1] / Math.sqrt(known.length)) * spread,
    n: known.length,
    of: values.length,
  };
}

const pairs = (values, others) =>
  values.map((value, i) => [value, others[i]]).filter(([a, b]) => a !== null && b !== null);

function differs(values, others) {
  const found = estimate(values.map((value, i) => (value !== null && others[i] !== null ? value - others[i] : null)));
  if (!found || (found.ci95 === null && found.n < found.of)) return false;
  return Math.abs(found.mean) > (found.ci95 ?? 0);
}

function excess(values, others) {
  const both = pairs(values, others);
  const found = estimate(both.map(([a, b]) => a - b));
  const base = both.reduce((sum, [, b]) => sum + b, 0) / both.length;
  if (!found || !(base > 0)) return null;
  return { mean: found.mean / base, ci95: found.ci95 === null ? null : found.ci95 / base };
}

function ratio(values, references) {
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

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const MATCHED = {
  afct_s: ["fct_s", average],
  fct_p50_s: ["fct_s", (v) => quantile(v.sort(), 0.5)],
  fct_p99_s: ["fct_s", (v) => quantile(v.sort(), 0.99)],
  slowdown_mean: ["slowdown", average],
  slowdown_p99: ["slowdown", (v) => quantile(v.sort(), 0.99)],
};

/** Several schemes over the same seeds: `results.get(scheme)` is a list of opened answers, by seed. */
export class Comparison {
  constructor(schemes, seeds, results) {
    Object.assign(this, { schemes, seeds, results });
    this.common = seeds.map((_, i) => this.#endedInAll(i));
    const summary = ({ run }) => JSON.stringify(metrics().map(({ key }) => run.summary[key]));
    // Of one seed nothing is known: then the caller says whether the scenario draws.
    this.isRandom =
      seeds.length === 1
        ? undefined
        : schemes.some((scheme) => new Set(results.get(scheme).map(summary)).size > 1);
  }

  #endedInAll(seed) {
    const runs = this.schemes.map((scheme) => this.results.get(scheme)[seed]);
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
    return `Times cover the ${count((mask) => mask.filter(Boolean).length)} of ${count((mask) => mask.length)} flows that ended under all schemes`;
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
    const [best, ...others] = timed.toSorted((a, b) => time(a).mean - time(b).mean);
    let said = `${name(best)} has the lowest AFCT: ${quantity("seconds", time(best).mean, this.#ci(time(best)))}`;
    const ideal = this.toIdeal(best, "afct_s");
    if (ideal) said += `, ${quantity("times", ideal.mean, this.#ci(ideal)).replace(/×$/, "")} times the ideal`;
    said += others.length
      ? `. ${others.map((other) => `${name(other)} ${this.#longer(other, best)}`).join("; ")}.`
      : ".";
    const missing = timed.filter((scheme) => time(scheme).n < time(scheme).of);
    if (missing.length)
      said += ` Some seeds gave no time: ${missing.map((s) => `${name(s)}'s is from ${time(s).n} of ${time(s).of} seeds`).join("; ")}.`;
    if (this.isRandom && this.seeds.length === 1)
      said += " One seed only: small differences may be chance; repeat with several.";
    if (this.isRandom && this.seeds.length === 2) said += " Two seeds only: intervals are wide.";
    return this.matching ? `${this.#byCompletion(schemes)} ${this.matching}: of these ${said}` : said;
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
