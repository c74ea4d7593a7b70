// Variants of one scenario side by side, as midpath/compare/variants.py and midpath/report/{variants,curves}.py have them.
import { curveFigures } from "./figures.js";
import { network } from "./network.js";
import { card, commandOf, embeddable, identical, toggle, warned, warningsOf } from "./pages.js";
import { numbers, texts } from "./simulator.js";
import { Comparison, listed, metrics, name, quantity, ratio, VARIANT } from "./stats.js";
import { afterFirst, chip, ended, EQUIPMENT, equipmentOf, headOf, titled, whole } from "./tables.js";
import { escape, hover, largest, least, linearAxis } from "./tracks.js";

const DRAWN = ["afct_s", "fct_p99_s", "goodput_total_bps", "loss_ratio", "queue_delay_p99_s", "queue_max_bytes"];
// What part of the room between two variants their means take.
const SPREAD = 0.5;

/** Whether two runs have the same flows: who sends how much to whom, and when. */
function haveSameFlows({ tables: { flows } }, { tables: { flows: others } }) {
  if (flows.rows !== others.rows) return false;
  const alike = (read) => (key) => {
    const [ours, theirs] = [flows, others].map((table) => read(table.columns[key]));
    return ours.every((value, i) => Object.is(value, theirs[i]));
  };
  return ["group", "src", "dst"].every(alike(texts)) && ["size_bytes", "start_s"].every(alike(numbers));
}

/** The comparisons of a scenario's variants, by name in the order of the text; `scenario` is that without a variant. */
export class Variants {
  constructor(comparisons, scenario) {
    Object.assign(this, { comparisons, scenario, names: [...comparisons.keys()], first: [...comparisons.values()][0] });
    const { schemes, seeds } = this.first;
    Object.assign(this, { schemes, seeds });
    const runs = ({ results }, seed) => results.get(schemes[0])[seed];
    const isSame = (other) => seeds.every((_, seed) => haveSameFlows(runs(this.first, seed), runs(other, seed)));
    this.sameFlows = new Map([...comparisons].map(([of, one]) => [of, isSame(one)]));
    this.isRandom = [...comparisons.values()].some((one) => one.isRandom);
    this.matched = this.#matched();
  }

  /** The comparisons, with times over the flows that ended in all variants with the same flows. */
  #matched() {
    const alike = [...this.comparisons].filter(([of]) => this.sameFlows.get(of)).map(([, one]) => one);
    if (alike.length < 2) return this.comparisons;
    const beside = this.seeds.map((_, seed) =>
      alike.flatMap(({ results }) => [...results.values()].map((runs) => runs[seed])),
    );
    const joined = ({ schemes, seeds, results, scenario }) => new Comparison(schemes, seeds, results, scenario, beside);
    return new Map([...this.comparisons].map(([of, one]) => [of, this.sameFlows.get(of) ? joined(one) : one]));
  }

  /** Of each variant and scheme. */
  rows() {
    return [...this.matched].flatMap(([of, one]) => one.schemes.map((scheme) => ({ of, one, scheme })));
  }

  /** The mean ratio of a figure to the first variant's, seed by seed; null where flows are not the same. */
  againstFirst(of, scheme, key) {
    if (!this.sameFlows.get(of)) return null;
    const [first, found] = [this.names[0], of].map((one) => this.matched.get(one));
    return ratio(found.values(scheme, key), first.values(scheme, key));
  }

  /** A ratio to the first variant in words; random where either of the two is. */
  times(of, { mean, ci95 }) {
    const isRandom = this.first.isRandom || this.comparisons.get(of).isRandom;
    return quantity("times", mean, (isRandom && ci95) || null).replace(/×$/, "");
  }

  sentences() {
    const found = this.schemes.filter((scheme) => scheme !== "ideal").map((scheme) => this.#ratios(scheme));
    const ranked = [...this.matched].map(([of, one]) => [of, one.fastest()]).filter(([, said]) => said);
    return [...found, ...ranked.map(([of, said]) => `In ${of}, ${said}`)].filter(Boolean);
  }

  #ratios(scheme) {
    const parts = this.names
      .slice(1)
      .map((of) => [of, this.againstFirst(of, scheme, "afct_s")])
      .filter(([, found]) => found)
      .map(([of, found]) => {
        const differs = Math.abs(found.mean - 1) > (found.ci95 ?? 0);
        return `${of} ${this.times(of, found)}${differs ? "" : " (not significant)"}`;
      });
    if (!parts.length) return "";
    return `Under ${name(scheme)}, completion times relative to ${this.names[0]}: ${parts.join("; ")}.`;
  }

  warnings() {
    const of = new Map([...this.comparisons].map(([variant, one]) => [variant, warned(one)]));
    const having = (text) => this.names.filter((variant) => of.get(variant).includes(text));
    const named = [...new Set([...of.values()].flat())].map((text) => {
      const variants = having(text);
      return variants.length === this.names.length ? text : `${variants.join(", ")}: ${text}`;
    });
    const schemes = this.schemes.filter((scheme) => scheme !== "ideal");
    const runs = [...this.comparisons].map(([variant, { results }]) => [variant, schemes.flatMap((s) => results.get(s))]);
    const same = identical(new Map(runs)).map(
      (group) => `${listed(group)} are identical flow by flow, under every scheme: their changes had no effect`,
    );
    return [...same, ...named];
  }

  /** How figures are to be read. */
  notes() {
    const found = [];
    const others = this.names.filter((of) => !this.sameFlows.get(of));
    const verb = others.length === 1 ? "has" : "have";
    if (others.length)
      found.push(
        `${listed(others)} ${verb} other flows than ${this.names[0]}: no ratios, and times cover its own flows`,
      );
    const { matching } = this.matched.get(this.names[0]);
    if (matching) found.push(`${matching}; loss, memory and queueing delay cover all flows`);
    if (!this.isRandom) found.push("nothing in this scenario is random: no intervals");
    else if (this.seeds.length > 1)
      found.push(`means over ${this.seeds.length} seeds, ± 95 % confidence; ratios are seed by seed`);
    else found.push("one seed: differences may be chance");
    const certain = this.names.filter((of) => !this.comparisons.get(of).isRandom);
    if (certain.length && this.isRandom) found.push(`nothing is random in ${listed(certain)}: no intervals there`);
    return found;
  }

  /** What each scheme had, by variant; the variants that had the same stand together. */
  equipment() {
    const found = new Map();
    for (const [of, one] of this.comparisons)
      for (const row of equipmentOf(one)) {
        const key = JSON.stringify(row);
        found.set(key, { row, of: [...(found.get(key)?.of ?? []), of] });
      }
    const everywhere = this.names.length;
    return [...found.values()].map(({ row, of }) => ({ ...row, of: of.length === everywhere ? "all" : of.join(", ") }));
  }
}

