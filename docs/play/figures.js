// Figures of a comparison as report.js draws them: those of midpath/report/{flows,time}.py, and gauges by port or
// flow. A trace names its scheme; colours, grid and fonts are report.js's.
import { numbers, texts } from "./simulator.js";
import { name, quantile, quantity, scale } from "./stats.js";

const POINTS = 240,
  TAIL_POINTS = 60,
  GOODPUT_POINTS = 120,
  TAIL = 0.9,
  CHOICES = 6,
  MOST_GAUGES = 24,
  MOST_BINS = 10,
  FLOWS_PER_BIN = 30;
const UNITS = [
  ["_bps", "bps"],
  ["_bytes", "bytes"],
  ["_s", "seconds"],
];

export const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
export const compact = (values) =>
  Array.from(values, (value) => (Number.isFinite(value) ? Number(value.toPrecision(5)) : null));

function line(scheme, x, y, text, more) {
  return {
    type: "scatter",
    mode: "lines",
    x: compact(x),
    y: compact(y),
    text,
    hoverinfo: "text",
    meta: { scheme },
    ...more,
  };
}

// Plotly reads hover texts as markup.
export function hover(head, ...pairs) {
  return [`<b>${escape(head)}</b>`, ...pairs.map(([label, kind, value]) => `${label} ${quantity(kind, value)}`)].join(
    "<br>",
  );
}

function plain(kind, value) {
  const [factor, suffix] = scale(kind, value);
  return `${Number((value / factor).toPrecision(6))}${suffix && suffix !== "×" ? " " + suffix : ""}`;
}

function logTicks(low, high) {
  if (high / low < 8) {
    let step = 10 ** Math.floor(Math.log10(high - low));
    step *= [0.2, 0.5, 1, 2].find((times) => (high - low) / (step * times) <= 5);
    const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
    return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  }
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const steps = high / low > 300 ? [1] : [1, 2, 5];
  return Array.from({ length: last - first + 1 }, (_, i) => steps.map((step) => step * 10 ** (first + i))).flat();
}

function logAxis(kind, low, high, title) {
  const ticks = logTicks(low, high);
  const pad = 0.03 * Math.max(Math.log10(high / low), 0.5);
  return {
    type: "log",
    title: { text: title },
    tickvals: ticks,
    ticktext: ticks.map((tick) => plain(kind, tick)),
    range: [Math.log10(low) - pad, Math.log10(high) + pad],
  };
}

function linearAxis(kind, high, title) {
  const [factor, suffix] = scale(kind, high);
  return [
    factor,
    { title: { text: suffix ? `${title} (${suffix})` : title }, range: [0, high > 0 ? (high / factor) * 1.06 : 1] },
  ];
}

export const largest = (values) => values.reduce((most, value) => (value > most ? value : most), 0);
const pooled = (comparison, scheme, key) =>
  comparison.results.get(scheme).flatMap(({ tables }) => Array.from(numbers(tables.flows.columns[key])));

function shares(low) {
  const ticks = [0, 1, 2, 3, 4].map((i) => low + ((1 - low) * i) / 4);
  return {
    range: [low, 1 + 0.02 * (1 - low)],
    tickvals: ticks,
    ticktext: ticks.map((tick) => `${Number((100 * tick).toFixed(1))}%`),
  };
}

function distribution(scheme, values, total, kind) {
  const sorted = Float64Array.from(values).sort(),
    count = sorted.length;
  const keep = new Set(
    Array.from({ length: Math.min(count, POINTS) }, (_, i, all = Math.min(count, POINTS)) =>
      Math.floor((i * (count - 1)) / Math.max(all - 1, 1)),
    ),
  );
  for (let i = Math.max(0, count - TAIL_POINTS); i < count; i++) keep.add(i);
  const rows = [...keep].sort((a, b) => a - b);
  const x = rows.map((i) => sorted[i]),
    y = rows.map((i) => (i + 1) / Math.max(total, 1));
  const text = x.map(
    (value, i) => `<b>${escape(name(scheme))}</b><br>${quantity("ratio", y[i])} within ${quantity(kind, value)}`,
  );
  // A curve begins on the axis, at the first flow.
  return line(scheme, [...x.slice(0, 1), ...x], [...(count ? [0] : []), ...y], [...text.slice(0, 1), ...text], {
    line: { shape: count < POINTS ? "hv" : "linear" },
  });
}

