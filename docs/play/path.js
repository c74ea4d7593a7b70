// Along a path: what each port that a flow crosses says of its state and its store, as midpath/report/path.py draws it.
import { compact, escape, gaugesOf, label, largest, lastAbove, thin, toneTint } from "./tracks.js";
import { average, name, quantity } from "./stats.js";
import { isMap } from "./network.js";

const CACHE_POINTS = 240,
  MOST_PATHS = 8,
  MOST_LANES = 8,
  AXIS_PX = 60,
  AREA = 0.56,
  BAND_PX = 13,
  LOOP_PX = 4,
  APART = 0.16,
  NEAR = 0.25,
  ROOM = 1.05;
const WITH_STORE = { px: 104, loop: 0.62, band: 0.72, title: 0.9 };
const WITHOUT = { px: 50, loop: 0.12, band: 0.34, title: 0.76 };
const SEVERAL = "tone:several";

/** The first scheme whose ports have told of their states, and what they show; null if there is none. */
export function staged(comparison, recorded) {
  for (const scheme of comparison.schemes) {
    const gauges = [...gaugesOf(comparison.results.get(scheme)[0].run, "ports").values()];
    const told = new Set();
    for (const { entity, metric } of recorded.get(scheme).values()) if (entity.startsWith("port:")) told.add(metric);
    const state = gauges.find((gauge) => gauge.states?.length && told.has(gauge.name));
    if (!state) continue;
    const parts = Object.fromEntries(gauges.filter(({ along }) => along).map((gauge) => [gauge.along, gauge]));
    const alarms = state.states.flatMap(({ tone }, i) => (tone === "alarm" ? [i] : []));
    return { scheme, state: state.name, states: state.states, parts, alarms, room: parts.store ? WITH_STORE : WITHOUT };
  }
  return null;
}

const symbol = ({ parts }, part) => parts[part]?.symbol || part;
const word = ({ states }, state) => (state % 1 === 0 && state < states.length ? states[state].name : "several states");

/** The figure, if a scheme whose states have names has recorded them. */
export function along(comparison, recorded) {
  const stage = staged(comparison, recorded);
  if (!stage) return null;
  const { run } = comparison.results.get(stage.scheme)[0];
  const lanes = lanesOf(stage, recorded.get(stage.scheme));
  const [chosen, missing] = paths(run.paths ?? [], lanes, places(comparison.first.run.topology));
  if (!chosen.length) return null;
  const end = endOf([...lanes.values()]);
  const shown = chosen.map(([key, title, ports]) => [key, title, ...choose(stage, ports, lanes)]);
  const keys = stage.states.map(({ name, tone }) => [toneTint(tone), name]);
  if ([...lanes.values()].some(({ state }) => state.value.some((one) => one % 1 !== 0)))
    keys.push([SEVERAL, "several within one point"]);
  if (stage.parts.slowed) keys.push(["ink", "thin line: slowed down by the next hop"]);
  return {
    id: "path",
    title: "Along a path",
    note: noteOf(stage) + (missing ? ` ${missing} more paths are not drawn.` : ""),
    variants: Object.fromEntries(shown.map(([key, , some]) => [key, draw(stage, some, end)])),
    choose: "Path",
    options: Object.fromEntries(shown.map(([key, title]) => [key, title])),
    keys,
    notes: Object.fromEntries(shown.map(([key, , , note]) => [key, note])),
  };
}

function noteOf(stage) {
  const up = stage.alarms.length ? ", so backpressure moves up" : "";
  let text = `${name(stage.scheme)}: ports in the order in which data crosses them${up}. Band: state`;
  const meaning = stage.parts.store?.meaning;
  if (stage.parts.store) text += `; area: ${meaning.slice(0, 1).toLowerCase()}${meaning.slice(1)}`;
  const thresholds = ["high", "low"].filter((part) => stage.parts[part]).map((part) => symbol(stage, part));
  return `${text}${thresholds.length ? `, with dashed lines at ${thresholds.join(" and ")}` : ""}.`;
}

