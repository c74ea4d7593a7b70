// Figures of a comparison as report.js draws them: those of midpath/report/{flows,time}.py, and those of the files beside
// this. A trace names its scheme; colours, grid and fonts are report.js's.
import { faultsOf, marked } from "./faults.js";
import { gauges } from "./gauges.js";
import { network } from "./network.js";
import { along } from "./path.js";
import { numbers } from "./simulator.js";
import { average, name, quantile, quantity, scale } from "./stats.js";
import { escape, hover, largest, lastAbove, least, line, linearAxis, ofSeed, thin, tracks } from "./tracks.js";

const POINTS = 240,
  TAIL_POINTS = 60,
  GOODPUT_POINTS = 120,
  TAIL = 0.9,
  CHOICES = 6,
  MOST_BINS = 10,
  FLOWS_PER_BIN = 30;

function plain(kind, value) {
  const [factor, suffix] = scale(kind, value);
  return `${Number((value / factor).toPrecision(6))}${suffix && suffix !== "×" ? " " : ""}${suffix}`;
}

function logTicks(low, high) {
  if (high / low < 8) {
    let step = Number(`1e${Math.floor(Math.log10(high - low))}`);
    step *= [0.2, 0.5, 1, 2].find((times) => (high - low) / (step * times) <= 5);
    const [first, last] = [Math.ceil(low / step), Math.floor(high / step)];
    return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
  }
  const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
  const steps = high / low > 300 ? [1] : [1, 2, 5];
  return Array.from({ length: last - first + 1 }, (_, i) => steps.map((step) => Number(`${step}e${first + i}`))).flat();
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

const pooled = (comparison, scheme, key) =>
  comparison.results.get(scheme).flatMap(({ tables }) => Array.from(numbers(tables.flows.columns[key])));

function shares(low) {
  const ticks = [0, 1, 2, 3, 4].map((i) => low + ((1 - low) * i) / 4);
  return {
    range: [low, 1 + 0.02 * (1 - low)],
    tickvals: ticks,
    ticktext: ticks.map((tick) => (low ? quantity("ratio", tick) : `${Math.round(100 * tick)}%`)),
  };
}

function distribution(scheme, values, total, kind) {
  const sorted = Float64Array.from(values).sort(),
    count = sorted.length;
  const step = (count - 1) / (POINTS - 1);
  const keep = Array.from({ length: count && POINTS }, (_, i) => (i < POINTS - 1 ? Math.floor(i * step) : count - 1));
  for (let i = Math.max(0, count - TAIL_POINTS); i < count; i++) keep.push(i);
  const rows = [...new Set(keep)].sort((a, b) => a - b);
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
  const low = all.length ? least(all) : 1e-3,
    high = all.length ? Math.max(largest(all), low * 1.1) : 1;
  // What waited until the end never began.
  const begun = (scheme) => pooled(comparison, scheme, "start_s").filter(Number.isFinite).length;
  const data = found.map(([scheme, values]) =>
    distribution(scheme, known(values), ended ? begun(scheme) : known(values).length, kind),
  );
  const xaxis = logAxis(kind, low, high, title);
  if (!ended)
    return {
      id: "fct",
      title: "Goodput per flow",
      variants: { "": { data, layout: { xaxis, yaxis: shares(0) } } },
      note: "Share of flows that got at most this goodput. A steep curve is a fair one. No flow ended, so there is no FCT.",
    };
  return {
    id: "fct",
    title: "Flow completion time",
    variants: {
      all: { data, layout: { xaxis, yaxis: shares(0) } },
      tail: { data, layout: { xaxis, yaxis: shares(TAIL) } },
    },
    choose: "Show",
    options: { all: "all flows", tail: "slowest 10%" },
    note: "Share of all flows that had ended after this long. Further left is better.",
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
  for (const flow of flows)
    bins[
      Math.max(
        0,
        edges.findLastIndex((edge) => edge <= flow.size),
      )
    ].push(flow);
  return bins
    .filter((bin) => bin.length)
    .map((bin) => {
      const slowdowns = Float64Array.from(bin, ({ slowdown }) => slowdown).sort(),
        sizes = bin.map(({ size }) => size);
      return {
        size: Math.exp(average(sizes.map(Math.log))),
        low: least(sizes),
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
  const edges = edgesOf(sizes, least(counts));
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
    smallest = least(means);
  const highest = Math.max(2, largest(binned.flatMap(([, bins]) => bins.map(({ p99 }) => p99))));
  const data = binned.flatMap(([scheme, bins]) => [
    curve(scheme, bins, "p99", "99th percentile"),
    curve(scheme, bins, "p50", "median"),
  ]);
  const layout = {
    xaxis: logAxis("bytes", smallest, Math.max(largest(means), 2 * smallest), "mean size of the flows in a bin"),
    yaxis: logAxis("times", 1, highest, "slowdown"),
  };
  return {
    id: "size",
    title: "Slowdown by flow size",
    note: "FCT over what an empty network would give. Filled: median; hollow: 99th percentile. Lower is better.",
    variants: { "": { data, layout } },
  };
}

/** Up to where the last curve comes to rest. */
function timeAxis(end) {
  return { title: { text: "time (s)" }, ...(end ? { range: [0, end * 1.02] } : {}) };
}

function overTime(curves, kind, title, width, end = largest(curves.map(lastAbove))) {
  const [factor, yaxis] = linearAxis(kind, largest(curves.map(({ value }) => largest(value))), title);
  const data = curves.map(({ scheme, time, value }) => {
    const text = value.map((one, i) => hover(name(scheme), ["", kind, one], ["at", "seconds", time[i]]));
    const scaled = value.map((one) => one / factor);
    return line(scheme, time, scaled, text, { line: { width } });
  });
  return { data, layout: { xaxis: timeAxis(end), yaxis } };
}

function goodput(comparison, recorded) {
  const curves = [...recorded].map(([scheme, found]) => {
    const rates = [...found.values()].filter(({ metric }) => metric === "goodput_bps");
    const groups = rates.filter(({ entity }) => entity.startsWith("group:"));
    const chosen = groups.length ? groups : rates;
    if (!chosen.length) return null;
    const sums = new Map();
    for (const { time, value } of chosen) time.forEach((t, i) => sums.set(t, (sums.get(t) ?? 0) + value[i]));
    const time = [...sums.keys()].sort((a, b) => a - b);
    return { scheme, ...thin({ time, value: time.map((t) => sums.get(t)) }, GOODPUT_POINTS) };
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
  const moves = ended.flatMap(({ time, value }) => time.filter((_, i) => i && value[i] !== value[i - 1]));
  return {
    id: "goodput",
    title: "Bytes delivered over time",
    note,
    variants: { "": overTime(ended, "bytes", "delivered", 1.75, largest(moves)) },
  };
}

function delivered(scheme, { run, tables: { flows } }) {
  const [start, fct, bytes] = ["start_s", "fct_s", "delivered_bytes"].map((key) => numbers(flows.columns[key]));
  const ends = Array.from(start, (at, i) => [
    Number.isFinite(at + fct[i]) ? at + fct[i] : run.simulated_s,
    bytes[i] || 0,
  ]).sort((a, b) => a[0] - b[0]);
  const step = Math.max(run.simulated_s, 1e-12) / GOODPUT_POINTS;
  const time = Array.from({ length: GOODPUT_POINTS + 1 }, (_, i) => (i < GOODPUT_POINTS ? i * step : run.simulated_s));
  let at = 0,
    sum = 0;
  const value = time.map((t) => {
    while (at < ends.length && ends[at][0] <= t) sum += ends[at++][1];
    return sum;
  });
  return { scheme, time, value };
}

/** Queue lengths over time at the fullest ports; their percentiles if no series was recorded. */
function queues(comparison, recorded) {
  const found = new Map();
  for (const all of recorded.values())
    for (const { metric, entity, value } of all.values())
      if (metric === "queue_bytes") found.set(entity, [...(found.get(entity) ?? []), ...value]);
  const hosts = new Set(
    comparison.first.run.topology.nodes.filter(({ kind }) => kind === "host").map((node) => node.name),
  );
  const isHost = (entity) => hosts.has(entity.replace("port:", "").split(">")[0]);
  const ports = [...found]
    .map(([entity, values]) => [entity, average(values)])
    .filter(([, held]) => held > 0)
    .sort((a, b) => isHost(a[0]) - isHost(b[0]) || b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, CHOICES)
    .map(([entity]) => entity);
  if (!ports.length) return percentiles(comparison);
  const drawn = (port) => {
    const curves = [...recorded].map(([scheme, all]) => [
      scheme,
      all.get(`queue_bytes ${port}`) ?? { time: [], value: [] },
    ]);
    return overTime(
      curves.map(([scheme, track]) => ({ scheme, ...thin(track, POINTS) })),
      "bytes",
      "queue",
      1.5,
    );
  };
  return {
    id: "queue",
    title: "Queue over time",
    note: `Bytes waiting at a port; the ${ports.length} fullest can be chosen${ofSeed(comparison)}.`,
    variants: Object.fromEntries(ports.map((port) => [port, drawn(port)])),
    choose: "Port",
    options: Object.fromEntries(ports.map((port) => [port, port.replace("port:", "").replaceAll(">", " → ")])),
  };
}

/** A range from median to 99th percentile per scheme, at the ports where packets wait longest. */
function percentiles(comparison) {
  const worst = new Map();
  for (const scheme of comparison.schemes)
    for (const { label, delay_p99_s: p99 } of comparison.ports(scheme))
      worst.set(label, Math.max(worst.get(label) ?? -Infinity, Number.isFinite(p99) ? p99 : -Infinity));
  const names = [...worst.keys()].sort((a, b) => worst.get(b) - worst.get(a) || (a < b ? -1 : 1)).slice(0, CHOICES);
  const [factor, xaxis] = linearAxis("seconds", largest([...worst.values()]), "queueing delay");
  // Room for the marks of ports where nothing waits.
  xaxis.range[0] = -0.02 * xaxis.range[1];
  const spread = 0.6 / comparison.schemes.length;
  const data = comparison.schemes.flatMap((scheme, place) => {
    const ports = new Map(comparison.ports(scheme).map((port) => [port.label, port]));
    return names.map((label, i) => {
      const { delay_p50_s: p50 = NaN, delay_p99_s: p99 = NaN } = ports.get(label) ?? {};
      const text = hover(name(scheme), ["median", "seconds", p50], ["99th percentile", "seconds", p99]);
      const y = i + (place - (comparison.schemes.length - 1) / 2) * spread;
      const marker = { size: 9, symbol: ["circle-open", "circle"] };
      return line(scheme, [p50 / factor, p99 / factor], [y, y], [text, text], { mode: "lines+markers", marker });
    });
  });
  const yaxis = { tickvals: names.map((_, i) => i), ticktext: names, autorange: "reversed", automargin: true };
  return {
    id: "queue",
    title: "Queueing delay",
    note: "Per port, from the median (hollow) to the 99th percentile (filled); measure.series = true records the course.",
    variants: { "": { data, layout: { xaxis, yaxis } } },
  };
}

const recordedOf = ({ schemes, results }) => new Map(schemes.map((scheme) => [scheme, tracks(results.get(scheme)[0])]));

/** Those that variants have as curves. */
export function curveFigures(comparison) {
  const recorded = recordedOf(comparison);
  return [completion, goodput, queues].map((draw) => draw(comparison, recorded));
}

/** All figures of a comparison. */
export function figures(comparison) {
  const recorded = recordedOf(comparison);
  const faults = faultsOf(comparison.scenario, comparison.first.run.simulated_s);
  return [completion, bySize, goodput, queues, along, network, gauges]
    .map((draw) => draw(comparison, recorded))
    .filter(Boolean)
    .map((figure) => marked(figure, faults));
}
