"use strict";
(async () => {
  const $ = (id) => document.getElementById(id);
  const element = $("report-data");
  let text = element.textContent;
  if (element.type === "application/gzip;base64") {
    const packed = Uint8Array.from(atob(text.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    text = await new Response(stream).text();
  }
  const data = JSON.parse(text);
  const { nodes, links, flows, applications = [], events: E } = data;

  // --- Columns ------------------------------------------------------------------------------------
  const n = E.node.length;
  const T = new Float64Array(n); // seconds from the first event
  for (let i = 0, ps = 0; i < n; i++) T[i] = (ps += E.t[i]) / 1e12;
  const end = n ? Math.max(T[n - 1], 1e-9) : 1e-9;
  const what = (i) => E.event.names[E.event.of[i]];
  const kind = (i) => E.kind.names[E.kind.of[i]];
  const why = (i) => E.why.names[E.why.of[i]];
  const is = (name) => E.event.names.indexOf(name);
  const [LEFT, ARRIVED, DROPPED, QUEUED, REPEATED, MARKED, DETOURED, BACK, STORED, FETCHED] =
    ["left", "arrived", "dropped", "queued", "repeated", "marked", "detoured", "handed back", "stored", "fetched"].map(is);
  // What the network itself says; whatever else is said of a packet at a port, a scheme has noted.
  const OWN = new Set(["sent", "repeated", "arrived", "queued", "left", "marked", "dropped", "kept", "detoured", "handed back",
    "delivered", "consumed", "copied"].map(is));
  const rowsOf = (column) => {
    const found = new Map();
    column.forEach((key, i) => {
      if (key < 0) return;
      const rows = found.get(key);
      if (rows) rows.push(i);
      else found.set(key, [i]);
    });
    return found;
  };
  const ofPacket = rowsOf(E.packet), ofFlow = rowsOf(E.flow);

  // --- What moves: each packet on each link -----------------------------------------------------
  const linkOf = new Map();
  for (const link of links) {
    linkOf.set(link.a + ">" + link.b, link);
    linkOf.set(link.b + ">" + link.a, link);
  }
  const flights = []; // { t0, t1, a, b, row, again, marked, lost }
  const drops = [], notes = []; // rows
  const marks = new Uint8Array(n);
  for (const rows of ofPacket.values()) {
    let again = false, marked = false;
    for (let j = 0; j < rows.length; j++) {
      const i = rows[j], e = E.event.of[i];
      if (e === REPEATED) again = true;
      if (e === MARKED) marked = true;
      if (e === DROPPED) drops.push(i);
      if (e === MARKED || !OWN.has(e)) notes.push(i);
      if (marked) marks[i] = 1;
      if (e !== LEFT || E.peer[i] < 0) continue;
      const next = rows.slice(j + 1).find((r) => E.event.of[r] === ARRIVED || E.event.of[r] === DROPPED);
      const link = linkOf.get(E.node[i] + ">" + E.peer[i]);
      const guess = link ? link.delay + (E.size[i] * 8) / link.rate : 1e-3;
      const waited = j && E.event.of[rows[j - 1]] === QUEUED ? T[rows[j - 1]] : T[i];
      flights.push({ t0: T[i], t1: next === undefined ? T[i] + guess : T[next], a: E.node[i], b: E.peer[i], row: i, again, marked, waited });
    }
  }
  flights.sort((x, y) => x.t0 - y.t0);
  drops.sort((x, y) => x - y);
  for (let i = 0; i < n; i++) if (E.packet[i] < 0 && E.flow[i] < 0) notes.push(i); // a port's new state, a link that goes down
  notes.sort((x, y) => x - y);
  const starts = Float64Array.from(flights, (f) => f.t0);
  // The latest end of all flights up to each one: where to begin to look for those under way.
  const latest = new Float64Array(flights.length);
  flights.forEach((f, i) => (latest[i] = Math.max(f.t1, i ? latest[i - 1] : 0)));
  const before = (array, t) => { // how many are at or before t
    let low = 0, high = array.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (array[mid] <= t) low = mid + 1;
      else high = mid;
    }
    return low;
  };

  // --- Queues: bytes that wait at each port, over time ------------------------------------------
  const ports = new Map(); // "a>b" -> { a, b, t: [], v: [], most, custody: { t: [], v: [], most } }
  {
    const waits = new Map(), keeps = new Map(); // of packets: the port where each waits, and where it is in custody
    const line = () => ({ t: [], v: [], most: 0 });
    const portAt = (i) => {
      const key = E.node[i] + ">" + E.peer[i];
      if (!ports.has(key)) ports.set(key, { key, a: E.node[i], b: E.peer[i], ...line(), custody: line() });
      return ports.get(key);
    };
    const level = (of) => (of.v.length ? of.v[of.v.length - 1] : 0);
    const set = (of, i, value) => {
      of.t.push(T[i]);
      of.v.push(Math.max(0, value));
      of.most = Math.max(of.most, value);
    };
    for (let i = 0; i < n; i++) {
      const e = E.event.of[i], packet = E.packet[i];
      if (E.peer[i] < 0 || packet < 0) continue;
      if (e === QUEUED) {
        const port = portAt(i);
        waits.set(packet, port);
        set(port, i, E.value[i] ?? level(port) + E.size[i]);
      } else if (e === STORED) {
        const port = portAt(i);
        keeps.set(packet, port);
        set(port.custody, i, level(port.custody) + E.size[i]);
      } else if (e === LEFT || e === DROPPED || e === DETOURED || e === BACK || e === FETCHED) {
        // A packet that takes a detour has waited at another port.
        for (const [where, of] of [[waits, (port) => port], [keeps, (port) => port.custody]]) {
          const port = where.get(packet);
          if (!port || (e === FETCHED && where === waits)) continue;
          where.delete(packet);
          set(of(port), i, level(of(port)) - E.size[i]);
        }
      }
    }
    for (const [key, port] of ports) if (!port.t.length && !port.custody.t.length) ports.delete(key);
  }
  const fullest = Math.max(1, ...[...ports.values()].map((p) => Math.max(p.most, p.custody.most)));
  const level = (port, t) => {
    const i = before(port.t, t);
    return i ? port.v[i - 1] : 0;
  };

  // --- Lines over time ----------------------------------------------------------------------------
  const tracks = []; // { group, label, unit, t, v, most, flow or port }
  const PLAIN = "windows, rates, queues", CUSTODY = "bytes in custody";
  const unitOf = (name) => (name === "window" || name.endsWith("_bytes") ? bytes : name === "rate" || name.endsWith("_bps") || name === "stamped" ? bits
    : name === "RTT" || name.endsWith("_s") ? span : (x) => String(+x.toPrecision(3)));
  const line = (rows) => ({ t: rows.map((i) => T[i]), v: rows.map((i) => E.value[i]) });
  for (const [flow, rows] of ofFlow) {
    const of = new Map();
    for (const i of rows) {
      const name = what(i);
      if (E.packet[i] < 0 && E.value[i] !== null && name !== "timeout") of.set(name, (of.get(name) || []).concat(i));
    }
    for (const [name, own] of of) {
      const group = name === "window" || name === "rate" ? PLAIN : name;
      tracks.push({ group, label: `${name} of flow ${flow}`, unit: unitOf(name), flow, ...line(own) });
    }
  }
  // Short queues would only fill the picture.
  const busiest = [...ports.values()].filter((p) => p.most > fullest / 10).sort((x, y) => y.most - x.most).slice(0, 4);
  for (const port of busiest) tracks.push({ group: PLAIN, label: `queue of ${portName(port)}`, unit: bytes, port, t: port.t, v: port.v });
  for (const port of ports.values()) {
    if (port.custody.t.length) tracks.push({ group: CUSTODY, label: `custody at ${portName(port)}`, unit: bytes, port, ...port.custody });
  }
  {
    // What schemes note of packets with a number that is no size, such as a rate that is stamped: a line for each port.
    const of = new Map();
    for (const i of notes) {
      const e = E.event.of[i];
      if (e === MARKED || e === STORED || e === FETCHED || E.value[i] === null || E.peer[i] < 0 || E.packet[i] < 0) continue;
      const key = `${what(i)} at ${portName({ a: E.node[i], b: E.peer[i] })}`;
      if (!of.has(key)) of.set(key, []);
      of.get(key).push(i);
    }
    const found = [];
    for (const [label, rows] of of) {
      const port = ports.get(E.node[rows[0]] + ">" + E.peer[rows[0]]) || { a: E.node[rows[0]], b: E.peer[rows[0]] };
      found.push({ group: what(rows[0]), label, unit: unitOf(what(rows[0])), port, ...line(rows) });
    }
    // Three of a kind, those with the least: what is stamped is least where it is tight.
    const least = (track) => track.v.reduce((a, b) => Math.min(a, b), Infinity), kinds = new Map();
    for (const track of found.sort((x, y) => least(x) - least(y))) {
      const seen = kinds.get(track.group) || 0;
      kinds.set(track.group, seen + 1);
      if (seen < 3) tracks.push(track);
    }
  }
  // Each line of the first group has a scale of its own; the lines of another group have one together.
  const scales = new Map();
  for (const track of tracks) {
    track.most = track.v.reduce((a, b) => Math.max(a, b), Number.MIN_VALUE);
    const key = track.group === PLAIN ? track : track.group;
    scales.set(key, Math.max(scales.get(key) || 0, track.most));
    track.scale = () => scales.get(key);
  }
  const groups = [...new Set([PLAIN, ...tracks.map((track) => track.group)])];

  // --- Words --------------------------------------------------------------------------------------
  function portName(port) { return `${nodes[port.a].name}>${nodes[port.b].name}`; }
  function digits(x) { return x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(2); }
  function scaled(x, steps) {
    const step = steps.find(([size]) => Math.abs(x) >= size) || steps[steps.length - 1];
    return `${digits(x / step[0])} ${step[1]}`;
  }
  function bytes(x) { return scaled(x, [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]]); }
  function bits(x) { return scaled(x, [[1e9, "Gbps"], [1e6, "Mbps"], [1e3, "kbps"], [1, "bps"]]); }
  function span(x) { return x === 0 ? "0" : scaled(x, [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]]); }
  const opened = new Map(); // the number of a flow's SYN, where it was recorded
  for (let i = n - 1; i >= 0; i--) if (E.packet[i] >= 0 && kind(i) === "SYN") opened.set(E.flow[i], E.number[i]);
  function counted(i) {
    const head = { data: "from byte", ACK: "for byte", FIN: "at byte" }[kind(i)];
    if (!head || !opened.has(E.flow[i])) return `number ${E.number[i]}`;
    return `${head} ${((E.number[i] - opened.get(E.flow[i]) - 1) >>> 0).toLocaleString("en")}`;
  }
  const moment = (t) => `${(data.first + t).toFixed(9)} s`;
  function place(i) { return E.peer[i] < 0 ? nodes[E.node[i]].name : `${nodes[E.node[i]].name}>${nodes[E.peer[i]].name}`; }
  function detail(i) {
    const v = E.value[i], e = what(i), parts = [];
    if (why(i)) parts.push(why(i));
    if (v !== null) {
      parts.push(e === "queued" ? `${bytes(v)} wait` : e === "left" ? (v > 0 ? `waited ${span(v)}` : "at once") : e === "RTT" ? span(v)
        : e === "window" ? bytes(v) : e === "rate" ? bits(v) : String(+v.toPrecision(4)));
    }
    return parts.join("; ");
  }

  // --- State --------------------------------------------------------------------------------------
  let now = 0, playing = false, speed = -2, chosen = null, only = -1, colour = "flow", group = PLAIN, row = 0;
  const reduced = matchMedia("(prefers-color-scheme: dark)");
  let css = {};
  const readColours = () => {
    const style = getComputedStyle(document.documentElement);
    for (const name of ["card", "ink", "muted", "line", "faint", "accent", "wire", "node", "queue", "store", "lost"])
      css[name] = style.getPropertyValue("--" + name).trim();
    css.flows = reduced.matches ? ["#4FB0EA", "#FF8A3D", "#2CCB9E", "#E394C0", "#F2B632", "#8FD0F7"]
      : ["#0072B2", "#D55E00", "#009E73", "#B8568F", "#C98500", "#3F97CF"];
  };
  readColours();
  reduced.addEventListener("change", () => { readColours(); dirty = true; });
  const flowColour = (f) => (f < 0 ? css.muted : css.flows[f % css.flows.length]);
  const KINDS = ["data", "ACK", "Interest", "Data", "Nack", "SYN"];
  function packetColour(f) {
    if (colour === "flow") return flowColour(E.flow[f.row]);
    if (f.again) return css.lost;
    if (f.marked) return css.queue;
    const k = KINDS.indexOf(kind(f.row));
    return k < 0 ? css.muted : css.flows[k % css.flows.length];
  }
  const shown = (i) => only < 0 || E.flow[i] === only;

  // --- Two pens: a canvas, and SVG ----------------------------------------------------------------
  class Pen {
    constructor(context) { this.c = context; }
    line(x0, y0, x1, y1, stroke, width) {
      const c = this.c;
      c.strokeStyle = stroke; c.lineWidth = width; c.beginPath(); c.moveTo(x0, y0); c.lineTo(x1, y1); c.stroke();
    }
    circle(x, y, r, fill, stroke) {
      const c = this.c;
      c.beginPath(); c.arc(x, y, r, 0, 2 * Math.PI); c.fillStyle = fill; c.fill();
      if (stroke) { c.strokeStyle = stroke; c.lineWidth = 2; c.stroke(); }
    }
    /** A line through points, [x0, y0, x1, y1, ...]. */
    path(points, stroke, width, dash) {
      const c = this.c;
      c.strokeStyle = stroke; c.lineWidth = width; c.setLineDash(dash); c.beginPath();
      for (let i = 0; i < points.length; i += 2) c.lineTo(points[i], points[i + 1]);
      c.stroke(); c.setLineDash([]);
    }
    clip(x, y, w, h) {
      const c = this.c;
      c.save(); c.beginPath(); c.rect(x, y, w, h); c.clip();
    }
    unclip() { this.c.restore(); }
    text(x, y, words, fill, anchor = "middle", size = 12) {
      const c = this.c;
      c.font = `${size}px system-ui, sans-serif`; c.textAlign = anchor === "middle" ? "center" : anchor;
      c.fillStyle = fill; c.fillText(words, x, y);
    }
  }
  const escaped = (s) => String(s).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  class SvgPen {
    constructor(width) { this.parts = []; this.width = width; this.height = 0; }
    /** What is drawn from here on stands below what there is; the height that it has. */
    below(height) {
      if (this.height) this.parts.push("</g>");
      this.parts.push(`<g transform="translate(0 ${this.height})">`);
      this.height += height;
      return height;
    }
    path(points, stroke, width, dash) {
      const at = [];
      for (let i = 0; i < points.length; i += 2) at.push(`${+points[i].toFixed(1)} ${+points[i + 1].toFixed(1)}`);
      this.parts.push(`<path d="M${at.join("L")}" fill="none" stroke="${stroke}" stroke-width="${width}"${dash.length ? ` stroke-dasharray="${dash}"` : ""}/>`);
    }
    clip(x, y, w, h) {
      this.parts.push(`<svg x="${x}" y="${y}" width="${w}" height="${h}" viewBox="${x} ${y} ${w} ${h}">`);
    }
    unclip() { this.parts.push("</svg>"); }
    line(x0, y0, x1, y1, stroke, width) {
      this.parts.push(`<line x1="${x0.toFixed(1)}" y1="${y0.toFixed(1)}" x2="${x1.toFixed(1)}" y2="${y1.toFixed(1)}" stroke="${stroke}" stroke-width="${width}"/>`);
    }
    circle(x, y, r, fill, stroke) {
      this.parts.push(`<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}" fill="${fill}"${stroke ? ` stroke="${stroke}" stroke-width="2"` : ""}/>`);
    }
    text(x, y, words, fill, anchor = "middle", size = 12) {
      const at = anchor === "left" ? "start" : anchor === "right" ? "end" : "middle";
      this.parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${fill}" text-anchor="${at}" font-size="${size}" font-family="sans-serif">${escaped(words)}</text>`);
    }
    file() {
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}">`
        + `<rect width="100%" height="100%" fill="${css.card}"/>${this.parts.join("")}${this.height ? "</g>" : ""}</svg>`;
    }
  }

  // --- The map ------------------------------------------------------------------------------------
  const map = $("map"), lines = $("lines"), sequence = $("sequence");
  let places = [], hits = [];
  function fit(canvas) {
    const box = canvas.getBoundingClientRect(), scale = devicePixelRatio || 1;
    if (canvas.width !== Math.round(box.width * scale) || canvas.height !== Math.round(box.height * scale)) {
      canvas.width = Math.round(box.width * scale); canvas.height = Math.round(box.height * scale);
    }
    const context = canvas.getContext("2d");
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, box.width, box.height);
    return [context, box.width, box.height];
  }
  const rates = links.map((l) => l.rate);
  const [slowest, quickest] = [Math.min(...rates), Math.max(...rates)];
  const width = (rate) => (quickest > slowest ? 1.5 + (5 * Math.log(rate / slowest)) / Math.log(quickest / slowest) : 3);
  function placeNodes(w, h) {
    const xs = nodes.map((p) => p.x), ys = nodes.map((p) => p.y);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const margin = Math.min(60, w / 8), top = 34;
    const scale = (v, a, b, from, to) => (b > a ? from + ((v - a) / (b - a)) * (to - from) : (from + to) / 2);
    places = nodes.map((p) => [scale(p.x, x0, x1, margin, w - margin), scale(p.y, y0, y1, h - top, top)]);
  }
  function between(a, b, share) {
    const [p, q] = [places[a], places[b]], d = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1;
    // Each direction on its own side of the link.
    const [ox, oy] = [(-(q[1] - p[1]) / d) * 5, ((q[0] - p[0]) / d) * 5];
    return [p[0] + (q[0] - p[0]) * share + ox, p[1] + (q[1] - p[1]) * share + oy];
  }
  function drawMap(pen, w, h, t) {
    placeNodes(w, h);
    hits = [];
    for (const link of links) {
      const [p, q] = [places[link.a], places[link.b]];
      pen.line(p[0], p[1], q[0], q[1], css.wire, width(link.rate));
    }
    for (const port of ports.values()) {
      const stored = level(port.custody, t), waits = Math.max(level(port, t), stored), [p, q] = [places[port.a], places[port.b]];
      const d = Math.hypot(q[0] - p[0], q[1] - p[1]) || 1, from = Math.min(18, d / 4);
      const [x, y] = between(port.a, port.b, from / d);
      hits.push({ x, y, port });
      if (waits <= 0) continue;
      const size = 4 + 46 * (waits / fullest), [ux, uy] = [-(q[1] - p[1]) / d, (q[0] - p[0]) / d];
      pen.line(x, y, x + ux * size, y + uy * size, css.queue, 9);
      if (stored > 0) pen.line(x, y, x + (ux * size * stored) / waits, y + (uy * size * stored) / waits, css.store, 9);
      pen.text(x + ux * (size + 12), y + uy * (size + 12) + 4, bytes(waits), css.muted, "middle", 11);
    }
    let moving = 0;
    const last = before(starts, t);
    for (let i = last - 1; i >= 0 && latest[i] > t; i--) {
      const f = flights[i];
      if (f.t1 <= t || !shown(f.row)) continue;
      const [x, y] = between(f.a, f.b, f.t1 > f.t0 ? (t - f.t0) / (f.t1 - f.t0) : 1);
      const mine = chosen && chosen.packet === E.packet[f.row];
      pen.circle(x, y, E.size[f.row] > 200 ? 4.5 : 2.6, packetColour(f), mine ? css.ink : f.again ? css.lost : f.marked ? css.queue : null);
      hits.push({ x, y, packet: E.packet[f.row] });
      moving++;
    }
    // What is dropped falls for as long as half a second of the screen.
    const fall = 0.5 * 10 ** speed, lastDrop = before(dropTimes, t);
    for (let i = lastDrop - 1; i >= 0 && t - T[drops[i]] < fall; i--) {
      const r = drops[i];
      if (!shown(r)) continue;
      const share = (t - T[r]) / fall, [x, y] = E.peer[r] < 0 ? places[E.node[r]] : between(E.node[r], E.peer[r], 0.08);
      const [cx, cy] = [x, y + 10 + share * 50];
      pen.line(cx - 4, cy - 4, cx + 4, cy + 4, css.lost, 2);
      pen.line(cx - 4, cy + 4, cx + 4, cy - 4, css.lost, 2);
      if (i > lastDrop - 4) pen.text(cx + 9, cy + 4, why(r), css.lost, "left", 11);
      hits.push({ x: cx, y: cy, packet: E.packet[r] });
    }
    // What was noted last at each node, for as long.
    const noted = new Set();
    for (let i = before(noteTimes, t) - 1; i >= 0 && t - T[notes[i]] < fall && noted.size < 12; i--) {
      const r = notes[i], [x, y] = places[E.node[r]];
      if (!shown(r) || noted.has(E.node[r]) || E.event.of[r] === STORED || E.event.of[r] === FETCHED) continue;
      noted.add(E.node[r]);
      pen.text(x, y + 24, what(r), css.queue, "middle", 11);
    }
    nodes.forEach((node, i) => {
      const [x, y] = places[i];
      pen.circle(x, y, node.host ? 5 : 8, css.node, chosen && chosen.node === i ? css.accent : null);
      if (nodes.length <= 60) pen.text(x, y - 13, node.name, css.ink);
      hits.push({ x, y, node: i });
    });
    return moving;
  }
  const dropTimes = Float64Array.from(drops, (r) => T[r]), noteTimes = Float64Array.from(notes, (r) => T[r]);

  // --- Lines over time ----------------------------------------------------------------------------
  let backdrop = null; // what does not move, drawn once
  const DASHES = [[1, 1], [4, 2], [2, 4], [8, 4]];
  const tracksShown = () => tracks.filter((track) => track.group === group && (only < 0 || track.flow === undefined || track.flow === only));
  function look(track, i) {
    if (track.flow !== undefined && only < 0) return [flowColour(track.flow), 1.6, []];
    if (group === PLAIN && track.port) return [css.muted, 1, DASHES[busiest.indexOf(track.port)]];
    return [css.flows[i % css.flows.length], 1.6, []];
  }
  function drawTracks(pen, w, h) {
    tracksShown().forEach((track, place) => {
      const points = [], scale = track.scale(), y = (v) => h - 6 - (v / scale) * (h - 16);
      let column = -1, low = 0, high = 0;
      // Of what falls on one column of pixels only the extremes show.
      const flush = (next, last) => points.push(column, low, column, high, column, last, next, last);
      for (let i = 0; i < track.t.length; i++) {
        const x = Math.floor((track.t[i] / end) * w), v = y(track.v[i]);
        if (x !== column) {
          if (column >= 0) flush(x, y(track.v[i - 1]));
          column = x; low = high = v;
        } else { low = Math.min(low, v); high = Math.max(high, v); }
      }
      flush(w, y(track.v[track.v.length - 1]));
      pen.path(points, ...look(track, place));
    });
    let last = -1;
    for (const r of drops) {
      const x = Math.floor((T[r] / end) * w);
      if (!shown(r) || x === last) continue;
      pen.line((last = x), 0, x, 7, css.lost, 1);
    }
  }
  const labelOf = (track) => `${track.label}, up to ${track.unit(track.most)}`;
  function drawLines() {
    const [c, w, h] = fit(lines);
    if (!lines.width || !lines.height) return; // a frame that has no size yet
    const key = `${w}x${h}:${only}:${group}:${css.ink}`;
    if (!backdrop || backdrop.key !== key) {
      const canvas = document.createElement("canvas"), scale = devicePixelRatio || 1;
      canvas.width = lines.width; canvas.height = lines.height;
      const b = canvas.getContext("2d");
      b.setTransform(scale, 0, 0, scale, 0, 0);
      drawTracks(new Pen(b), w, h);
      $("keys").replaceChildren(...tracksShown().map((track, place) => {
        const item = document.createElement("span"), sample = document.createElement("i"), [ink, , dash] = look(track, place);
        sample.style.borderColor = ink;
        if (dash.length) sample.className = "dashed";
        item.append(sample, labelOf(track));
        return item;
      }));
      backdrop = { key, canvas };
    }
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.drawImage(backdrop.canvas, 0, 0);
    const scale = devicePixelRatio || 1;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    drawNow(new Pen(c), w, h);
  }
  const drawNow = (pen, w, h) => pen.line((now / end) * w, 0, (now / end) * w, h, css.accent, 1.5);

  // --- Applications: a bar for each request, page, view, iteration and slow datagram, by what it waited for
  const PARTS = ["network", "computation", "server", "blocked", "queue"], LANE = 14, LANES = 12;
  const board = $("applications");
  {
    const free = []; // when each lane is free
    for (const one of applications) {
      one.from = one.pieces[0].from; one.until = one.pieces[one.pieces.length - 1].until;
      one.lane = free.findIndex((until) => until <= one.from);
      if (one.lane < 0) one.lane = free.length;
      free[one.lane] = one.until;
    }
    applications.lanes = Math.min(free.length, LANES);
    board.hidden = !free.length;
    board.style.height = `${LANE * applications.lanes + 6}px`;
  }
  const partColour = (part) => [css.flows[0], css.flows[2], css.flows[4], css.wire, css.flows[1]][part];
  /** What each one that is under way waits for. */
  function waits(t) {
    const found = [];
    for (const one of applications) {
      const piece = one.from <= t && t < one.until && one.pieces.find((p) => p.from <= t && t < p.until);
      if (piece) found.push({ one, piece });
    }
    return found;
  }
  const waitText = ({ one, piece }) => `${one.name}: ${piece.for}, ${PARTS[piece.part]}${piece.part ? "" : ` (flow ${piece.flow})`}`;
  function drawApplications(pen, w, h) {
    pen.clip(0, 0, w, h);
    for (const one of applications) {
      if (one.lane >= LANES) continue;
      const y = LANE * one.lane + LANE / 2 + 2;
      for (const piece of one.pieces) {
        const [x0, x1] = [(piece.from / end) * w, (piece.until / end) * w];
        if (x1 > 0 && x0 < w) pen.path([x0, y, Math.max(x1, x0 + 0.5), y], partColour(piece.part), piece.part ? 4 : 9, []);
      }
    }
    pen.unclip();
  }
  function drawBoard() {
    if (board.hidden) return;
    const [c, w, h] = fit(board), pen = new Pen(c);
    drawApplications(pen, w, h);
    drawNow(pen, w, h);
    $("waits").replaceChildren(...waits(now).slice(0, 8).map((found) => {
      const item = document.createElement("span"), sample = document.createElement("i");
      sample.style.borderColor = partColour(found.piece.part);
      item.append(sample, waitText(found));
      return item;
    }));
  }
  board.addEventListener("click", (event) => {
    const box = board.getBoundingClientRect(), t = ((event.clientX - box.left) / box.width) * end;
    const lane = Math.floor((event.clientY - box.top - 2) / LANE);
    playing = false;
    seek(t);
    const found = waits(now).find(({ one }) => one.lane === lane);
    if (found && ofFlow.has(found.piece.flow)) setFlow(found.piece.flow);
  });

  // --- What is chosen -----------------------------------------------------------------------------
  const MOST_ROWS = 400;
  function rowsChosen() {
    if (!chosen) return null;
    if (chosen.packet !== undefined) return ofPacket.get(chosen.packet) || [];
    if (chosen.flow !== undefined) return ofFlow.get(chosen.flow) || [];
    return chosen.rows;
  }
  function choose(what) {
    chosen = what;
    if (chosen && chosen.port) chosen.rows = [...Array(n).keys()].filter((i) => E.node[i] === chosen.port.a && E.peer[i] === chosen.port.b);
    if (chosen && chosen.node !== undefined) chosen.rows = [...Array(n).keys()].filter((i) => E.node[i] === chosen.node);
    $("chosen").hidden = !chosen;
    table = null;
    dirty = true;
  }
  let table = null;
  function drawChosen() {
    sequence.hidden = !(chosen && chosen.flow !== undefined);
    if (!chosen) return;
    const rows = rowsChosen();
    const at = rows.length ? Math.max(0, lastRow(rows)) : 0;
    const from = Math.max(0, Math.min(at - MOST_ROWS / 2, rows.length - MOST_ROWS));
    const key = `${from}:${rows.length}:${at}`;
    if (table === key) return;
    table = key;
    $("about").textContent = title(rows);
    const body = $("life").tBodies[0];
    const list = rows.slice(from, from + MOST_ROWS).map((i, j) => {
      const line = document.createElement("tr");
      const since = j + from ? T[i] - T[rows[from + j - 1]] : 0;
      for (const words of [moment(T[i]), `+${span(since)}`, place(i), what(i), E.packet[i] < 0 ? "" : `${kind(i)} ${E.packet[i]}`, detail(i)]) {
        const cell = document.createElement("td");
        cell.textContent = words;
        line.append(cell);
      }
      if (i === rows[at]) line.className = "now";
      line.addEventListener("click", () => {
        seek(T[i]);
        if (E.packet[i] >= 0 && chosen.packet === undefined) choose({ packet: E.packet[i] });
      });
      return line;
    });
    body.replaceChildren(...list);
    const box = $("life").parentElement, mine = list[at - from];
    if (mine) box.scrollTop = mine.offsetTop - box.clientHeight / 2;
    if (chosen.flow !== undefined) {
      const [c, w, h] = fit(sequence);
      drawSequence(new Pen(c), w, h);
    }
  }
  function title(rows) {
    if (chosen.packet !== undefined && rows.length) {
      const i = rows[0];
      return `Packet ${chosen.packet}: ${kind(i)}${E.flow[i] < 0 ? "" : ` of flow ${E.flow[i]}`}, ${counted(i)}, ${E.size[i]} B`;
    }
    if (chosen.flow !== undefined) return `Flow ${chosen.flow}: a column for each node of its path, time downwards`;
    if (chosen.port) return `Port ${portName(chosen.port)}: ${bytes(level(chosen.port, now))} wait, ${bytes(chosen.port.most)} at most`;
    return `Node ${nodes[chosen.node].name}`;
  }
  /** The place among rows of the last one up to now. */
  function lastRow(rows) {
    let low = 0, high = rows.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (rows[mid] <= row && T[rows[mid]] <= now) low = mid + 1;
      else high = mid;
    }
    return low - 1;
  }
  function drawSequence(pen, w, h) {
    const flow = chosen.flow;
    const own = flights.filter((f) => E.flow[f.row] === flow);
    if (!own.length) return;
    const columns = [];
    const ends = flows.find((f) => f.flow === flow);
    const src = ends ? nodes.findIndex((p) => p.name === ends.src) : own[0].a;
    // The nodes of its path in the order in which its packets come to them, from the source on.
    const queue = [src], next = new Map();
    own.forEach((f) => next.set(f.a, (next.get(f.a) || new Set()).add(f.b)));
    while (queue.length) {
      const a = queue.shift();
      if (columns.includes(a)) continue;
      columns.push(a);
      queue.push(...(next.get(a) || []));
    }
    const x = (node) => 60 + (columns.indexOf(node) / Math.max(1, columns.length - 1)) * (w - 120);
    const trips = own.map((f) => f.t1 - f.t0).sort((a, b) => a - b);
    // The speed is the diagram's zoom, too.
    const tall = Math.max(trips[trips.length >> 1] * columns.length * 4 * 10 ** (speed + 2), 1e-9);
    const t0 = now - tall * 0.5, y = (t) => 26 + ((t - t0) / tall) * (h - 32);
    for (const node of columns) {
      pen.line(x(node), 22, x(node), h, css.wire, 1);
      pen.text(x(node), 14, nodes[node].name, css.ink);
    }
    pen.clip(0, 20, w, h - 20);
    const begin = before(Float64Array.from(own, (f) => f.t0), t0 - tall);
    for (let i = begin; i < own.length && own[i].t0 < t0 + tall; i++) {
      const f = own[i];
      if (f.t1 < t0) continue;
      if (f.waited < f.t0) pen.line(x(f.a), y(f.waited), x(f.a), y(f.t0), css.queue, 2.5);
      pen.line(x(f.a), y(f.t0), x(f.b), y(f.t1), f.again ? css.lost : packetColour(f), E.size[f.row] > 200 ? 1.6 : 0.8);
    }
    for (const r of drops) {
      if (E.flow[r] !== flow || T[r] < t0 || T[r] > t0 + tall) continue;
      pen.text(x(E.node[r]), y(T[r]) + 4, "×", css.lost, "middle", 18);
      pen.text(x(E.node[r]) + 10, y(T[r]) + 4, why(r), css.lost, "left", 11);
    }
    for (let i = before(noteTimes, t0); i < notes.length && T[notes[i]] < t0 + tall; i++) {
      const r = notes[i];
      if (E.flow[r] !== flow || !columns.includes(E.node[r])) continue;
      pen.circle(x(E.node[r]), y(T[r]), 3, css.queue);
      pen.text(x(E.node[r]) + 8, y(T[r]) + 4, what(r), css.queue, "left", 11);
    }
    pen.unclip();
    pen.line(30, y(now), w - 30, y(now), css.accent, 1);
    pen.text(4, y(now) - 4, span(tall), css.muted, "left", 11);
  }

  // --- Time ---------------------------------------------------------------------------------------
  let dirty = true, clock = 0;
  const frames = { drawn: 0, worst: 0 };
  function seek(t) {
    now = Math.min(Math.max(t, 0), end);
    row = Math.max(0, before(T, now) - 1);
    dirty = true;
  }
  function step(way) {
    const rows = rowsChosen() || (only < 0 ? null : ofFlow.get(only));
    let to;
    if (!rows) to = row + way;
    else {
      const at = lastRow(rows);
      to = rows[way > 0 ? at + 1 : rows[at] === row ? at - 1 : at];
    }
    playing = false;
    if (to === undefined || to < 0 || to >= n) return;
    now = T[to];
    row = to;
    dirty = true;
  }
  function draw() {
    const began = performance.now();
    const [c, w, h] = fit(map);
    const moving = drawMap(new Pen(c), w, h, now);
    drawLines();
    drawBoard();
    drawChosen();
    $("now").textContent = moment(now);
    $("last").textContent = n ? `${place(row)}: ${what(row)}${E.packet[row] < 0 ? "" : ` ${kind(row)} ${E.packet[row]}`}${detail(row) ? ` (${detail(row)})` : ""}` : "nothing was recorded";
    $("time").value = String(Math.round((now / end) * 100000));
    $("play").textContent = playing ? "Stop" : "Play";
    const s = 10 ** speed;
    $("speedtext").textContent = s >= 0.1 ? `× ${digits(s)}` : `1 : ${Math.round(1 / s).toLocaleString("en")}`;
    tell();
    frames.drawn++;
    frames.worst = Math.max(frames.worst, performance.now() - began);
    Object.assign(document.documentElement.dataset, { frames: frames.drawn, worst: frames.worst.toFixed(2), moving, now: now.toFixed(12),
      row, chosen: chosen ? JSON.stringify({ packet: chosen.packet, flow: chosen.flow, node: chosen.node, port: chosen.port && chosen.port.key }) : "" });
  }
  function frame(at) {
    if (playing) {
      seek(now + (Math.min(at - clock, 100) / 1000) * 10 ** speed);
      if (now >= end) {
        playing = false;
        shared = told(); // its record ends here; the other one may go on
      }
      dirty = true;
    }
    clock = at;
    if (dirty) { dirty = false; draw(); }
    requestAnimationFrame(frame);
  }

  // --- Another replay beside this one: both are at the same time of their runs ---
  const beside = parent !== window;
  let shared = "";
  const state = () => ({ time: data.first + now, speed, playing });
  const told = () => JSON.stringify({ ...state(), time: playing ? 0 : now });
  function tell() {
    if (!beside || told() === shared) return;
    shared = told();
    parent.postMessage({ midpath: state() }, "*");
  }
  /** Does as the other one does. Its time may be outside this record. */
  function follow({ time, speed: pace, playing: goes }) {
    setSpeed(pace);
    seek(time - data.first);
    playing = goes && now < end;
    shared = told();
    dirty = true;
  }
  addEventListener("message", (event) => { if (event.source === parent && beside && event.data.midpath) follow(event.data.midpath); });

  // --- What people do -----------------------------------------------------------------------------
  const toggle = () => { if (now >= end) seek(0); playing = !playing; dirty = true; };
  const setSpeed = (s) => { speed = Math.min(0, Math.max(-6, s)); $("speed").value = String(speed); dirty = true; };
  $("play").addEventListener("click", toggle);
  $("back").addEventListener("click", () => step(-1));
  $("step").addEventListener("click", () => step(1));
  $("speed").addEventListener("input", () => setSpeed(Number($("speed").value)));
  $("time").addEventListener("input", () => { playing = false; seek((Number($("time").value) / 100000) * end); });
  const setLines = (name) => { if (groups.includes(name)) { group = name; $("group").value = name; dirty = true; } };
  for (const name of groups) $("group").append(new Option(name, name));
  $("group").addEventListener("change", () => setLines($("group").value));
  $("colour").addEventListener("change", () => { colour = $("colour").value; dirty = true; });
  for (const f of flows) {
    const option = document.createElement("option");
    option.value = String(f.flow);
    option.textContent = `${f.flow}: ${f.src} to ${f.dst}`;
    $("flow").append(option);
  }
  const setFlow = (f) => { only = f; $("flow").value = String(f); choose(f < 0 ? null : { flow: f }); };
  $("flow").addEventListener("change", () => setFlow(Number($("flow").value)));
  $("clear").addEventListener("click", () => choose(null));
  map.addEventListener("click", (event) => {
    const box = map.getBoundingClientRect(), [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null, near = 14;
    for (const hit of hits) {
      const d = Math.hypot(hit.x - x, hit.y - y) + (hit.packet === undefined ? 3 : 0);
      if (d < near) { near = d; best = hit; }
    }
    choose(best && (best.packet !== undefined ? { packet: best.packet } : best.port ? { port: best.port } : { node: best.node }));
  });
  lines.addEventListener("click", (event) => {
    const box = lines.getBoundingClientRect();
    seek(((event.clientX - box.left) / box.width) * end);
  });
  /** The map at this moment, the lines with their names, and a chosen flow's diagram, as SVG. */
  function still() {
    const box = map.getBoundingClientRect(), w = Math.round(box.width), pen = new SvgPen(w);
    drawMap(pen, w, pen.below(Math.round(box.height)), now);
    const own = tracksShown();
    if (own.length) {
      pen.below(28);
      pen.text(8, 20, moment(now), css.ink, "left", 13);
      const tall = pen.below(150);
      drawTracks(pen, w, tall);
      drawNow(pen, w, tall);
      own.forEach((track, place) => {
        const [ink, width, dash] = look(track, place), y = pen.below(18) / 2;
        pen.path([8, y, 34, y], ink, width, dash);
        pen.text(42, y + 4, labelOf(track), css.muted, "left");
      });
    }
    if (applications.lanes) {
      pen.below(8);
      const tall = pen.below(LANE * applications.lanes + 6);
      drawApplications(pen, w, tall);
      drawNow(pen, w, tall);
      for (const found of waits(now)) {
        const y = pen.below(18) / 2;
        pen.path([8, y, 34, y], partColour(found.piece.part), 3, []);
        pen.text(42, y + 4, waitText(found), css.muted, "left");
      }
    }
    if (chosen && chosen.flow !== undefined) {
      pen.below(16);
      drawSequence(pen, w, pen.below(460));
    }
    dirty = true;
    return pen.file();
  }
  $("still").addEventListener("click", () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([still()], { type: "image/svg+xml" }));
    link.download = `replay-${(data.first + now).toFixed(6)}s.svg`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(SELECT|INPUT)$/.test(event.target.tagName)) return;
    const keys = {
      " ": toggle, ArrowRight: () => step(1), ArrowLeft: () => step(-1), "+": () => setSpeed(speed + 0.25), "-": () => setSpeed(speed - 0.25),
      Home: () => seek(0), End: () => seek(end), Escape: () => setFlow(-1),
    };
    // A button takes the space bar itself.
    if (!keys[event.key] || (event.key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    keys[event.key]();
  });
  addEventListener("resize", () => { backdrop = null; dirty = true; });

  // What the address says after #: t (seconds of the run), packet, flow, lines, speed (a power of ten), play.
  function ask(address) {
    const asked = new URLSearchParams(address);
    if (asked.has("speed")) setSpeed(Number(asked.get("speed")));
    if (asked.has("t")) seek(Number(asked.get("t")) - data.first);
    if (asked.has("flow")) setFlow(Number(asked.get("flow")));
    if (asked.has("packet")) choose({ packet: Number(asked.get("packet")) });
    if (asked.has("lines")) setLines(asked.get("lines"));
    if (asked.has("play")) playing = true;
  }
  ask(location.hash.slice(1));
  shared = told(); // what it begins with is no wish of anyone
  globalThis.replay = { ask, seek, step, still, choose, setFlow, setLines, setSpeed, toggle, draw, frames };
  draw();
  document.documentElement.dataset.drawn = "1";
  requestAnimationFrame((at) => { clock = at; frame(at); });
})();