function completion(comparison) {
  const times = comparison.schemes.map((scheme) => [scheme, pooled(comparison, scheme, "fct_s")]);
  const known = (values) => values.filter((value) => value > 0 && Number.isFinite(value));
  const ended = times.some(([, values]) => known(values).length);
  const [key, kind, title] = ended
    ? ["fct_s", "seconds", "flow completion time"]
    : ["goodput_bps", "bps", "goodput of a flow"];
  const found = ended ? times : comparison.schemes.map((scheme) => [scheme, pooled(comparison, scheme, key)]);
  const all = found.flatMap(([, values]) => known(values));
  const low = all.length ? all.reduce((a, b) => Math.min(a, b)) : 1e-3,
    high = all.length ? Math.max(largest(all), low * 1.1) : 1;
  const data = found.map(([scheme, values]) =>
    distribution(scheme, known(values), ended ? values.length : known(values).length, kind),
  );
  const xaxis = logAxis(kind, low, high, title);
  const variants = { all: { data, layout: { xaxis, yaxis: shares(0) } } };
  if (ended) variants.tail = { data, layout: { xaxis, yaxis: shares(TAIL) } };
  return {
    id: "fct",
    title: ended ? "Flow completion time" : "Goodput per flow",
    variants,
    choose: "Show",
    options: { all: "all flows", tail: "slowest 10%" },
    note: ended
      ? "Share of all flows that had ended after this long. Further left is better."
      : "Share of flows that got at most this goodput. A steep curve is a fair one. No flow ended, so there is no FCT.",
  };
}

/** The lower ends of bins: every size where there are few, else equally many flows, as many as percentiles need. */
function edgesOf(sizes, fewest) {
  const distinct = [...new Set(sizes)].sort((a, b) => a - b);
  if (distinct.length <= MOST_BINS) return distinct;
  const count = Math.min(Math.max(Math.floor(fewest / FLOWS_PER_BIN), 1), MOST_BINS);
  const sorted = Float64Array.from(sizes).sort();
  return [...new Set(Array.from({ length: count }, (_, i) => quantile(sorted, i / count)))];
}

function binsOf(flows, edges) {
  const bins = edges.map(() => []);
  for (const flow of flows) bins[Math.max(0, edges.findLastIndex((edge) => edge <= flow.size))].push(flow);
  return bins
    .filter((bin) => bin.length)
    .map((bin) => {
      const slowdowns = Float64Array.from(bin, ({ slowdown }) => slowdown).sort(),
        sizes = bin.map(({ size }) => size);
      return {
        size: Math.exp(mean(sizes.map(Math.log))),
        low: sizes.reduce((a, b) => Math.min(a, b)),
        high: largest(sizes),
        p50: quantile(slowdowns, 0.5),
        p99: quantile(slowdowns, 0.99),
        count: bin.length,
      };
    });
}

