// The tables of a comparison, as midpath/report/tables.py has them.
import { numbers } from "./simulator.js";
import { average, metrics, name, quantity } from "./stats.js";
import { escape } from "./tracks.js";

const TO_IDEAL = new Set(["afct_s", "fct_p50_s", "fct_p99_s", "slowdown_mean", "goodput_total_bps"]);
const BOTTLENECKS = 10;
const CLIENTS = ["Client", "Scheme", "Requests ended", "Per second", "Mean", "p50", "p99", "p99.9", "Deadline missed"];
const PAGES = ["Pages", "Scheme", "Loads ended", "TTFB", "Page load time", "p50", "p99", "Maximum", "Deadline missed"];
const VIDEOS = ["Videos", "Scheme", "Views ended", "Startup", "Stalls", "Stalled", "Switches", "Bitrate"];
const JOBS = ["Job", "Scheme", "Iterations ended", "Mean", "p99", "Maximum", "Bus bandwidth", "Straggler's link"];
const GROUPS = ["Group", "Scheme", "Flows ended", "AFCT", "FCT p99", "Goodput"];
const DATAGRAMS = ["Datagrams", "Scheme", "Received", "Lost", "Late", "Delay p50", "p95", "p99", "p99.9", "Jitter"];
export const EQUIPMENT = ["Scheme", "Queue per port", "Scheme's store", "AQM", "ECN", "Hosts run", "Routers run"];
const SCHEDULERS = { drr: ", fair queueing", fq: ", flow queueing", dual: ", two queues" };

export const chip = (scheme) =>
  `<span class="chip" data-scheme="${escape(scheme)}"><i></i>${escape(name(scheme))}</span>`;
export const whole = (text) => text.replace(/([±×]) /g, "$1\u00a0");
const grouped = (count) => count.toLocaleString("en");
const ofAll = (done, all) => `${grouped(done)} of ${grouped(all)}`;

function tableOf(id, heads, rows) {
  const head = heads.map((text) => `<th>${escape(text)}</th>`).join("");
  const body = rows.map(
    ([first, ...cells]) => `<tr><th>${first}</th>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`,
  );
  return `<div class="scroll"><table id="${id}"><thead><tr>${head}</tr></thead><tbody>${body.join("")}</tbody></table></div>`;
}

export const titled = (title, id, heads, rows) => (rows.length ? `<h3>${title}</h3>${tableOf(id, heads, rows)}` : "");

/** All of them. */
export function tables(comparison) {
  const ci = (found) => (comparison.isRandom ? found.ci95 : null);
  const shown = (kind, found) => (found ? quantity(kind, found.mean, ci(found)) : "–");
  const groups = comparison
    .groups()
    .map(({ group, scheme, completed, flows, afct_s, fct_p99_s, goodput_bps }) => [
      escape(group),
      chip(scheme),
      ofAll(completed, flows),
      shown("seconds", afct_s),
      shown("seconds", fct_p99_s),
      shown("bps", goodput_bps),
    ]);
  const datagrams = comparison
    .datagrams()
    .map(({ group, scheme, counts, delays }) => [
      escape(group),
      chip(scheme),
      ...counts.map(grouped),
      ...delays.map((found) => shown("seconds", found)),
    ]);
  const equipment = equipmentOf(comparison).map(({ scheme, cells }) => [chip(scheme), ...cells.map(escape)]);
  return [
    summary(comparison),
    titled("Groups of flows", "groups", GROUPS, groups),
    titled("Clients", "clients", CLIENTS, applications(comparison, "clients", client)),
    titled("Pages", "pages", PAGES, applications(comparison, "pages", page)),
    titled("Videos", "videos", VIDEOS, applications(comparison, "videos", video)),
    titled("Jobs", "jobs", JOBS, applications(comparison, "jobs", job)),
    titled("Datagrams", "datagrams", DATAGRAMS, datagrams),
    titled("Equipment", "equipment", EQUIPMENT, equipment),
  ].join("");
}

// --- The summary ----------------------------------------------------------------------------------

function cell(comparison, scheme, metric, best, longer) {
  const value = comparison.figure(scheme, metric.key);
  if (!value) return "<td>–</td>";
  const ci = (found) => (comparison.isRandom ? found.ci95 : null);
  const error = quantity(metric.kind, value.mean, ci(value)).split(" ± ")[1];
  const ratio = scheme !== "ideal" && TO_IDEAL.has(metric.key) ? comparison.toIdeal(scheme, metric.key) : null;
  const below = ratio
    ? `<small>${whole(`${quantity("times", ratio.mean, ci(ratio)).replace(/×$/, "")} × ideal`)}</small>`
    : "";
  const mark = best === scheme ? ' class="best"' : "";
  return `<td${mark}><span>${quantity(metric.kind, value.mean)}</span>${error ? `<small>± ${error}</small>` : ""}${below}${longer}</td>`;
}

