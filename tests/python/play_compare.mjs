// What the playground makes of runs, in Node, for tests: requests as JSON from standard input.
import { readFileSync } from "node:fs";
import { parts, replayData } from "../../docs/play/pages.js";
import { completions } from "../../docs/play/schema.js";
import { SCENES } from "../../docs/play/scenes.js";
import { setTo, slidersOf, STEPS } from "../../docs/play/sliders.js";
import { opened, simulator } from "../../docs/play/simulator.js";
import { variantParts, Variants } from "../../docs/play/variants.js";
import { Comparison, differs, digits, estimate, excess, metrics, quantile, quantity, ratio, use } from "../../docs/play/stats.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
const facts = JSON.parse(readFileSync(asked.facts, "utf8"));
use(facts);
const module = asked.wasm && (await WebAssembly.compile(readFileSync(asked.wasm)));
const ask = async (request) => opened((await simulator(module)).ask(request));

async function compared(text, schemes, seeds, variant) {
  const { scenario } = await ask({ ask: "check", text, variant });
  const results = new Map();
  for (const scheme of schemes) {
    results.set(scheme, []);
    for (const seed of seeds) results.get(scheme).push(await ask({ ask: "run", text, scheme, seed, variant }));
  }
  return new Comparison(schemes, seeds, results, scenario);
}

const answers = {
  quantities: ({ values }) => values.map(([kind, value, ci95]) => quantity(kind, value, ci95)),
  digits: ({ values }) => values.map(digits),
  statistics: ({ pairs }) =>
    pairs.map(([a, b]) => ({
      estimate: estimate(a),
      told_apart: differs(a, b),
      excess: excess(a, b),
      ratio: ratio(a, b),
      quantiles: [0.5, 0.99].map((share) => quantile(a.filter((x) => x !== null).sort((x, y) => x - y), share) ?? null),
    })),
  async completions({ texts }) {
    const { schema } = await ask({ ask: "schema" });
    return texts.map((text) => completions(schema, text)?.options.map(({ label }) => label) ?? []);
  },
  async comparison({ text, schemes, seeds }) {
    const found = await compared(text, schemes, seeds);
    const figures = (scheme) => Object.fromEntries(metrics().map(({ key }) => [key, found.figure(scheme, key)]));
    return {
      rows: Object.fromEntries(schemes.map((scheme) => [scheme, figures(scheme)])),
      parts: parts(found, {}, {}, text),
    };
  },
  async variants({ text, schemes, seeds }) {
    const { variants, scenario } = await ask({ ask: "check", text });
    const found = new Map();
    for (const variant of variants) found.set(variant, await compared(text, schemes, seeds, variant));
    return variantParts(new Variants(found, scenario), {}, {}, facts.order, text);
  },
  scenes() {
    const at = (sliders, pick) => Object.fromEntries(sliders.map(({ key, ...one }) => [key, one[pick]]));
    return Object.fromEntries(
      Object.entries(SCENES).map(([system, { sliders, runs, lines, text }]) => [
        system,
        { runs, lines: lines.map(([key]) => key), text: text(at(sliders, "value")), low: text(at(sliders, "min")) },
      ]),
    );
  },
  sliders: ({ texts }) =>
    texts.map((text) => {
      const found = slidersOf(text);
      return [-STEPS, 0, STEPS].map((position) =>
        setTo(
          text,
          found,
          found.map(() => position),
        ),
      );
    }),
  async replay({ text, scheme }) {
    return replayData(await ask({ ask: "run", text, scheme }));
  },
};
console.log(JSON.stringify(await answers[asked.ask](asked)));