/** Median and 99th percentile of the slowdown, for flows of like size. */
function bySize(comparison) {
  const sized = comparison.schemes.map((scheme) => {
    const [sizes, slowdowns] = ["size_bytes", "slowdown"].map((key) => pooled(comparison, scheme, key));
    const flows = sizes.map((size, i) => ({ size, slowdown: slowdowns[i] }));
    return [scheme, flows.filter(({ size, slowdown }) => Number.isFinite(size) && Number.isFinite(slowdown))];
  });
  const sizes = sized.flatMap(([, flows]) => flows.map(({ size }) => size));
  if (new Set(sizes).size < 2) return null;
  const counts = sized.map(([, flows]) => flows.length).filter(Boolean);
  const edges = edgesOf(sizes, counts.reduce((a, b) => Math.min(a, b)));
  const binned = sized.map(([scheme, flows]) => [scheme, binsOf(flows, edges)]);
  const curve = (scheme, bins, key, label) => {
    const text = bins.map((bin) =>
      hover(
        `${name(scheme)}, ${label}`,
        ["slowdown", "times", bin[key]],
        ["flows of", "bytes", bin.low],
        ["to", "bytes", bin.high],
        ["flows:", "count", bin.count],
      ),
    );
    const solid = key === "p50";
    return line(
      scheme,
      bins.map(({ size }) => size),
      bins.map((bin) => bin[key]),
      text,
      {
        mode: "lines+markers",
        marker: { size: 7, symbol: solid ? "circle" : "circle-open" },
        line: { width: solid ? 2.25 : 1.25 },
      },
    );
  };
  const means = binned.flatMap(([, bins]) => bins.map(({ size }) => size)),
    least = means.reduce((a, b) => Math.min(a, b));
  const highest = Math.max(2, largest(binned.flatMap(([, bins]) => bins.map(({ p99 }) => p99))));
  const data = binned.flatMap(([scheme, bins]) => [
    curve(scheme, bins, "p99", "99th percentile"),
    curve(scheme, bins, "p50", "median"),
  ]);
  const layout = {
    xaxis: logAxis("bytes", least, Math.max(largest(means), 2 * least), "mean size of the flows in a bin"),
    yaxis: logAxis("times", 1, highest, "slowdown"),
  };
  return {
    id: "size",
    title: "Slowdown by flow size",
    note: "FCT over what an empty network would give. Filled: median; hollow: 99th percentile. Lower is better.",
    variants: { "": { data, layout } },
  };
}

/** The rows of a run's series, by metric and entity: ends of intervals, and values. */
export function tracks({ tables: { series } }) {
  const found = new Map();
  if (!series) return found;
  const [time, value] = ["time_s", "value"].map((key) => numbers(series.columns[key]));
  const [entity, metric] = ["entity", "metric"].map((key) => texts(series.columns[key]));
  for (let i = 0; i < series.rows; i++) {
    const key = `${metric[i]} ${entity[i]}`;
    let track = found.get(key);
    if (!track) found.set(key, (track = { metric: metric[i], entity: entity[i], time: [], value: [] }));
    track.time.push(time[i]);
    track.value.push(value[i]);
  }
  return found;
}

function thin({ time, value }, most) {
  const stretch = Math.ceil(time.length / most);
  if (stretch <= 1) return { time, value };
  const mean = (values) =>
    Array.from({ length: Math.ceil(values.length / stretch) }, (_, i) => {
      const part = values.slice(i * stretch, (i + 1) * stretch);
      return part.reduce((sum, one) => sum + one, 0) / part.length;
    });
  return { time: mean(time), value: mean(value) };
}

function timeAxis(curves) {
  const end = largest(curves.flatMap(({ time, value }) => time.filter((_, i) => value[i] > 0)));
  return { title: { text: "time (s)" }, ...(end ? { range: [0, end * 1.02] } : {}) };
}

function overTime(curves, kind, title, width) {
  const [factor, yaxis] = linearAxis(kind, largest(curves.flatMap(({ value }) => value)), title);
  const data = curves.map(({ scheme, time, value }) => {
    const text = value.map((one, i) => hover(name(scheme), ["", kind, one], ["at", "seconds", time[i]]));
    return line(
      scheme,
      time,
      value.map((one) => one / factor),
      text,
      { line: { width } },
    );
  });
  return { data, layout: { xaxis: timeAxis(curves), yaxis } };
}

const ofSeed = ({ seeds }) => (seeds.length > 1 ? `; seed ${seeds[0]} of ${seeds.length}` : "");

function goodput(comparison, recorded) {
  const curves = [...recorded].map(([scheme, found]) => {
    const rates = [...found.values()].filter(({ metric }) => metric === "goodput_bps");
    const groups = rates.filter(({ entity }) => entity.startsWith("group:"));
    const chosen = groups.length ? groups : rates;
    if (!chosen.length) return null;
    const total = new Map();
    for (const { time, value } of chosen) time.forEach((t, i) => total.set(t, (total.get(t) ?? 0) + value[i]));
    const times = [...total.keys()].sort((a, b) => a - b);
    return { scheme, ...thin({ time: times, value: times.map((t) => total.get(t)) }, GOODPUT_POINTS) };
  });
  if (curves.every(Boolean)) {
    const note = `Bytes that reach receivers, all flows together${ofSeed(comparison)}.`;
    return {
      id: "goodput",
      title: "Goodput over time",
      note,
      variants: { "": overTime(curves, "bps", "goodput", 1.75) },
    };
  }
  const note = `Each flow's bytes count when it ends, of one that did not end at the end of the run; measure.series = true records the goodput over time${ofSeed(comparison)}.`;
  const ended = comparison.schemes.map((scheme) => delivered(scheme, comparison.results.get(scheme)[0]));
  return {
    id: "goodput",
    title: "Bytes delivered over time",
    note,
    variants: { "": overTime(ended, "bytes", "delivered", 1.75) },
  };
}

