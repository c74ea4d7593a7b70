// The report and the replay as pages of their own: the templates, styles and scripts of midpath/report and midpath/trace,
// filled as their Python fills them. They run in frames without any right, so a name in a scenario can do nothing.
import { figures } from "./figures.js";
import { isMap, places } from "./network.js";
import { numbers, texts } from "./simulator.js";
import { listed, metrics, name, noIdeal, quantity } from "./stats.js";
import { bottlenecks, chip, equipmentOf, tables } from "./tables.js";
import { escape } from "./tracks.js";

const REPLAY_EVENTS = 300_000;
// Figures as wide as the page, below the others.
const WIDE = new Set(["path", "network", "gauges"]);
// Memories that differ by less than this are the same.
const SAME = 0.01;

// A template's names, all at once: what is put in is not looked at again.
const filled = (template, parts) => template.replace(/\$(\w+)/g, (_, key) => parts[key] ?? "");
// "</script>" in a text would end the element.
const embedded = (data) =>
  `<script type="application/json" id="report-data">${JSON.stringify(data).replaceAll("<", "\\u003c")}</script>`;
const RAMP = '<p class="ramp"><span>0</span><i></i><span>100 %</span></p>';

/** The choices of a figure, under their heads if they have any. */
function choices({ variants, options = {}, groups = {} }) {
  let head = "",
    text = "";
  for (const key of Object.keys(variants)) {
    const under = groups[key] ?? "";
    if (under !== head)
      text += (head && "</optgroup>") + (under && `<optgroup label="${escape(under)}">`);
    head = under;
    text += `<option value="${escape(key)}">${escape(options[key] ?? key)}</option>`;
  }
  return text + (head && "</optgroup>");
}

export function card(figure, below = "") {
  const { id, title, note, variants, choose = "", keys = [], notes = {}, height = 360 } = figure;
  const choice =
    Object.keys(variants).length > 1
      ? `<label>${escape(choose)} <select data-figure="${id}">${choices(figure)}</select></label>`
      : "";
  const chips = keys.map(
    ([tint, text]) => `<span class="chip" data-tint="${escape(tint)}"><i></i>${escape(text)}</span>`,
  );
  const said = Object.entries(notes)
    .filter(([, text]) => text)
    .map(([key, text]) => `<p class="note" data-variant="${id}" data-choice="${escape(key)}">${escape(text)}</p>`);
  return (
    `<section class="card ${id}"><header><h2>${escape(title)}</h2>${choice}</header><p class="note">${escape(note)}</p>` +
    `${id === "network" ? RAMP : ""}${keys.length ? `<p class="keys">${chips.join("")}</p>` : ""}` +
    `<div class="plot" id="plot-${id}" style="--height:${height}px"></div>${said.join("")}${below}</section>`
  );
}

/** A warning of a run, with the scheme and ports that it is about. */
function sentence({ scheme, ports, count, message }) {
  const more = count > ports.length ? ` and ${(count - ports.length).toLocaleString("en")} more` : "";
  const place = [scheme, `${ports.join(", ")}${more}`].filter(Boolean).join(" at ");
  return place ? `${place}: ${message}` : message;
}

/** What is to be known beside the figures, as midpath/compare/comparison.py collects it. */
export function warned(comparison) {
  const { schemes, results, scenario } = comparison;
  const of = (scheme) => [...new Set(results.get(scheme).flatMap(({ run }) => (run.warnings ?? []).map(sentence)))];
  const found = new Map(schemes.map((scheme) => [scheme, of(scheme)]));
  // The ideal has no packets, so that much cannot be said of it.
  const having = schemes.filter((scheme) => scheme !== "ideal");
  const packets = (having.length ? having : schemes).map((scheme) => found.get(scheme));
  const isShared = (text) => packets.every((texts) => texts.includes(text));
  const alike = new Map();
  for (const [scheme, texts] of found)
    for (const text of texts.filter((one) => !isShared(one))) {
      const key = text.replace(/\d[\d.,]*/g, "0");
      alike.set(key, [...(alike.get(key) ?? []), [scheme, text]]);
    }
  const own = [...alike.values()].map(([[first, text], ...others]) => {
    const head = text.startsWith(first) ? text : `${name(first)}: ${text}`;
    const rest = [...new Set(others.filter(([scheme]) => scheme !== first).map(([scheme]) => name(scheme)))];
    return rest.length ? `${head} (likewise, with other numbers: ${listed(rest)})` : head;
  });
  return [noIdeal(scenario), unequal(comparison), ...same(comparison), ...packets[0].filter(isShared), ...own].filter(
    Boolean,
  );
}

export const warningsOf = (texts) =>
  texts.map((text) => `<p class="warning">Warning: ${escape(text)}</p>`).join("");

