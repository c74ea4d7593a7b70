// Where nodes are drawn, and the map of the load, as midpath/report/network.py has it.
import { name, quantity } from "./stats.js";
import { compact, hover, largest, least } from "./tracks.js";

const STEPS = 10,
  LABELLED_NODES = 60,
  MARGIN = 0.1;

const centreOf = (places) => [0, 1].map((k) => places.reduce((sum, place) => sum + place[k], 0) / places.length);
const spread = (places, k) =>
  largest(
    places.map((place) => place[k]),
    -Infinity,
  ) - least(places.map((place) => place[k]));

/** A place for every node: its own, near its neighbours' or, where hardly any has one, what springs find. */
export function places(topology) {
  const own = topology.nodes.map(({ x, y }) => (x === null || x === undefined ? null : [x, y]));
  return own.filter(Boolean).length < 2 ? sprung(topology) : around(topology, own);
}

/** Nodes without a place (hosts, mostly) in a fan around their neighbour, away from the centre. */
function around({ nodes, links }, own) {
  const index = new Map(nodes.map((node, i) => [node.name, i]));
  const given = own.filter(Boolean),
    centre = centreOf(given);
  const radius = 0.06 * Math.max(spread(given, 0), spread(given, 1), 1e-9);
  const near = nodes.map(() => []);
  for (const [a, b] of links.map(({ a, b }) => [index.get(a), index.get(b)])) {
    near[a].push(b);
    near[b].push(a);
  }
  const guests = new Map();
  own.forEach((place, i) => {
    if (place) return;
    const host = near[i].find((one) => own[one]) ?? own.findIndex(Boolean);
    guests.set(host, [...(guests.get(host) ?? []), i]);
  });
  const at = [...own];
  for (const [host, some] of guests) {
    const [x, y] = own[host];
    const outward = Math.atan2(y - centre[1], x - centre[0]),
      opening = Math.min(Math.PI, 0.5 * some.length);
    some.forEach((node, i) => {
      const angle = outward + opening * ((i + 0.5) / some.length - 0.5);
      at[node] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    });
  }
  return at;
}

/** Springs along links, all others apart; the same each time. */
function sprung({ nodes, links }) {
  const index = new Map(nodes.map((node, i) => [node.name, i]));
  const at = nodes.map((_, i) =>
    [0, 1].map((k) => Math[k ? "sin" : "cos"](2.4 * i) * Math.sqrt((i + 1) / nodes.length)),
  );
  const near = 1 / Math.sqrt(nodes.length || 1);
  const rounds = nodes.length > 400 ? 20 : 300;
  for (let round = 0; round < rounds; round++) {
    const force = at.map(() => [0, 0]),
      most = 0.1 * (1 - round / rounds);
    const push = (i, j, size) => {
      const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]],
        far = Math.hypot(dx, dy) || 1e-9;
      const by = size(far) / far;
      force[i] = [force[i][0] + dx * by, force[i][1] + dy * by];
      force[j] = [force[j][0] - dx * by, force[j][1] - dy * by];
    };
    for (let i = 0; i < at.length; i++) for (let j = 0; j < i; j++) push(i, j, (far) => (near * near) / far);
    for (const { a, b } of links) push(index.get(a), index.get(b), (far) => -(far * far) / near);
    at.forEach((place, i) => {
      const size = Math.hypot(...force[i]) || 1,
        step = Math.min(size, most) / size;
      at[i] = [place[0] + force[i][0] * step, place[1] + force[i][1] * step];
    });
  }
  return at;
}

/** Whether places look like longitudes and latitudes. */
export function isMap({ nodes }) {
  const own = nodes.filter(({ x }) => x !== null && x !== undefined);
  const spread = largest(own.map(({ x }) => Math.abs(x - own[0].x)));
  return own.length > 1 && spread > 2 && own.every(({ x, y }) => Math.abs(x) <= 180 && Math.abs(y) <= 90);
}

const shrink = (count) => Math.min(1, Math.max(0.3, Math.sqrt(LABELLED_NODES / Math.max(count, 1))));
const ramp = (use) => (Number.isFinite(use) ? Math.min(Math.max(Math.floor(use * STEPS), 0), STEPS - 1) : 0);

/** Each direction of a link is the half that leaves its node. */
function halves(ports, at, count) {
  const steps = Array.from({ length: STEPS }, () => [[], []]);
  for (const { from, to, utilisation } of ports) {
    const [[x, y], [toX, toY]] = [at[from], at[to]];
    const [xs, ys] = steps[ramp(utilisation)];
    xs.push(x, (x + toX) / 2, NaN);
    ys.push(y, (y + toY) / 2, NaN);
  }
  const drawn = ([x, y], step) => ({
    type: "scatter",
    mode: "lines",
    x: compact(x),
    y: compact(y),
    hoverinfo: "skip",
    line: { width: (1.5 + (6.5 * step) / (STEPS - 1)) * shrink(count) },
    meta: { ramp: step / (STEPS - 1) },
  });
  return steps.map(drawn).filter(({ x }) => x.length);
}