function delivered(scheme, { run, tables: { flows } }) {
  const [start, fct, bytes] = ["start_s", "fct_s", "delivered_bytes"].map((key) => numbers(flows.columns[key]));
  const ends = Array.from(start, (at, i) => [
    Number.isFinite(fct[i]) ? at + fct[i] : run.simulated_s,
    bytes[i] || 0,
  ]).sort((a, b) => a[0] - b[0]);
  const time = Array.from({ length: GOODPUT_POINTS + 1 }, (_, i) => (i * run.simulated_s) / GOODPUT_POINTS);
  let at = 0,
    sum = 0;
  const value = time.map((t) => {
    while (at < ends.length && ends[at][0] <= t) sum += ends[at++][1];
    return sum;
  });
  return { scheme, time, value };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
const said = (entity) => (entity.startsWith("port:") ? entity.slice(5).replace(">", " → ") : entity.replace(":", " "));

function gaugeFigures(recorded, hosts) {
  // By metric and entity: a curve for each scheme that has it.
  const found = new Map();
  for (const [scheme, all] of recorded)
    for (const [key, track] of all) {
      if (!found.has(key)) found.set(key, { ...track, curves: [] });
      found.get(key).curves.push({ scheme, ...thin(track, POINTS) });
    }
  const moving = [...found.values()].filter(({ curves }) =>
    curves.some(({ value }) => value.some((one) => one !== value[0])),
  );
  const figure = (id, title, note, chosen, text) => ({
    id,
    title,
    note,
    choose: id === "queue" ? "Port" : "Show",
    variants: Object.fromEntries(
      chosen.map((track) => {
        const kind =
          UNITS.find(([suffix]) => track.metric.endsWith(suffix))?.[1] ??
          (track.metric === "utilisation" ? "ratio" : "count");
        const label = track.metric.replace(/_(bps|bytes|s)$/, "").replaceAll("_", " ");
        return [`${track.metric} ${track.entity}`, overTime(track.curves, kind, label, 1.5)];
      }),
    ),
    options: Object.fromEntries(chosen.map((track) => [`${track.metric} ${track.entity}`, text(track)])),
  });
  const ofHost = ({ entity }) => hosts.has(entity.slice(5).split(">")[0]);
  const height = ({ curves }) => largest(curves.map(({ value }) => mean(value)));
  const queues = moving
    .filter(({ metric, entity }) => metric === "queue_bytes" && entity.startsWith("port:"))
    .sort((a, b) => ofHost(a) - ofHost(b) || height(b) - height(a))
    .slice(0, CHOICES);
  const others = moving.filter(({ metric }) => metric !== "queue_bytes").slice(0, MOST_GAUGES);
  return [
    queues.length &&
      figure(
        "queue",
        "Queue over time",
        `Bytes waiting at a port; the ${queues.length} fullest can be chosen.`,
        queues,
        ({ entity }) => said(entity),
      ),
    others.length &&
      figure(
        "gauges",
        "Gauges",
        "What ports and flows recorded.",
        others,
        ({ metric, entity }) => `${metric.replaceAll("_", " ")}, ${said(entity)}`,
      ),
  ].filter(Boolean);
}

/** All figures of a comparison. */
export function figures(comparison) {
  const recorded = new Map(comparison.schemes.map((scheme) => [scheme, tracks(comparison.results.get(scheme)[0])]));
  const nodes = comparison.first.run.topology.nodes;
  const hosts = new Set(nodes.filter(({ kind }) => kind === "host").map((node) => node.name));
  const fixed = [completion(comparison), bySize(comparison), goodput(comparison, recorded)];
  return [...fixed.filter(Boolean), ...gaugeFigures(recorded, hosts)];
}