// --- The table ------------------------------------------------------------------------------------

function cell(found, { of, one, scheme }, { key, kind, better }) {
  const value = one.figure(scheme, key);
  if (!value) return "<td>–</td>";
  const base = better && of !== found.names[0] ? found.againstFirst(of, scheme, key) : null;
  const below = base ? `<small>${whole(`${found.times(of, base)} × ${escape(found.names[0])}`)}</small>` : "";
  return `<td><span>${quantity(kind, value.mean)}</span>${below}</td>`;
}

/** The table of variants and their equipment. */
export function variantTables(found) {
  const rows = found.rows();
  const shown = metrics().filter(
    ({ key, headline }) => headline && rows.some(({ one, scheme }) => one.figure(scheme, key)),
  );
  const body = rows.map((row) => {
    const cells = afterFirst(
      shown.map((metric) => cell(found, row, metric)),
      `<td>${ended(row.one, row.scheme)}</td>`,
    );
    return `<tr><th>${escape(row.of)}</th><td class="text">${chip(row.scheme)}</td>${cells}</tr>`;
  });
  const heads = afterFirst(shown.map(headOf), "<th>Flows ended</th>");
  const notes = found.notes().map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`);
  const equipment = found.equipment().map(({ of, scheme, cells }) => [escape(of), chip(scheme), ...cells.map(escape)]);
  return (
    `<div class="scroll"><table id="summary"><thead><tr><th>Variant</th><th class="text">Scheme</th>${heads}</tr></thead>` +
    `<tbody>${body.join("")}</tbody></table></div><p class="note">${escape(notes.join(" "))}</p>` +
    titled("Equipment", "equipment", ["Variant", ...EQUIPMENT], equipment)
  );
}

// --- Figures --------------------------------------------------------------------------------------

function means(found, { key, kind, label, about }) {
  const figures = new Map(found.schemes.map((scheme) => [scheme, []]));
  for (const { of, one, scheme } of found.rows()) {
    const value = one.figure(scheme, key);
    if (value) figures.get(scheme).push([found.names.indexOf(of), value]);
  }
  const known = [...figures.values()].flat().map(([, value]) => value);
  if (!known.length) return null;
  const low = least(known.map(({ mean, ci95 }) => mean - (ci95 ?? 0)));
  const high = largest(known.map(({ mean, ci95 }) => mean + (ci95 ?? 0)), -Infinity);
  const [factor, yaxis] = linearAxis(kind, high, label, low);
  const middle = (found.schemes.length - 1) / 2;
  const data = found.schemes.map((scheme, place) => {
    const line = figures.get(scheme),
      aside = ((place - middle) * SPREAD) / found.schemes.length;
    const errors = line.map(([, { ci95 }]) => (ci95 ?? 0) / factor);
    return {
      type: "scatter",
      mode: "markers",
      x: line.map(([index]) => index + aside),
      y: line.map(([, { mean }]) => mean / factor),
      text: line.map(
        ([index, { mean, ci95 }]) =>
          `${hover(`${found.names[index]}, ${name(scheme)}`)}<br>${label} ${quantity(kind, mean, ci95 || null)}`,
      ),
      hoverinfo: "text",
      marker: { size: 9 },
      meta: { scheme },
      ...(errors.some(Boolean) ? { error_y: { type: "data", array: errors, thickness: 1.3, width: 3 } } : {}),
    };
  });
  const tickvals = found.names.map((_, i) => i);
  const xaxis = { tickvals, ticktext: found.names, range: [-0.5, tickvals.length - 0.5] };
  return { id: key, title: label, note: `${about}.`, variants: { "": { data, layout: { xaxis, yaxis } } }, height: 330 };
}

/** Variants as curves: a figure of each sort, in which the reader chooses the scheme. */
function curves(found) {
  const drawn = found.schemes.map((scheme) => {
    const runs = new Map([...found.comparisons].map(([of, { results }]) => [VARIANT + of, results.get(scheme)]));
    return [scheme, curveFigures(new Comparison([...runs.keys()], found.seeds, runs, found.scenario))];
  });
  const keys = found.names.map((of) => [VARIANT + of, of]);
  return drawn[0][1].map((first, i) => {
    const [variants, options, groups] = [{}, {}, {}];
    for (const [scheme, { [i]: one }] of drawn)
      for (const [key, state] of Object.entries(one.variants)) {
        const joined = `${scheme} ${key}`;
        variants[joined] = state;
        options[joined] = (one.options?.[key] ?? key) || name(scheme);
        groups[joined] = Object.keys(one.variants).length > 1 ? name(scheme) : "";
      }
    return { ...first, variants, choose: "Show", options, groups, keys };
  });
}

/** Where the load is, in each variant under each scheme. */
function maps(found) {
  const drawn = [...found.comparisons].map(([of, one]) => [of, network(one)]);
  const states = drawn.flatMap(([of, { variants }]) =>
    Object.entries(variants).map(([scheme, state]) => [`${of} ${scheme}`, state, `${of}, ${name(scheme)}`]),
  );
  const variants = Object.fromEntries(states.map(([key, state]) => [key, state]));
  const options = Object.fromEntries(states.map(([key, , label]) => [key, label]));
  return { ...drawn[0][1], variants, choose: "Variant", options };
}

/** The parts of the variants' report; `order` are the looks of things that are no schemes. */
export function variantParts(found, looks, tints, order, scenario) {
  const byKey = new Map(metrics().map((metric) => [metric.key, metric]));
  const drawn = [...DRAWN.map((key) => means(found, byKey.get(key))).filter(Boolean), ...curves(found)];
  const wide = maps(found),
    { run } = found.first.first;
  const own = Object.fromEntries(found.names.map((of, i) => [VARIANT + of, order[i % order.length]]));
  const facts = [
    ["Variants", found.names.length],
    ["Schemes", found.schemes.length],
    ["Seeds", found.seeds.length],
    ["Topology", `${run.topology.nodes.length} nodes, ${run.topology.links.length} links`],
    ["Midpath", run.midpath],
  ];
  return {
    title: escape(run.title || "Untitled scenario"),
    kind: "Variants",
    verdict: escape(found.sentences().join(" ")),
    warnings: warningsOf(found.warnings()),
    facts: facts.map(([label, value]) => `<div><dt>${label}</dt><dd>${escape(value)}</dd></div>`).join(""),
    legend: found.schemes.length > 1 ? found.schemes.map(toggle).join("") : "",
    replays: "",
    summary: variantTables(found),
    figures: drawn.map((figure) => card(figure)).join(""),
    wide: card(wide),
    command: escape(commandOf(found.schemes, found.seeds, found.scenario, found.names)),
    file: "scenario.toml",
    scenario: escape(scenario.trim()),
    data: embeddable([...drawn, wide], { ...looks, ...own }, { ...tints, ...own }),
  };
}