/** Ports that say what state they are in, each over time. */
function lanesOf(stage, recorded) {
  const lanes = new Map();
  for (const { entity, metric, time, value } of recorded.values()) {
    if (metric !== stage.state || !entity.startsWith("port:")) continue;
    const nothing = { time, value: time.map(() => 0) };
    const found = (part) => stage.parts[part] && recorded.get(`${stage.parts[part].name} ${entity}`);
    const most = (part) => (found(part)?.value.length ? largest(found(part).value, -Infinity) : null);
    const cache = found("store") ?? nothing,
      closed = found("slowed") ?? nothing,
      high = most("high");
    const holds = largest(cache.value);
    const pressed = value.findIndex((one) => stage.alarms.includes(one));
    lanes.set(entity, {
      entity,
      state: { time, value },
      cache,
      closed,
      high,
      low: most("low"),
      most: holds,
      isNear: high !== null && holds >= NEAR * high,
      isEventful: [value, cache.value, closed.value].some((values) => values.some((one) => one > 0)),
      pressed: pressed < 0 ? null : time[pressed],
      busy: average(value.map((one, i) => Number(one > 0 || cache.value[i] > 0))),
    });
  }
  return lanes;
}

/** When the last port has come to rest. */
function endOf(lanes) {
  const ends = lanes.flatMap(({ state, cache, closed }) => [state, cache, closed].map(lastAbove)).filter(Boolean);
  return largest(ends.length ? ends : lanes.map(({ state }) => largest(state.time)));
}

/** Paths as key, title and ports, those that pushed back most first; and how many are left out. */
function paths(found, lanes, where) {
  const byNodes = new Map();
  for (const { flow, nodes } of found) {
    const key = JSON.stringify(nodes);
    if (!byNodes.has(key))
      byNodes.set(key, { nodes, flows: [], ports: nodes.slice(1).map((b, i) => `port:${nodes[i]}>${b}`) });
    byNodes.get(key).flows.push(flow);
  }
  const known = [...byNodes.values()].filter(({ ports }) => ports.some((port) => lanes.has(port)));
  for (const path of known) {
    const mine = path.ports.filter((port) => lanes.has(port)).map((port) => lanes.get(port));
    path.pressed = mine.filter(({ pressed }) => pressed !== null).length;
    path.busy = mine.reduce((sum, { busy }) => sum + busy, 0);
  }
  known.sort((a, b) => b.pressed - a.pressed || b.busy - a.busy);
  const kept = known.slice(0, MOST_PATHS);
  const chosen = kept.map(({ nodes, flows, ports }) => [`flow:${flows[0]}`, title(nodes, flows, where), ports]);
  const drawn = new Set(kept.flatMap(({ ports }) => ports));
  const pressed = [...lanes.values()].filter((lane) => lane.pressed !== null);
  if (pressed.some(({ entity }) => !drawn.has(entity))) {
    const inTime = pressed.toSorted((a, b) => a.pressed - b.pressed || (a.entity < b.entity ? -1 : 1));
    chosen.push(["everywhere", "all ports that pushed back, the first at the top", inTime.map(({ entity }) => entity)]);
  }
  return [chosen, known.length - kept.length];
}

/** Where each node of a map is, in words; nothing for drawings without places. */
function places(topology) {
  if (!isMap(topology)) return new Map();
  return new Map(
    topology.nodes.filter(({ x }) => x !== null && x !== undefined).map((node) => [node.name, node.label || node.name]),
  );
}

