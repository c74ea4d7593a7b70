// The report and the replay as pages of their own: the templates, styles and scripts of midpath/report and midpath/trace,
// filled as their Python fills them. They run in frames without any right, so a name in a scenario can do nothing.
import { escape, figures } from "./figures.js";
import { network, places } from "./network.js";
import { numbers, texts } from "./simulator.js";
import { metrics, name, quantity } from "./stats.js";

const REPLAY_EVENTS = 300_000;
const TO_IDEAL = new Set(["afct_s", "fct_p50_s", "fct_p99_s", "slowdown_mean", "goodput_total_bps"]);

// A template's names, all at once: what is put in is not looked at again.
const filled = (template, parts) => template.replace(/\$(\w+)/g, (_, key) => parts[key] ?? "");
// "</script>" in a text would end the element.
const embedded = (data) =>
  `<script type="application/json" id="report-data">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>`;
const chip = (scheme) => `<span class="chip" data-scheme="${escape(scheme)}"><i></i>${escape(name(scheme))}</span>`;
const whole = (text) => text.replace(/([±×]) /g, "$1\u00a0");

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

/** The table of a comparison, as the report has it. */
export function table(comparison) {
  const schemes = [
    ...comparison.schemes.filter((s) => s !== "ideal"),
    ...comparison.schemes.filter((s) => s === "ideal"),
  ];
  const shown = metrics().filter(
    (metric) => metric.headline && schemes.some((scheme) => comparison.figure(scheme, metric.key)),
  );
  const afterFirst = (cells, more) => [...cells.slice(0, 1), more, ...cells.slice(1)].join("");
  const heads = shown.map(({ about, label }) => `<th title="${escape(about)}">${escape(label)}</th>`);
  const longer = longerThan(comparison);
  const best = Object.fromEntries(shown.map((metric) => [metric.key, comparison.best(metric)]));
  const rows = schemes.map((scheme) => {
    const cells = shown.map((metric) =>
      cell(comparison, scheme, metric, best[metric.key], metric.key === "afct_s" ? (longer[scheme] ?? "") : ""),
    );
    const [done, flows] = ["completed", "flows"].map((key) => comparison.total(scheme, key));
    const ended =
      done === flows ? done.toLocaleString("en") : `${done.toLocaleString("en")} of ${flows.toLocaleString("en")}`;
    return `<tr${scheme === "ideal" ? ' class="bound"' : ""}><th>${chip(scheme)}</th>${afterFirst(cells, `<td>${ended}</td>`)}</tr>`;
  });
  return (
    `<div class="scroll"><table id="summary"><thead><tr><th>Scheme</th>${afterFirst(heads, "<th>Flows ended</th>")}</tr></thead>` +
    `<tbody>${rows.join("")}</tbody></table></div>${footnote(comparison)}`
  );
}

const RAMP = '<p class="ramp"><span>0</span><i></i><span>100 %</span></p>';

function card({ id, title, note, variants, choose, options = {}, height = 360 }) {
  const keys = Object.keys(variants);
  const choices = keys.map((key) => `<option value="${escape(key)}">${escape(options[key] ?? key)}</option>`).join("");
  const choice =
    keys.length > 1 ? `<label>${escape(choose)} <select data-figure="${id}">${choices}</select></label>` : "";
  return (
    `<section class="card ${id}"><header><h2>${escape(title)}</h2>${choice}</header><p class="note">${escape(note)}</p>${id === "network" ? RAMP : ""}` +
    `<div class="plot" id="plot-${id}" style="--height:${height}px"></div></section>`
  );
}

function warnings(comparison) {
  const found = new Map();
  for (const scheme of comparison.schemes)
    for (const { run } of comparison.results.get(scheme))
      for (const warning of run.warnings ?? []) {
        const text =
          typeof warning === "string" ? warning : (warning.message ?? warning.text ?? JSON.stringify(warning));
        found.set(text, [...(found.get(text) ?? []), name(scheme)]);
      }
  return [...found]
    .map(
      ([text, schemes]) =>
        `<p class="warning">Warning: ${escape([...new Set(schemes)].join(", "))}: ${escape(text)}</p>`,
    )
    .join("");
}

