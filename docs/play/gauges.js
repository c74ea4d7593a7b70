// Gauges of ports and flows over time, as midpath/report/gauges.py draws them: any series that no other figure has.
import { compact, escape, gaugesOf, label, largest, least, ofSeed, thin } from "./tracks.js";
import { name, scale, tints, units } from "./stats.js";
import { staged } from "./path.js";

const POINTS = 240;
const COMMON = new Set(["throughput_bps", "utilisation", "goodput_bps", "cwnd_bytes", "srtt_s", "rate_bps"]);
const SUFFIXES = { _bps: "bps", _bytes: "bytes", _s: "seconds" };
const KINDS = { utilisation: "ratio" };
const RAISED = Object.fromEntries([..."-0123456789"].map((c, i) => [c, [..."⁻⁰¹²³⁴⁵⁶⁷⁸⁹"][i]]));
const CLICK = " Click a name to hide its line, twice to see it alone.";
const GROUPS = { port: "Ports", flow: "Flows" };

const entityTints = () => Object.keys(tints()).filter((key) => key.startsWith("entity:"));

/** The figure; null where nothing was recorded. */
export function gauges(comparison, recorded) {
  const found = gathered(comparison, recorded);
  const moving = found.filter(({ busiest }) => busiest.length).sort(inOrder);
  if (!moving.length) return null;
  const several = comparison.schemes.length > 1;
  const all = moving.flatMap((gauge) =>
    variantsOf(gauge, several).map((one) => ({ ...one, head: GROUPS[gauge.kind] })),
  );
  const still = new Set(found.filter(({ busiest }) => !busiest.length).map(({ metric }) => metric));
  const by = (key) => Object.fromEntries(all.map((one) => [one.key, one[key]]));
  return {
    id: "gauges",
    title: "Ports and flows over time",
    note: `What else was recorded${ofSeed(comparison)}.${still.size ? ` Never changed, so not drawn: ${[...still].join(", ")}.` : ""}`,
    variants: Object.fromEntries(all.map(({ key, data, layout }) => [key, { data, layout }])),
    choose: "Show",
    options: by("text"),
    groups: by("head"),
    notes: by("note"),
    height: 400,
  };
}

/** One metric of ports or of flows: curves by scheme and entity. */
function gathered(comparison, recorded) {
  const found = new Map();
  const along = staged(comparison, recorded);
  for (const [scheme, tracks] of recorded) {
    const { run } = comparison.results.get(scheme)[0];
    const own = { port: gaugesOf(run, "ports"), flow: gaugesOf(run, "flows") };
    for (const { metric, entity, ...curve } of tracks.values()) {
      const kind = entity.split(":")[0];
      const isElsewhere =
        kind === "port" && (metric === "queue_bytes" || (along?.scheme === scheme && metric === along.state));
      if (!(kind in GROUPS) || isElsewhere) continue;
      const key = `${kind} ${metric}`;
      if (!found.has(key)) found.set(key, { kind, metric, curves: new Map() });
      const gauge = found.get(key);
      gauge.about ??= own[kind].get(metric);
      if (!gauge.curves.has(scheme)) gauge.curves.set(scheme, new Map());
      gauge.curves.get(scheme).set(entity, curve);
    }
  }
  return [...found.values()].map((gauge) => {
    const suffix = Object.keys(SUFFIXES).find((one) => gauge.metric.endsWith(one));
    const unit = gauge.about?.unit in units() ? gauge.about.unit : (KINDS[gauge.metric] ?? SUFFIXES[suffix] ?? "count");
    const title = (suffix ? gauge.metric.slice(0, -suffix.length) : gauge.metric).replaceAll("_", " ");
    return { ...gauge, unit, title, busiest: busiest(gauge) };
  });
}

/** Ports and flows where it moves, most first. */
function busiest({ curves }) {
  const moves = new Map();
  for (const of of curves.values())
    for (const [entity, { value }] of of) {
      const finite = value.filter(Number.isFinite);
      const moved = finite.length ? largest(finite, -Infinity) - least(finite) : 0;
      moves.set(entity, Math.max(moves.get(entity) ?? 0, moved));
    }
  return [...moves]
    .filter(([, moved]) => moved > 0)
    .sort((a, b) => b[1] - a[1])
    .map(([entity]) => entity);
}

/** A scheme's own numbers first, ports before flows, quantities before counts. */
function inOrder(a, b) {
  const rank = ({ kind, metric, unit }) =>
    [kind !== "port", COMMON.has(metric), unit === "count"].map(Number).join("") + metric;
  return rank(a) < rank(b) ? -1 : 1;
}

