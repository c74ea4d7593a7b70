"use strict";
// Draws the figures that Python describes. Python knows data; this file knows looks: fonts, grid, colours of schemes in
// the light and in the dark, and which schemes the reader has switched off.

const { figures, looks, tints } = JSON.parse(document.getElementById("report-data").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const hidden = new Set();
const chosen = {};

const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const themed = (look) => look[dark.matches ? "dark" : "light"];
const colourOf = (scheme) => themed(looks[scheme]);

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function ramp(share) {
  const stops = [0, 1, 2, 3, 4].map((step) => channels(token("--ramp-" + step)));
  const at = Math.min(Math.floor(share * 4), 3);
  const mixed = stops[at].map((low, i) => Math.round(low + (stops[at + 1][i] - low) * (share * 4 - at)));
  return "rgb(" + mixed.join(",") + ")";
}

function paint(trace) {
  const { scheme, tint, ramp: share, nodes, legend } = trace.meta;
  const painted = { ...trace, showlegend: Boolean(legend) };
  if (scheme !== undefined) {
    painted.visible = !hidden.has(scheme);
    painted.line = { width: 2.25, dash: looks[scheme].dash, ...trace.line, color: colourOf(scheme) };
    if (trace.marker) painted.marker = { ...trace.marker, color: colourOf(scheme), line: { color: colourOf(scheme), width: 1.5 } };
  }
  if (tint !== undefined) {
    painted.line = { ...trace.line, color: themed(tints[tint]) };
    if (trace.fill) painted.fillcolor = "rgba(" + channels(themed(tints[tint])).join(",") + ",.3)";
  }
  if (share !== undefined) painted.line = { ...trace.line, color: ramp(share) };
  if (nodes) {
    painted.marker = { ...trace.marker, color: token("--card"), line: { color: token("--ink"), width: 1.75 }, opacity: 1 };
    const halo = "0 0 3px " + token("--card");
    painted.textfont = { size: 12, color: token("--ink"), shadow: [halo, halo, halo].join(", ") };
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

function dress(layout) {
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
    annotations: (layout.annotations ?? []).map(({ plate, ...given }) => (
      { font: { color: token("--ink"), size: 12.5 }, ...(plate ? { bgcolor: token("--card"), borderpad: 1 } : {}), ...given }
    )),
    shapes: (layout.shapes ?? []).map((given) => ({ ...given, line: { color: token("--muted"), ...given.line } })),
    xaxis: axis(layout.xaxis),
    yaxis: axis(layout.yaxis),
    ...Object.fromEntries(axes(layout).map((key) => [key, axis(layout[key])])),
  };
}

function draw(id) {
  const figure = figures[id];
  const state = figure.variants[chosen[id] ?? Object.keys(figure.variants)[0]];
  if (state.layout.height) document.getElementById("plot-" + id).style.setProperty("--height", state.layout.height + "px");
  const config = { responsive: true, displaylogo: false, displayModeBar: false, doubleClick: "reset" };
  Plotly.react("plot-" + id, state.data.map(paint), dress(structuredClone(state.layout)), config);
}

function showTables(id) {
  const choice = chosen[id] ?? Object.keys(figures[id].variants)[0];
  for (const table of document.querySelectorAll("[data-variant=" + id + "]")) table.hidden = table.dataset.choice !== choice;
}

function drawAll() {
  for (const chip of document.querySelectorAll("[data-scheme]")) {
    const look = looks[chip.dataset.scheme];
    chip.style.setProperty("--scheme", colourOf(chip.dataset.scheme));
    chip.firstElementChild.style.borderTopStyle = look.dash === "solid" ? "solid" : look.dash === "dot" ? "dotted" : "dashed";
  }
  for (const chip of document.querySelectorAll("[data-tint]")) chip.style.setProperty("--scheme", themed(tints[chip.dataset.tint]));
  Object.keys(figures).forEach(draw);
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
Object.keys(figures).forEach(showTables);
drawAll();