function title(nodes, flows, where) {
  const some = flows.slice(0, 3).join(", ") + (flows.length > 3 ? " …" : "");
  const said = `flow${flows.length > 1 ? "s" : ""} ${some}`;
  const ends = `${nodes[0]} → ${nodes.at(-1)}`;
  const [from, to] = [
    [nodes[0], nodes[1]],
    [nodes.at(-1), nodes.at(-2)],
  ].map(([end, router]) => where.get(end) ?? where.get(router));
  if (from === undefined || to === undefined) return `${ends} (${said})`;
  const named = `${from} → ${to}`;
  return named === ends ? `${named} (${said})` : `${named} (${ends}, ${said})`;
}

/** The ports worth a lane, in their order, and what to say about the others. */
function choose(stage, ports, lanes) {
  const known = ports.filter((port) => lanes.has(port)).map((port) => lanes.get(port));
  const moving = known.filter(({ isEventful }) => isEventful);
  const eventful = moving.length ? moving : known;
  const busiest = eventful.toSorted((a, b) => b.busy - a.busy).slice(0, MOST_LANES);
  const shown = eventful.filter((lane) => busiest.includes(lane));
  const isFar = ({ most, high, isNear }) => most > 0 && high !== null && !isNear;
  const left = [
    ["Nothing happened at", known.filter((lane) => !eventful.includes(lane))],
    ["Less happened at", eventful.filter((lane) => !busiest.includes(lane))],
    [`Without dashed lines, because ${symbol(stage, "high")} is far above:`, shown.filter(isFar)],
    [
      "Not recorded (measure.ports says how many are):",
      ports.filter((port) => !lanes.has(port)).map((entity) => ({ entity })),
    ],
  ];
  const listed = (which) =>
    which
      .slice(0, MOST_LANES)
      .map(({ entity }) => label(entity))
      .join(", ") + (which.length > MOST_LANES ? ` and ${which.length - MOST_LANES} more` : "");
  const said = left.filter(([, which]) => which.length).map(([what, which]) => `${what} ${listed(which)}.`);
  return [shown, said.join(" ")];
}

function draw(stage, lanes, end) {
  const common = largest(lanes.filter(({ isNear }) => !isNear).map(({ most }) => most));
  const placed = lanes.map((lane, i) => ({
    lane,
    bottom: lanes.length - 1 - i,
    // Above its own threshold, or, where stores never came near it, the same for all.
    top: ROOM * (lane.isNear ? Math.max(lane.most, lane.high || 0) : Math.max(common, 1)),
  }));
  // From the bottom, because the box that lists what is hovered over begins with the last.
  const upwards = placed.toReversed();
  const marks = upwards.flatMap((one) => marksOf(stage, one));
  return {
    data: [...upwards.flatMap((one) => areas(stage, one)), ...bands(stage, placed), ...loops(stage, placed)],
    layout: {
      height: stage.room.px * lanes.length + AXIS_PX,
      margin: { l: 8, r: 10, t: 4, b: 44 },
      xaxis: {
        title: { text: "time (s)" },
        range: [0, end * 1.01 || 1],
        unifiedhovertitle: { text: "at %{x:.4~g} s" },
      },
      yaxis: {
        range: [-0.04, lanes.length],
        fixedrange: true,
        showgrid: false,
        tickvals: marks.map(([y]) => y),
        ticktext: marks.map(([, text]) => text),
      },
      hovermode: "x unified",
      annotations: placed.map(({ lane, bottom }) => ({
        text: `<b>${escape(label(lane.entity))}</b>`,
        xref: "paper",
        x: 0,
        xanchor: "left",
        y: bottom + stage.room.title,
        yanchor: "middle",
        showarrow: false,
      })),
      shapes: marks
        .filter(([, , isThreshold]) => isThreshold)
        .map(([y]) => ({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, line: { width: 1, dash: "dash" } })),
    },
  };
}

/** The value of a curve at each of these times: that of the interval which they are in. */
function at({ time, value }, times) {
  let i = 0;
  return times.map((t) => {
    while (i < time.length - 1 && time[i] < t) i++;
    return value[i];
  });
}