/** Away from the neighbours, so that the fewest links cross the name. */
function labelSide([x, y], neighbours) {
  const links = neighbours.map(([toX, toY]) => Math.atan2(toY - y, toX - x));
  const between = (a, b) => Math.abs(((a - b + 3 * Math.PI) % (2 * Math.PI)) - Math.PI);
  const sides = { "middle right": 0, "top center": Math.PI / 2, "middle left": Math.PI, "bottom center": -Math.PI / 2 };
  const room = ([, side]) => links.reduce((least, link) => Math.min(least, between(side, link)), Math.PI);
  return Object.entries(sides).reduce((best, side) => (room(side) > room(best) ? side : best))[0];
}

function nodesOf(topology, at, ports) {
  const { nodes } = topology;
  const routers = nodes.filter(({ kind }) => kind !== "host");
  // On a map, hosts are where their city is; in a small drawing, flows are told by their names.
  const named = nodes.length <= LABELLED_NODES / 2 && !isMap(topology) ? nodes : routers;
  const shown = new Set(named.length <= LABELLED_NODES ? named : []);
  const size = 13 * shrink(nodes.length);
  const near = nodes.map(() => []);
  for (const { from, to } of ports) near[from].push(at[to]);
  return {
    type: "scatter",
    mode: "markers+text",
    x: compact(at.map(([x]) => x)),
    y: compact(at.map(([, y]) => y)),
    text: nodes.map((node) => (shown.has(node) ? node.name : "")),
    textposition: nodes.map((_, i) => labelSide(at[i], near[i])),
    hovertext: nodes.map((node, i) => hover(node.name).concat(`<br>${node.kind || "node"}, ${near[i].length} ports`)),
    hoverinfo: "text",
    marker: { size: nodes.map(({ kind }) => size * (kind === "host" ? 0.5 : 1)) },
    cliponaxis: false,
    meta: { nodes: true },
  };
}

/** Invisible points on links: a line itself can only be hovered over at its ends. */
function hovers(ports, at) {
  const on = (k) => ports.map(({ from, to }) => at[from][k] + 0.3 * (at[to][k] - at[from][k]));
  const text = (port) =>
    hover(
      port.label,
      ["utilisation", "ratio", port.utilisation],
      ["rate", "bps", port.rate_bps],
      ["mean queue", "bytes", port.queue_mean_bytes],
      ["delay p99", "seconds", port.delay_p99_s],
    ) + `<br>drops ${quantity("count", port.drops_queue + port.drops_aqm)}`;
  return {
    type: "scatter",
    mode: "markers",
    x: compact(on(0)),
    y: compact(on(1)),
    hovertext: ports.map(text),
    hoverinfo: "text",
    marker: { size: 16, opacity: 0 },
    meta: { hover: true },
  };
}

function room(values) {
  const [low, high] = [least(values), largest(values, -Infinity)];
  const margin = Math.max(MARGIN * (high - low), 1e-3);
  return [low - margin, high + margin];
}

/** Utilisation on the drawn topology, one scheme at a time. */
export function network(comparison) {
  const { topology } = comparison.first.run;
  const at = places(topology);
  const number = new Map(topology.nodes.map((node, i) => [node.name, i]));
  const [xs, ys] = [0, 1].map((k) => at.map((place) => place[k]));
  const latitudes = topology.nodes.flatMap(({ y }) => (y === null || y === undefined ? [] : [y]));
  const middle = (least(latitudes) + largest(latitudes, -Infinity)) / 2;
  const anchor = isMap(topology) ? { scaleanchor: "x", scaleratio: 1 / Math.cos((middle * Math.PI) / 180) } : {};
  const layout = {
    xaxis: { visible: false, range: room(xs) },
    yaxis: { visible: false, range: room(ys), ...anchor },
    margin: { l: 8, r: 8, t: 8, b: 8 },
    hovermode: "closest",
  };
  const variants = comparison.schemes.map((scheme) => {
    const ends = ({ node, peer }) => ({ from: number.get(node), to: number.get(peer) });
    const ports = comparison.ports(scheme).map((port) => ({ ...port, ...ends(port) }));
    const data = [...halves(ports, at, topology.nodes.length), nodesOf(topology, at, ports), hovers(ports, at)];
    return [scheme, { data, layout }];
  });
  return {
    id: "network",
    title: "Where the load is",
    note: "Each half of a link is the direction that leaves the nearer node; warmer and wider is busier.",
    variants: Object.fromEntries(variants),
    choose: "Scheme",
    options: Object.fromEntries(comparison.schemes.map((scheme) => [scheme, name(scheme)])),
    height: 560,
  };
}