/** The report of a comparison as one page. `assets` are the files that the report is made of, `looks` those of schemes. */
export function report(comparison, { assets, looks, tints, scenario, command }) {
  const { run } = comparison.first,
    drawn = figures(comparison),
    map = network(comparison),
    all = map ? [...drawn, map] : drawn;
  const hops = comparison.schemes.reduce(
    (sum, scheme) => sum + comparison.results.get(scheme).reduce((all, one) => all + (one.run.packet_hops || 0), 0),
    0,
  );
  const { seeds } = comparison,
    ends = [seeds[0], seeds.at(-1)];
  const facts = [
    ["Topology", `${run.topology.nodes.length} nodes, ${run.topology.links.length} links`],
    ["Simulated", quantity("seconds", run.simulated_s)],
    ["Packet-hops", hops.toLocaleString("en")],
    [seeds.length > 1 ? "Seeds" : "Seed", seeds.length > 1 ? ends.join(" – ") : String(ends[0])],
    ["Midpath", `${run.midpath}, in this browser`],
  ];
  const toggles = comparison.schemes.map(
    (scheme) => `<button type="button" aria-pressed="true" data-toggle="${escape(scheme)}">${chip(scheme)}</button>`,
  );
  return filled(assets["page.html"], {
    title: escape(run.title || "Scenario"),
    kind: "Comparison",
    verdict: escape(comparison.sentences().join(" ")),
    warnings: warnings(comparison),
    facts: facts.map(([label, value]) => `<div><dt>${label}</dt><dd>${escape(value)}</dd></div>`).join(""),
    legend: toggles.length > 1 ? toggles.join("") : "",
    replays: "",
    summary: table(comparison),
    figures: drawn.map(card).join(""),
    wide: map ? card(map) : "",
    command: escape(command),
    file: "scenario.toml",
    scenario: escape(scenario.trim()),
    data: embedded({ figures: Object.fromEntries(all.map(({ id, variants }) => [id, { variants }])), looks, tints }),
    style: assets["report.css"],
    script: assets["report.js"],
    plotly: assets.plotly,
  });
}

/** What replay.js draws, as midpath/trace/replay.py has it; null without a trace. */
export function replayData({ run, tables: { trace, flows } }) {
  if (!trace?.rows) return null;
  const shown = Math.min(trace.rows, REPLAY_EVENTS),
    { nodes, links } = run.topology;
  const number = new Map(nodes.map((node, i) => [node.name, i]));
  const column = (key) => Array.from(numbers(trace.columns[key]).subarray(0, shown));
  const whole = (key) => column(key).map((value) => (Number.isNaN(value) ? -1 : value));
  const named = (key) => column(key).map((i) => number.get(trace.columns[key].dictionary[i]) ?? -1);
  const worded = (key) => ({ names: trace.columns[key].dictionary, of: column(key) });
  const { at, isMap } = places(run.topology);
  const ps = column("time_ps");
  const keys = { flow: "flow", packet: "packet", cause: "cause", size: "size_bytes", number: "number" };
  const there = new Set(whole("flow"));
  const [ids, from, to] = [numbers(flows.columns.flow), texts(flows.columns.src), texts(flows.columns.dst)];
  return {
    nodes: nodes.map(({ name, kind }, i) => ({ name, host: kind === "host", x: at[i][0], y: at[i][1] })),
    links: links.map(({ a, b, rate_bps, delay_s }) => ({
      a: number.get(a),
      b: number.get(b),
      rate: rate_bps,
      delay: delay_s,
    })),
    map: isMap,
    flows: Array.from(ids, (flow, i) => ({ flow, src: from[i], dst: to[i] })).filter(({ flow }) => there.has(flow)),
    events: {
      t: ps.map((time, i) => (i ? time - ps[i - 1] : 0)),
      node: named("node"),
      peer: named("peer"),
      ...Object.fromEntries(Object.entries(keys).map(([key, of]) => [key, whole(of)])),
      value: column("value").map((value) => (Number.isNaN(value) ? null : Number(value.toPrecision(9)))),
      ...Object.fromEntries(["event", "kind", "why"].map((key) => [key, worded(key)])),
    },
    first: shown ? ps[0] / 1e12 : 0,
  };
}

/** The replay of a run with a trace as one page; null without one. */
export function replay(result, assets) {
  const data = replayData(result);
  if (!data) return null;
  const { run, tables } = result,
    shown = data.events.t.length;
  const left =
    shown < tables.trace.rows
      ? ` The first ${shown.toLocaleString("en")} of ${tables.trace.rows.toLocaleString("en")} events.`
      : "";
  return filled(assets["replay.html"], {
    title: escape(run.title || "Scenario"),
    about: escape(`${run.scheme}, seed ${run.seed}: ${shown.toLocaleString("en")} events.${left}`),
    style: assets["replay.css"],
    script: assets["replay.js"],
    data: embedded(data),
  });
}
