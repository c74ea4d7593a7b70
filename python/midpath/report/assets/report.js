"use strict";
// Draws the figures that Python describes. Python knows data; this file knows looks: fonts, grid, colours of schemes in
// the light and in the dark, and which schemes the reader has switched off.

const { figures, looks, tints } = JSON.parse(document.getElementById("report-data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const hidden = new Set();
const chosen = {};
// Below these a figure has no room for panels side by side, or for names in the usual size.
const PANEL = 200, NARROW = 520;
// Tables get this much smaller on paper before their cells break into lines.
const SMALLEST = 0.75;
// Of a curve of many points so many have a marker: enough to know it by.
const MARKERS = 8;
// Plotly's markers as paths around the origin, for legends.
const POLYGONS = {
  square: "-4,-4 4,-4 4,4 -4,4", diamond: "0,-5.5 5.5,0 0,5.5 -5.5,0", "triangle-up": "0,-5 5,4 -5,4",
  "triangle-down": "0,5 5,-4 -5,-4", "triangle-left": "-5,0 4,-5 4,5", "triangle-right": "5,0 -4,-5 -4,5",
  cross: "-2,-5 2,-5 2,-2 5,-2 5,2 2,2 2,5 -2,5 -2,2 -5,2 -5,-2 -2,-2",
  x: "-5,-2.5 -2.5,-5 0,-2.5 2.5,-5 5,-2.5 2.5,0 5,2.5 2.5,5 0,2.5 -2.5,5 -5,2.5 -2.5,0",
  star: "0,-6 1.5,-2 5.7,-1.9 2.4,.8 3.5,4.9 0,2.5 -3.5,4.9 -2.4,.8 -5.7,-1.9 -1.5,-2",
  pentagon: "0,-5 4.8,-1.5 3,4 -3,4 -4.8,-1.5",
};
let paper = false;

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const themed = (look) => look[dark.matches && !paper ? "dark" : "light"];

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function ramp(share) {
  const stops = [0, 1, 2, 3, 4].map((step) => channels(token("--ramp-" + step)));
  const at = Math.min(Math.floor(share * 4), 3);
  const mixed = stops[at].map((low, i) => Math.round(low + (stops[at + 1][i] - low) * (share * 4 - at)));
  return "rgb(" + mixed.join(",") + ")";
}

// Python says where points are hollow, the scheme's look says their shape.
function shaped(symbol, shape) {
  return Array.isArray(symbol) ? symbol.map((one) => shaped(one, shape)) : (symbol ?? "circle").replace("circle", shape);
}

// A line of a look: its colour, its dash and its marker.
function lined(painted, trace, look) {
  const color = themed(look);
  painted.line = { width: 2.25, dash: look.dash, ...trace.line, color };
  const given = trace.marker ?? { size: 7, maxdisplayed: MARKERS };
  painted.marker = { ...given, symbol: shaped(given.symbol, look.shape), color, line: { color, width: 1.5 } };
  if (!trace.marker) painted.mode = "lines+markers";
  // A point at zero is a whole point.
  painted.cliponaxis = !trace.marker;
}

// What stands for a look in a legend.
function sample({ dash, shape }) {
  const dashes = dash === "solid" ? "" : ` stroke-dasharray="${dash.replaceAll("px", "")}"`;
  const point = POLYGONS[shape] ? `<polygon points="${POLYGONS[shape]}"/>` : '<circle r="4"/>';
  return `<svg viewBox="-20 -7 40 14" width="40" height="14" aria-hidden="true"><path d="M-20 0H20"${dashes}/>${point}</svg>`;
}

function paint(trace, narrow) {
  const { scheme, tint, ramp: share, nodes, legend } = trace.meta;
  const painted = { ...trace, showlegend: Boolean(legend) };
  if (scheme !== undefined) {
    painted.visible = !hidden.has(scheme);
    lined(painted, trace, looks[scheme]);
  }
  if (tint !== undefined && tints[tint].shape) {
    lined(painted, trace, tints[tint]);
  } else if (tint !== undefined) {
    painted.line = { ...trace.line, color: themed(tints[tint]) };
    if (trace.fill) painted.fillcolor = "rgba(" + channels(themed(tints[tint])).join(",") + ",.3)";
  }
  if (share !== undefined) painted.line = { ...trace.line, color: ramp(share) };
  if (nodes) {
    painted.marker = { ...trace.marker, color: token("--card"), line: { color: token("--ink"), width: 1.75 }, opacity: 1 };
    const halo = "0 0 3px " + token("--card");
    painted.textfont = { size: narrow ? 11 : 12, color: token("--ink"), shadow: [halo, halo, halo].join(", ") };
  }
  return painted;
}

function axis(given) {
  return {
    gridcolor: token("--line"), zeroline: false, linecolor: token("--line"), tickcolor: token("--line"), automargin: true,
    fixedrange: false, tickfont: { size: 12 }, ...given,
    title: { text: "", standoff: 12, font: { size: 12.5 }, ...given.title },
  };
}

// Panels side by side have axes of their own: xaxis2, yaxis2, …
const axes = (layout) => Object.keys(layout).filter((key) => /^[xy]axis[0-9]+$/.test(key));

// Panels that would be too narrow side by side stand one below the other.
function stacked(layout, width) {
  const panels = (layout.annotations ?? []).filter(({ panel }) => panel !== undefined);
  if (panels.length < 2 || width / panels.length >= PANEL) return layout;
  const [high, gap] = [150, 52];
  const total = panels.length * (high + gap) - gap;
  panels.forEach((heading, index) => {
    const end = index ? String(index + 1) : "";
    const top = 1 - index * (high + gap) / total;
    const [x, y] = [layout["xaxis" + end], layout["yaxis" + end]];
    Object.assign(heading, { x: 0.5, y: top });
    Object.assign(x, { domain: [0, 1], title: index === panels.length - 1 ? x.title : { text: "" } });
    Object.assign(y, { domain: [top - high / total, top], title: layout.yaxis.title, showticklabels: true });
  });
  const { t, b } = layout.margin;
  return { ...layout, height: total + t + b };
}

function dress(layout, narrow) {
  return {
    margin: { l: 56, r: 14, t: 12, b: 48 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: token("--muted") },
    hoverlabel: { bgcolor: token("--card"), bordercolor: token("--line"), font: { color: token("--ink"), size: 13 }, align: "left" },
    hovermode: "closest",
    dragmode: "zoom",
    legend: { orientation: "h", x: 0, y: 1, xanchor: "left", yanchor: "bottom", font: { color: token("--ink") } },
    ...layout,
    // What lies on a line needs a plate to be read.
    annotations: (layout.annotations ?? []).map(({ plate, panel, ...given }) => (
      { font: { color: token("--ink"), size: plate && narrow ? 10.5 : 12.5 }, ...(plate ? { bgcolor: token("--card"), borderpad: 1 } : {}), ...given }
    )),
    shapes: (layout.shapes ?? []).map((given) => ({ ...given, line: { color: token("--muted"), ...given.line } })),
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
    ...Object.fromEntries(axes(layout).map((key) => [key, axis(layout[key])])),
  };
}

function draw(id) {
  const plot = document.getElementById("plot-" + id);
  const choice = chosen[id] ?? Object.keys(figures[id].variants)[0];
  const { data, layout: given } = figures[id].variants[choice];
  const layout = stacked(structuredClone(given), plot.clientWidth);
  const narrow = plot.clientWidth < NARROW;
  plot.dataset.height ??= plot.style.getPropertyValue("--height");
  plot.style.setProperty("--height", layout.height ? layout.height + "px" : plot.dataset.height);
  plot.classList.toggle("stacked", layout.height > 0 && !given.height);
  // Sizes are ours, not Plotly's, which learns of them too late to print. A zoom stays until something else is chosen.
  const size = { width: plot.clientWidth, height: plot.clientHeight, uirevision: "of " + choice };
  const config = { displaylogo: false, displayModeBar: false, doubleClick: "reset" };
  Plotly.react(plot, data.map((trace) => paint(trace, narrow)), { ...dress(layout, narrow), ...size }, config);
  placeNames(plot);
}

const SIDES = ["middle right", "top center", "middle left", "bottom center", "top right", "top left", "bottom right", "bottom left"];
const pen = document.createElement("canvas").getContext("2d");

// A box of this size beside a point, `away` from it.
function beside([x, y], away, [width, height], side) {
  const [above, aside] = side.split(" ");
  const left = { left: x - away - width, right: x + away, center: x - width / 2 }[aside];
  const top = { top: y - away - height, bottom: y + away, middle: y - height / 2 }[above];
  return { left, top, right: left + width, bottom: top + height };
}

function shared(one, other) {
  const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return Math.max(width, 0) * Math.max(height, 0);
}

// Names on a map keep clear of each other, of points, of numbers on links, and of the edge, where Python, which does not
// know how wide the map will be, has not seen to it. A name for which there is no room is said on hovering.
function placeNames(plot) {
  const index = plot.data.findIndex((trace) => trace.meta.nodes);
  if (index < 0 || !plot.data[index].text.some(Boolean)) return;
  const { x, y, text, textposition, textfont, marker } = plot.data[index];
  const { xaxis, yaxis, annotations, width, height } = plot._fullLayout;
  const pixels = (x, y) => [xaxis._offset + xaxis.l2p(x), yaxis._offset + yaxis.l2p(y)];
  const size = (text, font) => {
    pen.font = font + "px " + getComputedStyle(document.body).fontFamily;
    return [pen.measureText(text).width, 1.2 * font];
  };
  const centred = (at, [width, height]) => beside([at[0], at[1]], 0, [width, height], "middle center");
  const fixed = x.map((_, i) => centred(pixels(x[i], y[i]), [marker.size[i] + 2, marker.size[i] + 2]));
  const frame = { left: 0, top: 0, right: width, bottom: height };
  const placed = annotations.map(({ x, y, text, font }) => centred(pixels(x, y), size(text, font.size)));
  const found = text.map((name, i) => {
    if (!name) return [name, textposition[i]];
    const box = size(name, textfont.size);
    const options = [...new Set([textposition[i], ...SIDES])].map((side, rank) => {
      const here = beside(pixels(x[i], y[i]), marker.size[i] / 1.6 + 1, box, side);
      const covered = placed.reduce((sum, other) => sum + shared(here, other), 0);
      const outside = box[0] * box[1] - shared(here, frame);
      const crossed = fixed.reduce((sum, other) => sum + shared(here, other), 0);
      return { side, here, covered, cost: 4 * covered + 10 * outside + 2 * crossed + (rank && 40) };
    });
    const best = options.reduce((one, other) => (other.cost < one.cost ? other : one));
    if (best.covered > 0.05 * box[0] * box[1]) return ["", best.side];
    placed.push(best.here);
    return [name, best.side];
  });
  if (found.some(([name, side], i) => name !== text[i] || side !== textposition[i]))
    Plotly.restyle(plot, { text: [found.map(([name]) => name)], textposition: [found.map(([, side]) => side)] }, [index]);
}

function showTables(id) {
  const choice = chosen[id] ?? Object.keys(figures[id].variants)[0];
  for (const table of document.querySelectorAll("[data-variant=" + id + "]")) table.hidden = table.dataset.choice !== choice;
}

function stand(chip, look) {
  chip.style.setProperty("--scheme", themed(look));
  if (look.shape) chip.firstElementChild.innerHTML = sample(look);
}

// What can be scrolled can be reached by the keyboard, and by nothing where there is nothing to scroll.
function focusable() {
  for (const region of document.querySelectorAll(".scroll, pre")) {
    const scrolls = region.scrollWidth > region.clientWidth + 1 || region.scrollHeight > region.clientHeight + 1;
    region.toggleAttribute("tabindex", scrolls);
    if (scrolls) region.setAttribute("tabindex", "0");
  }
}

function drawAll() {
  for (const chip of document.querySelectorAll("[data-scheme]")) {
    stand(chip, looks[chip.dataset.scheme]);
  }
  for (const chip of document.querySelectorAll("[data-tint]")) stand(chip, tints[chip.dataset.tint]);
  Object.keys(figures).forEach(draw);
  focusable();
}

for (const button of document.querySelectorAll("[data-toggle]")) {
  button.addEventListener("click", () => {
    const scheme = button.dataset.toggle;
    if (!hidden.delete(scheme)) hidden.add(scheme);
    button.setAttribute("aria-pressed", String(!hidden.has(scheme)));
    drawAll();
  });
}
for (const select of document.querySelectorAll("select[data-figure]")) {
  select.addEventListener("change", () => {
    chosen[select.dataset.figure] = select.value;
    draw(select.dataset.figure);
    showTables(select.dataset.figure);
    focusable();
  });
}
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}
dark.addEventListener("change", drawAll);
let width = innerWidth;
addEventListener("resize", () => {
  // A phone's bars come and go: that changes the height alone.
  if (innerWidth === width) return;
  width = innerWidth;
  requestAnimationFrame(drawAll);
});

// Before the browser lays the page out for paper, everything takes the size that it will have there (report.css).
function onPaper(starts) {
  paper = starts;
  document.documentElement.classList.toggle("paper", paper);
  drawAll();
  document.querySelectorAll(".scroll > table").forEach(fit);
}

// On paper no table can be scrolled: one that is too wide gets smaller, after its cells have broken into lines if need be.
function fit(table) {
  const room = () => Math.min(1, table.parentElement.clientWidth / table.offsetWidth);
  table.style.zoom = "";
  table.classList.remove("wrapped");
  if (!paper) return;
  table.classList.toggle("wrapped", room() < SMALLEST);
  table.style.zoom = room();
}
addEventListener("beforeprint", () => onPaper(true));
addEventListener("afterprint", () => onPaper(false));
Object.keys(figures).forEach(showTables);
drawAll();
// For those who wait for it: what the page is drawn from is unpacked after it is loaded.
document.documentElement.dataset.drawn = "";