function variantsOf(gauge, several) {
  const key = `${gauge.kind}/${gauge.metric}`,
    names = entityTints(),
    shown = gauge.busiest.slice(0, names.length);
  if (gauge.curves.size > 1) {
    const left = gauge.busiest.length - shown.length;
    const more = left ? `; ${left} more ${GROUPS[gauge.kind].toLowerCase()} where it moves less are left out` : "";
    const note = `${words(gauge)}, a line per scheme${more}.`;
    return shown.map((entity) => ({
      key: `${key}/${entity}`,
      text: `${gauge.title}: ${label(entity)}`,
      ...bySchemes(gauge, entity),
      note,
    }));
  }
  const [[scheme, curves]] = gauge.curves;
  const [factor, layout] = axes(gauge, shown);
  const data = shown.map((entity, i) =>
    curve(gauge, label(entity), curves.get(entity), factor, { tint: names[i], legend: true }),
  );
  return [
    {
      key,
      text: several ? `${gauge.title} (${name(scheme)})` : gauge.title,
      data,
      layout,
      note: left(gauge, scheme, curves),
    },
  ];
}

function bySchemes(gauge, entity) {
  const [factor, layout] = axes(gauge, [entity]);
  const having = [...gauge.curves].filter(([, curves]) => curves.has(entity));
  return {
    data: having.map(([scheme, curves]) => curve(gauge, name(scheme), curves.get(entity), factor, { scheme })),
    layout,
  };
}

function left(gauge, scheme, curves) {
  const moving = gauge.busiest.length,
    what = GROUPS[gauge.kind].toLowerCase(),
    shown = Math.min(moving, entityTints().length),
    still = curves.size - moving;
  const which = shown < moving ? `the ${shown} of ${moving} ${what} where it moves most` : `${shown} ${what}`;
  return `${name(scheme)}, ${words(gauge)}: ${which}${still ? `; at ${still} more it never changed.` : "."}${CLICK}`;
}

/** The metric and what it says. */
function words({ metric, about }) {
  if (!about?.meaning) return metric;
  const symbol = about.symbol ? `${about.symbol}, ` : "";
  return `${metric} (${symbol}${about.meaning.slice(0, 1).toLowerCase()}${about.meaning.slice(1)})`;
}

/** What to divide values by, and the axes. */
function axes(gauge, entities) {
  const curves = [...gauge.curves.values()].flatMap((of) =>
    entities.filter((one) => of.has(one)).map((one) => of.get(one)),
  );
  const values = curves.flatMap((one) => thin(one, POINTS).value).filter(Number.isFinite);
  const low = Math.min(0, least(values)),
    high = largest(values);
  const [factor, suffix] = unitOf(gauge.unit, Math.max(-low, high));
  const states = gauge.about?.states ?? [];
  const yaxis = {
    title: { text: suffix && !states.length ? `${gauge.title} (${suffix})` : gauge.title },
    range: [(low / factor) * 1.06, (high / factor) * 1.06],
    ...(states.length ? { tickvals: states.map((_, i) => i), ticktext: states.map((state) => state.name) } : {}),
  };
  const ends = curves.flatMap(({ time, value }) => time.filter((_, i) => value[i] !== 0));
  const xaxis = { title: { text: "time (s)" }, ...(ends.length ? { range: [0, largest(ends) * 1.02] } : {}) };
  return [factor, { xaxis, yaxis, showlegend: true }];
}

/** A unit in which the largest value has few digits; powers of ten where the unit has no names for them. */
function unitOf(kind, high) {
  const [factor, suffix] = scale(kind, high);
  if (units()[kind].length > 1 || kind === "ratio") return [factor, suffix];
  const power = high > 0 ? 3 * Math.floor(Math.log10(high) / 3 + 1e-12) : 0;
  if (power >= -3 && power <= 3) return [1, suffix];
  return [Number(`1e${power}`), `10${[...String(power)].map((c) => RAISED[c]).join("")} ${suffix}`.trim()];
}

function curve(gauge, text, track, factor, meta) {
  const { time, value } = thin(track, POINTS);
  const suffix = unitOf(gauge.unit, factor)[1];
  return {
    type: "scatter",
    mode: "lines",
    name: escape(text),
    x: compact(time),
    y: compact(value.map((one) => one / factor)),
    hovertemplate: `<b>${escape(text)}</b><br>%{y:.4~g} ${suffix}<br>at %{x:.4~g} s<extra></extra>`,
    line: { width: 1.75 },
    meta,
  };
}