/** What the port stores, over its base; the hover text of the whole lane is here. */
function areas(stage, { lane, bottom, top }) {
  const { time, value } = thin(lane.cache, CACHE_POINTS);
  const states = at(lane.state, time).map((state) => word(stage, state));
  const slowed = at(lane.closed, time).map((one) => (one > 0 ? ", slowed down" : ""));
  const hover = { hovertemplate: `<b>${escape(label(lane.entity))}</b>: %{text}<extra></extra>`, hoverinfo: "all" };
  const base = { type: "scatter", mode: "lines", hoverinfo: "skip", meta: { tint: "cache" }, line: { width: 1 } };
  if (!stage.parts.store)
    // Unseen, on the band.
    return [
      {
        ...base,
        ...hover,
        x: compact(time),
        y: time.map(() => bottom + stage.room.band),
        line: { width: 0 },
        text: states.map((state, i) => state + slowed[i]),
      },
    ];
  return [
    { ...base, x: compact([time[0], time.at(-1)]), y: [bottom, bottom] },
    {
      ...base,
      x: compact(time),
      y: compact(value.map((held) => bottom + (AREA * held) / top)),
      fill: "tonexty",
      text: states.map((state, i) => `${state}, ${quantity("bytes", value[i])}${slowed[i]}`),
      ...hover,
    },
  ];
}

/** One trace per state, whatever the number of lanes and of changes. */
function bands(stage, placed) {
  const tints = [
    ...stage.states.map(({ tone }, i) => [(one) => one === i, toneTint(tone)]),
    [(one) => one % 1 !== 0, SEVERAL],
  ];
  return tints.flatMap(([within, tint]) => {
    const found = placed.flatMap(({ lane: { state }, bottom }) =>
      stretches(state.time, state.value.map(within)).map((span) => [span, bottom + stage.room.band]),
    );
    return found.length ? [strip(found, tint, BAND_PX)] : [];
  });
}

function loops(stage, placed) {
  const found = placed.flatMap(({ lane: { closed }, bottom }) =>
    stretches(
      closed.time,
      closed.value.map((one) => one > 0),
    ).map((span) => [span, bottom + stage.room.loop]),
  );
  return found.length ? [strip(found, "ink", LOOP_PX)] : [];
}

function strip(found, tint, width) {
  return {
    type: "scatter",
    mode: "lines",
    x: compact(found.flatMap(([[begin, end]]) => [begin, end, NaN])),
    y: compact(found.flatMap(([, y]) => [y, y, NaN])),
    hoverinfo: "skip",
    line: { width },
    meta: { tint },
  };
}

/** From when to when a condition held; a point stands for the interval that ends at its time. */
function stretches(time, within) {
  const before = time.length > 1 ? Math.max(2 * time[0] - time[1], 0) : 0;
  const found = [];
  within.forEach((is, i) => {
    if (is && !within[i - 1]) found.push([i ? time[i - 1] : before, time[i]]);
    else if (is) found.at(-1)[1] = time[i];
  });
  return found;
}

/** Heights with a name, and whether they are thresholds: the upper, the lower if there is room; else the scale. */
function marksOf(stage, { lane, bottom, top }) {
  if (!lane.most) return [];
  if (!lane.isNear) return [[bottom + AREA / ROOM, quantity("bytes", top / ROOM), false]];
  const mark = (part, bytes) => [
    bottom + (AREA * bytes) / top,
    `${subscript(symbol(stage, part))} ${quantity("bytes", bytes)}`,
    true,
  ];
  const isRoom = lane.low !== null && ((lane.high - lane.low) * AREA) / top >= APART;
  return [mark("high", lane.high), ...(isRoom ? [mark("low", lane.low)] : [])];
}

/** A paper's symbol for plotly: `S_high` with its index below the line. */
function subscript(text) {
  const [letter, ...index] = text.split("_");
  return index.length ? `${letter}<sub>${index.join("_")}</sub>` : letter;
}
