// What figures share: midpath/report/{figure,tracks}.py, and gauges as runs describe them (midpath/schemes.py).
import { numbers, texts } from "./simulator.js";
import { quantity, scale, tints, total } from "./stats.js";

export const escape = (text) => String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

/** Numbers to five digits; what is not a number is left out. */
export const compact = (values) =>
  Array.from(values, (value) => (Number.isFinite(value) ? Number(value.toPrecision(5)) : null));

/** A line in the colour of its scheme. */
export function line(scheme, x, y, text, more) {
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

/** What to divide values by, and an axis that names the unit: from zero, or from the end of a bar below it. */
export function linearAxis(kind, high, title, low = 0) {
  const [factor, suffix] = scale(kind, high);
  const range = [Math.min((low / factor) * 1.06, 0), high > 0 ? (high / factor) * 1.06 : 1];
  return [factor, { title: { text: `${title} (${suffix})` }, range }];
}

export const largest = (values, from = 0) => values.reduce((most, value) => (value > most ? value : most), from);
export const least = (values) => values.reduce((low, value) => (value < low ? value : low), Infinity);

/** When a curve is above zero for the last time; 0 if it never is. */
export const lastAbove = ({ time, value }) => largest(time.filter((_, i) => value[i] > 0));

export const ofSeed = ({ seeds }) => (seeds.length > 1 ? `; seed ${seeds[0]} of ${seeds.length}` : "");

/** The rows of a run's series, by entity and metric: ends of intervals, and values. */
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

/** Means over equal stretches, when there are too many points. */
export function thin({ time, value }, most) {
  const stretch = Math.ceil(time.length / most);
  if (stretch <= 1) return { time, value };
  const starts = Array.from({ length: Math.ceil(time.length / stretch) }, (_, i) => i * stretch);
  const means = (values) =>
    starts.map((from) => {
      const to = Math.min(from + stretch, values.length);
      return (values[from] + total(values, from + 1, to)) / (to - from);
    });
  return { time: means(time), value: means(value) };
}

/** An entity for people: `r0 → r1`, `flow 3`. */
export const label = (entity) =>
  entity.startsWith("port:") ? entity.slice(5).replaceAll(">", " → ") : entity.replace(":", " ");

/** The gauges of a run's `ports` or `flows` by name: where two schemes have a name in common, the first counts. */
export function gaugesOf({ scheme, deployment, schemes }, entities) {
  const names = [...scheme.split("@")[0].split("+"), ...(deployment ?? []).map((row) => row.scheme)];
  const found = new Map();
  for (const one of new Set([...names, ...Object.keys(schemes ?? {})]))
    for (const gauge of schemes?.[one]?.[entities] ?? []) if (!found.has(gauge.name)) found.set(gauge.name, gauge);
  return found;
}

/** The name of a tone's colour; one that we do not know is calm. */
export const toneTint = (tone) => (`tone:${tone}` in tints() ? `tone:${tone}` : "tone:calm");
