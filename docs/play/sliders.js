// Two sliders for whatever scenario stands in the editor: they change its text, so that a reader sees what they set.

import { escape } from "./tracks.js";

/** A slider, its name and what it stands at. */
export function range({ key, label, min, max, step, value }) {
  const input = `<input type="range" id="${key}" min="${min}" max="${max}" step="${step}" value="${value}">`;
  return `<label><span>${escape(label)}: <output for="${key}"></output></span>${input}</label>`;
}

const VALUE = String.raw`([\d.]+) ?(\w+|%)`;
const WHOLE = new RegExp(`^${VALUE}$`);
const after = (before) => new RegExp(`(?<=${before})${VALUE}(?=")`, "gm");
// What matters most comes first; `fold` is how many steps double a value.
const KNOBS = [
  { label: "Cache", pattern: after(String.raw`^(?:cache|high) = "`), fold: 2 },
  { label: "Buffer", pattern: after(String.raw`^\[queue\]\n(?:(?!\[).*\n)*?limit = "`), fold: 2 },
  { label: "Load", pattern: after(String.raw`\bload = "`), fold: 6 },
  { label: "Delay of the bottleneck", pattern: after(String.raw`^bottleneck = \{[^}]*\bdelay = "`), fold: 2 },
];
const LINK = /\{ a = "([^"]+)", b = "([^"]+)", rate = "(?<rate>([\d.]+) ?([kMG])bps)"(?:, delay = "(?<delay>[^"]+)")?/dg;
const SCALE = { k: 1e3, M: 1e6, G: 1e9 };
// Characters; a text may come from anybody, and the patterns look back.
const MOST_TEXT = 50_000;
// Positions to either side of the scenario's own value.
export const STEPS = 6;

/** Knobs of the slowest link that a scenario lists. */
function ofSlowest(text) {
  const links = [...text.matchAll(LINK)].map((found) => ({ found, bps: Number(found[4]) * SCALE[found[5]] }));
  if (!links.length) return [];
  const { found } = links.reduce((one, other) => (other.bps < one.bps ? other : one));
  const knob = (label, key, fold) => {
    const [from, to] = found.indices.groups[key] ?? [];
    const value = WHOLE.exec(text.slice(from, to ?? 0));
    return value && { label: `${label} of ${found[1]} – ${found[2]}`, fold, places: [placed(value, from)] };
  };
  return [knob("Rate", "rate", 4), knob("Delay", "delay", 2)].filter(Boolean);
}

const placed = (found, from = found.index) => ({ from, to: from + found[0].length, value: Number(found[1]), unit: found[2] });

/** The two that matter most in a text: places of it that are scaled together. */
export function slidersOf(text) {
  if (text.length > MOST_TEXT) return [];
  const known = KNOBS.map(({ label, pattern, fold }) => ({
    label,
    fold,
    places: [...text.matchAll(pattern)].map((found) => placed(found)),
  }));
  return [...known, ...ofSlowest(text)]
    .filter(({ places }) => places.length && places.every(({ value }) => value > 0))
    .slice(0, 2);
}

/**
 * Shows the sliders of a text in an element, and says `turned(text)` when they are moved, `settled()` when they rest.
 */
export function showSliders(element, text, turned, settled) {
  const sliders = slidersOf(text);
  const place = { min: -STEPS, max: STEPS, step: 1, value: 0 };
  element.innerHTML = sliders.map(({ label }, i) => range({ key: `slider-${i}`, label, ...place })).join("");
  const inputs = [...element.querySelectorAll("input")];
  const say = () =>
    sliders.forEach(({ fold, places: [{ value, unit }] }, i) => {
      const now = written(value, unit, fold, Number(inputs[i].value));
      element.querySelector(`output[for="slider-${i}"]`).textContent = now;
      inputs[i].setAttribute("aria-valuetext", now);
    });
  for (const input of inputs) {
    input.oninput = () => {
      say();
      turned(
        setTo(
          text,
          sliders,
          inputs.map(({ value }) => Number(value)),
        ),
      );
    };
    input.onchange = settled;
  }
  say();
  return sliders.length;
}

function written(value, unit, fold, position) {
  const scaled = value * 2 ** (position / fold);
  const whole = unit === "packets" || unit === "B";
  return `${whole ? Math.max(1, Math.round(scaled)) : Number(scaled.toPrecision(3))} ${unit}`;
}

/** The text with sliders at these positions. */
export function setTo(text, sliders, positions) {
  const edits = sliders.flatMap(({ fold, places }, i) =>
    places.map(({ from, to, value, unit }) => ({ from, to, now: written(value, unit, fold, positions[i]) })),
  );
  edits.sort((a, b) => b.from - a.from);
  return edits.reduce((whole, { from, to, now }) => whole.slice(0, from) + now + whole.slice(to), text);
}