/** A warning, if ports of these schemes do not have the same memory. */
function unequal(comparison) {
  const found = equipmentOf(comparison).sort((a, b) => a.memory - b.memory);
  if (!found.length || found.at(-1).memory <= found[0].memory * (1 + SAME)) return null;
  const having = new Map();
  for (const { memory, scheme } of found) {
    const amount = quantity("bytes", memory);
    having.set(amount, [...(having.get(amount) ?? []), name(scheme)]);
  }
  const has = [...having].map(([amount, schemes]) => `${amount} with ${schemes.join(", ")}`).join("; ");
  return `schemes have different memory. Queue and store of the largest port: ${has}`;
}

/** Names whose runs are the same, flow by flow and figure by figure; those alone in this left out. */
export function identical(runs) {
  const figures = ({ run, tables }) => [
    metrics().map(({ key }) => run.summary[key] ?? null),
    Array.from(numbers(tables.flows.columns.fct_s)),
  ];
  const groups = new Map();
  for (const [one, own] of runs) {
    const key = JSON.stringify(own.map(figures));
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()].filter((group) => group.length > 1);
}

/** Schemes that made no difference to each other. */
function same({ schemes, results }) {
  const runs = schemes.filter((one) => one !== "ideal").map((scheme) => [scheme, results.get(scheme)]);
  return identical(new Map(runs)).map(
    (group) =>
      `${listed(group.map(name))} are identical flow by flow: the option that distinguishes them had no effect`,
  );
}

// As a shell reads it, in Python's way of quoting.
export const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

/** What repeats a comparison at home, with the scenario in a file (midpath/report/repeat.py). */
export function commandOf(schemes, seeds, { variants } = {}, named = []) {
  const ran = schemes.filter((scheme) => scheme !== "ideal"),
    ideal = schemes.includes("ideal");
  // `midpath compare` would compare the variants.
  if (variants && !named.length) {
    const names = `[${ran.map((scheme) => `'${scheme}'`).join(", ")}]`;
    const asked = `'scenario.toml', ${names}, seeds=[${seeds.join(", ")}], ideal=${ideal ? "True" : "False"}, out='out'`;
    return `python -c ${quoted(`import midpath; midpath.compare(${asked})`)}`;
  }
  const words = [
    ...(named.length ? ["--variants", quoted(named.join(","))] : []),
    "--schemes",
    ran.join(","),
    "--seed",
    seeds[0],
    "--seeds",
    seeds.length,
    ...(ideal ? [] : ["--no-ideal"]),
  ];
  return `midpath compare scenario.toml ${words.join(" ")}`;
}

/** The button of a scheme in the legend. */
export const toggle = (scheme) =>
  `<button type="button" aria-pressed="true" data-toggle="${escape(scheme)}">${chip(scheme)}</button>`;

/** What report.js reads. */
export const embeddable = (drawn, looks, tints) => ({
  figures: Object.fromEntries(drawn.map(({ id, variants }) => [id, { variants }])),
  looks,
  tints,
});

/** The parts of a comparison's report, as midpath/report/page.py makes them. */
export function parts(comparison, looks, tints, scenario) {
  const { first, schemes, seeds, results } = comparison,
    { run } = first,
    drawn = figures(comparison);
  const runs = schemes.flatMap((scheme) => results.get(scheme).map((one) => one.run));
  const hops = runs.reduce((sum, one) => sum + (one.packet_hops || 0), 0),
    flows = runs.reduce((sum, one) => sum + one.summary.flows, 0) / runs.length;
  const facts = [
    ["Topology", `${run.topology.nodes.length} nodes, ${run.topology.links.length} links`],
    ["Flows", `${quantity("count", flows)} per run`],
    ["Simulated", quantity("seconds", run.simulated_s)],
    ["Packet-hops", hops.toLocaleString("en")],
    [seeds.length > 1 ? "Seeds" : "Seed", seeds.length > 1 ? `${seeds[0]} – ${seeds.at(-1)}` : String(seeds[0])],
    ["Midpath", run.midpath],
  ];
  const wide = drawn.filter(({ id }) => WIDE.has(id));
  return {
    title: escape(run.title || "Untitled scenario"),
    kind: "Comparison",
    verdict: escape(comparison.sentences().join(" ")),
    warnings: warningsOf(warned(comparison)),
    facts: facts.map(([label, value]) => `<div><dt>${label}</dt><dd>${escape(value)}</dd></div>`).join(""),
    legend: schemes.length > 1 ? schemes.map(toggle).join("") : "",
    replays: "",
    summary: tables(comparison),
    figures: drawn
      .filter(({ id }) => !WIDE.has(id))
      .map((figure) => card(figure))
      .join(""),
    wide: wide.map((figure) => card(figure, figure.id === "network" ? bottlenecks(comparison) : "")).join(""),
    command: escape(commandOf(schemes, seeds, comparison.scenario)),
    file: "scenario.toml",
    scenario: escape(scenario.trim()),
    data: embeddable(drawn, looks, tints),
  };
}

/** The report as one page. `assets` are the files that it is made of. */
export function report(made, assets) {
  const files = { style: assets["report.css"], script: assets["report.js"], plotly: assets.plotly };
  return filled(assets["page.html"], { ...made, ...files, data: embedded(made.data) });
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
  const at = places(run.topology);
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
    map: isMap(run.topology),
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