/** Of each scheme but the fastest, how much longer its flows take, where seeds tell that. */
function longerThan(comparison) {
  const timed = comparison.schemes.filter((scheme) => scheme !== "ideal" && comparison.figure(scheme, "afct_s"));
  if (timed.length < 2 || (comparison.isRandom && comparison.seeds.length === 1)) return {};
  const mean = (scheme) => comparison.figure(scheme, "afct_s").mean;
  const best = timed.reduce((one, other) => (mean(other) < mean(one) ? other : one));
  const told = timed.filter((scheme) => scheme !== best && comparison.differs(scheme, best, "afct_s"));
  return Object.fromEntries(
    told.map((scheme) => {
      const more = comparison.excess(scheme, best, "afct_s");
      return [
        scheme,
        more ? `<small>+${whole(quantity("ratio", more.mean, comparison.isRandom ? more.ci95 : null))}</small>` : "",
      ];
    }),
  );
}

function footnote(comparison) {
  const parts = [];
  if (!comparison.isRandom) parts.push("Nothing in this scenario is random, so there are no intervals. Shaded: best.");
  else if (comparison.seeds.length > 1) {
    parts.push(`Means over ${comparison.seeds.length} seeds, ± 95 % confidence (Student's t).`);
    parts.push("Shaded: best, if significantly better than every other scheme. +: longer than the fastest.");
  } else parts.push("One seed: differences may be chance, so there are no intervals, and nothing is shaded as best.");
  if (comparison.schemes.includes("ideal"))
    parts.push("Ideal: fluid processor sharing on the same paths and flows; ratios are per seed, then averaged.");
  if (comparison.matching) parts.push(`${comparison.matching}; loss, memory and queueing delay cover all flows.`);
  return `<p class="note">${parts.join(" ")}</p>`;
}

/** With one more cell in the second place: where a screen is narrow, the time is seen first. */
export const afterFirst = (cells, more) => [...cells.slice(0, 1), more, ...cells.slice(1)].join("");

export const headOf = ({ about, label }) => `<th title="${escape(about)}">${escape(label)}</th>`;

/** How many flows of all seeds ended. */
export function ended(comparison, scheme) {
  const [done, flows] = ["completed", "flows"].map((key) => comparison.total(scheme, key));
  return done === flows ? grouped(done) : ofAll(done, flows);
}

function summary(comparison) {
  const schemes = [
    ...comparison.schemes.filter((s) => s !== "ideal"),
    ...comparison.schemes.filter((s) => s === "ideal"),
  ];
  const shown = metrics().filter(
    (metric) => metric.headline && schemes.some((scheme) => comparison.figure(scheme, metric.key)),
  );
  const longer = longerThan(comparison);
  const best = Object.fromEntries(shown.map((metric) => [metric.key, comparison.best(metric)]));
  const rows = schemes.map((scheme) => {
    const cells = shown.map((metric) =>
      cell(comparison, scheme, metric, best[metric.key], metric.key === "afct_s" ? (longer[scheme] ?? "") : ""),
    );
    return `<tr${scheme === "ideal" ? ' class="bound"' : ""}><th>${chip(scheme)}</th>${afterFirst(cells, `<td>${ended(comparison, scheme)}</td>`)}</tr>`;
  });
  return (
    `<div class="scroll"><table id="summary"><thead><tr><th>Scheme</th>${afterFirst(shown.map(headOf), "<th>Flows ended</th>")}</tr></thead>` +
    `<tbody>${rows.join("")}</tbody></table></div>${footnote(comparison)}`
  );
}

// --- Applications ---------------------------------------------------------------------------------

/** A row for each client or job and scheme: of several seeds, means (midpath/applications.py). */
function applications(comparison, key, row) {
  const count = Math.max(
    0,
    ...comparison.schemes.map((scheme) => comparison.results.get(scheme)[0].run[key]?.length ?? 0),
  );
  return Array.from({ length: count }, (_, i) => i).flatMap((i) =>
    comparison.schemes.flatMap((scheme) => {
      const entries = comparison.results.get(scheme).map(({ run }) => run[key]?.[i]);
      return entries.every(Boolean) ? [[entries[0].group, name(scheme), ...row(entries)].map(escape)] : [];
    }),
  );
}

const known = (entries, key) => entries.map((entry) => entry[key]).filter((value) => value !== null);
const sum = (entries, key) => known(entries, key).reduce((all, value) => all + value, 0);

function meanOf(kind, entries, key) {
  const found = known(entries, key);
  return found.length ? quantity(kind, average(found)) : "–";
}

const missed = (entries) => (known(entries, "missed").length ? grouped(sum(entries, "missed")) : "–");

