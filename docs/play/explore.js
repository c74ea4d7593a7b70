// A figure that is drawn again when one of two sliders moves: each position is a run.
import { range } from "./sliders.js";
import { escape, largest, tracks } from "./tracks.js";
import { fetched, fetchedText } from "./files.js";
import { asLink } from "./links.js";
import { Pool } from "./pool.js";
import { SCENES } from "./scenes.js";
import { name, quantity, scale, use } from "./stats.js";

const $ = (id) => document.getElementById(id);
const BOX = { left: 56, right: 8, top: 10, bottom: 34, width: 720, height: 300 };
const LIMIT_MS = 20_000;
const dark = matchMedia("(prefers-color-scheme: dark)");
const scene = SCENES[location.hash.slice(1).split("?")[0]] ?? SCENES.inrpp;
let facts, pool, drawn;

const values = () => Object.fromEntries(scene.sliders.map(({ key }) => [key, Number($(key).value)]));

function offer() {
  document.title = `${scene.title} · Midpath`;
  $("title").textContent = scene.title;
  $("about").textContent = scene.about;
  $("sliders").innerHTML = scene.sliders.map(range).join("");
  for (const { key } of scene.sliders) $(key).oninput = changed;
  say();
}

function say() {
  for (const { key, unit } of scene.sliders)
    document.querySelector(`output[for="${key}"]`).textContent = `${$(key).value} ${unit}`;
}

// While a run is under way only the last position counts.
let isRunning = false,
  isStale = false;
async function changed() {
  say();
  isStale = true;
  if (isRunning) return;
  isRunning = true;
  while (isStale) {
    isStale = false;
    await run().catch((error) => ($("said").textContent = error.message));
  }
  isRunning = false;
}

async function run() {
  const text = scene.text(values()),
    began = performance.now();
  const asked = scene.runs.map((scheme) => pool.ask({ ask: "run", text, scheme }, undefined, LIMIT_MS));
  const found = await Promise.all(asked);
  const wrong = found.find(({ run }) => !run);
  if (wrong) throw new Error(wrong.errors?.[0].message ?? "this run takes too long here");
  drawn = found.flatMap((one, i) => {
    const recorded = tracks(one);
    return scene.lines
      .filter(([key]) => recorded.has(key))
      .map(([key, label]) => ({ ...recorded.get(key), label: label || name(scene.runs[i]) }));
  });
  draw();
  const hops = found.reduce((sum, { run }) => sum + run.packet_hops, 0);
  $("said").textContent = `${hops.toLocaleString("en")} packet-hops in ${Math.round(performance.now() - began)} ms.`;
  $("open").href = await asLink({ text, schemes: scene.runs, seeds: 1 }, "index.html");
  document.documentElement.dataset.drawn = String(Number(document.documentElement.dataset.drawn ?? 0) + 1);
}

function ticks(high, most) {
  const rough = high / most,
    decade = 10 ** Math.floor(Math.log10(rough));
  const step = decade * [1, 2, 5, 10].find((times) => times * decade >= rough);
  return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, i) => Number((i * step).toPrecision(12)));
}

function draw() {
  // As wide as it is shown, so that its text has the page's size.
  BOX.width = Math.max(280, $("figure").clientWidth);
  $("figure").setAttribute("viewBox", `0 0 ${BOX.width} ${BOX.height}`);
  const end = Math.max(...drawn.map(({ time }) => time.at(-1)));
  const top = Math.max(1e-12, ...drawn.map(({ value }) => largest(value)));
  const [factor, suffix] = scene.factor ? [1 / scene.factor, ""] : scale(scene.kind, top);
  const x = (t) => BOX.left + (t / end) * (BOX.width - BOX.left - BOX.right);
  const y = (v) => BOX.height - BOX.bottom - (v / (top * 1.05)) * (BOX.height - BOX.top - BOX.bottom);
  const looks = drawn.map((_, i) => facts.tints[`entity:${i}`]);
  const paint = ({ light, dark: other, dash }) =>
    `fill="none" stroke="${dark.matches ? other : light}" stroke-width="2" ${dash === "solid" ? "" : `stroke-dasharray="${dash.replaceAll("px", "")}"`}`;
  const grid = ticks((top * 1.05) / factor, 5).map(
    (v) =>
      `<line x1="${BOX.left}" x2="${BOX.width - BOX.right}" y1="${y(v * factor)}" y2="${y(v * factor)}"/>` +
      `<text x="${BOX.left - 6}" y="${y(v * factor) + 4}" text-anchor="end">${v}</text>`,
  );
  const times = ticks(end, BOX.width / 90).map(
    (t) => `<text x="${x(t)}" y="${BOX.height - 16}" text-anchor="middle">${t}</text>`,
  );
  const names =
    `<text x="${BOX.width / 2}" y="${BOX.height - 1}" text-anchor="middle">time (s)</text>` +
    `<text transform="rotate(-90)" x="${-BOX.height / 2 + 10}" y="12" text-anchor="middle">${escape(scene.axis)}${suffix && ` (${suffix})`}</text>`;
  const paths = drawn.map(({ time, value }, i) => {
    const points = time.map((t, k) => `${x(t).toFixed(1)},${y(Math.max(0, value[k])).toFixed(1)}`);
    return `<polyline points="${points.join(" ")}" ${paint(looks[i])}/>`;
  });
  $("figure").innerHTML = [...grid, ...times, names, ...paths].join("");
  $("legend").innerHTML = drawn
    .map(({ label, value }, i) => {
      const most = largest(value);
      const said = scene.factor ? (most * scene.factor).toPrecision(3) : quantity(scene.kind, most);
      return `<span><svg width="40" height="8" aria-hidden="true"><path d="M0 4H40" ${paint(looks[i])}/></svg>${escape(label)}, at most ${said}</span>`;
    })
    .join("");
}

async function begin() {
  if (location.protocol === "file:") throw new Error("it needs a server, such as that of `make docs-serve`");
  facts = JSON.parse(await fetchedText("play.json"));
  use(facts);
  offer();
  pool = new Pool(await WebAssembly.compile(await fetched("midpath.wasm.gz")), Math.min(2, scene.runs.length));
  dark.addEventListener("change", () => drawn && draw());
  addEventListener("resize", () => drawn && draw());
  await changed();
}

begin().catch((error) => ($("said").textContent = `The simulator cannot be loaded: ${error.message}.`));