function client(entries) {
  const rates = known(entries, "per_s");
  const rate = rates.length
    ? average(rates).toLocaleString("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 })
    : "–";
  return [
    ofAll(sum(entries, "completed"), sum(entries, "requests")),
    rate,
    ...["mean_s", "p50_s", "p99_s", "p999_s"].map((key) => meanOf("seconds", entries, key)),
    missed(entries),
  ];
}

function page(entries) {
  return [
    ofAll(sum(entries, "completed"), sum(entries, "loads")),
    ...["ttfb_mean_s", "mean_s", "p50_s", "p99_s", "max_s"].map((key) => meanOf("seconds", entries, key)),
    missed(entries),
  ];
}

function video(entries) {
  return [
    ofAll(sum(entries, "completed"), sum(entries, "views")),
    meanOf("seconds", entries, "startup_mean_s"),
    grouped(sum(entries, "stalls")),
    quantity("seconds", sum(entries, "stalled_s")),
    grouped(sum(entries, "switches")),
    meanOf("bps", entries, "bitrate_mean_bps"),
  ];
}

function job(entries) {
  const slow = entries.filter(({ slowest }) => slowest);
  const slowest = slow.length ? slow.reduce((one, other) => (other.max_s > one.max_s ? other : one)).slowest : null;
  return [
    ofAll(sum(entries, "completed"), sum(entries, "iterations")),
    ...["mean_s", "p99_s", "max_s"].map((key) => meanOf("seconds", entries, key)),
    meanOf("bps", entries, "bus_bandwidth_bps"),
    slowest?.link || "–",
  ];
}

// --- Equipment ------------------------------------------------------------------------------------

const distinct = (texts) => [...new Set(texts)].join(", ");

function span(ranges) {
  return [Math.min(...ranges.map(([low]) => low)), Math.max(...ranges.map(([, high]) => high))];
}

function range(ends) {
  const [low, high] = ends.map((end) => quantity("bytes", end));
  return low === high ? low : `${low} to ${high}`;
}

/** What queues do to packets that the AQM chooses. Flows without ECN lose them, whatever queues would do. */
function marks({ signal, aqm }, { run, tables }) {
  if (signal !== "CE") return "no";
  if (aqm === "drop-tail" || run.summary.marks) return "CE";
  return numbers(tables.ports.columns.drops_aqm).some(Boolean) ? "CE, but flows use none" : "CE";
}

/** What the ports of each scheme had, as midpath/equipment.py says it; none of the ideal. */
export function equipmentOf(comparison) {
  return comparison.schemes.flatMap((scheme) => {
    const result = comparison.results.get(scheme)[0],
      { run } = result;
    const all = run.equipment ?? [],
      routers = all.filter(({ at }) => at === "routers"),
      rows = routers.length ? routers : all;
    if (!rows.length) return [];
    const about = (part) => run.schemes?.[part] ?? {};
    const transport = scheme.split("@")[0].split("+")[0];
    const stores = rows.map((row) => row.store_bytes).filter(Boolean);
    const [queue, store] = [span(rows.map((row) => row.queue_bytes)), stores.length ? span(stores) : null];
    const networks = [...new Set(rows.map((row) => row.scheme))];
    const cells = [
      range(queue),
      store ? range(store) : "–",
      distinct(rows.map((row) => row.aqm + (SCHEDULERS[row.scheduler] ?? ""))),
      distinct(rows.map((row) => about(row.scheme).ecn || marks(row, result))),
      about(transport).hosts || name(transport),
      networks
        .map((one) => (one === "none" ? "plain queues" : about(one).routers || about(one).title || one))
        .join(", "),
    ];
    return [{ scheme, queue, store, memory: queue[1] + (store?.[1] ?? 0), cells }];
  });
}

// --- Ports ----------------------------------------------------------------------------------------

/** The most used ports, a table per scheme; the page shows the one chosen for the drawing. */
export function bottlenecks(comparison) {
  const heads = ["Port", "Rate", "Utilisation", "Mean queue", "Delay p99", "Drops", "Marks"].map(
    (text) => `<th>${text}</th>`,
  );
  return comparison.schemes
    .map((scheme) => {
      const used = ({ utilisation }) => (Number.isFinite(utilisation) ? utilisation : -Infinity);
      const top = comparison
        .ports(scheme)
        .toSorted((a, b) => used(b) - used(a) || 0)
        .slice(0, BOTTLENECKS);
      return (
        `<div class="scroll" data-variant="network" data-choice="${escape(scheme)}"><table class="ports">` +
        `<thead><tr>${heads.join("")}</tr></thead><tbody>${top.map(port).join("")}</tbody></table></div>`
      );
    })
    .join("");
}

function port({
  label,
  rate_bps,
  utilisation,
  queue_mean_bytes,
  delay_p99_s,
  drops_queue,
  drops_aqm,
  drops_fault,
  marks,
}) {
  const used = Math.min(1, Math.max(0, utilisation || 0));
  const cells = [
    quantity("bps", rate_bps),
    `<span class="bar" style="--share:${used.toFixed(4)}">${quantity("ratio", utilisation)}</span>`,
    escape(quantity("bytes", queue_mean_bytes)),
    quantity("seconds", delay_p99_s),
    quantity("count", drops_queue + drops_aqm + drops_fault),
    quantity("count", marks),
  ];
  return `<tr><th>${escape(label)}</th>${cells.map((text) => `<td>${text}</td>`).join("")}</tr>`;
}
