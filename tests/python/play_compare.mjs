// What the playground makes of runs, in Node, for tests: requests as JSON from standard input.
import { readFileSync } from "node:fs";
import { replayData, table } from "../../docs/play/pages.js";
import { network } from "../../docs/play/network.js";
import { figures } from "../../docs/play/figures.js";
import { completions } from "../../docs/play/schema.js";
import { opened, simulator } from "../../docs/play/simulator.js";
import { Comparison, digits, quantity, use } from "../../docs/play/stats.js";

const asked = JSON.parse(readFileSync(0, "utf8"));
use(JSON.parse(readFileSync(asked.facts, "utf8")));
const module = asked.wasm && (await WebAssembly.compile(readFileSync(asked.wasm)));
const ask = async (request) => opened((await simulator(module)).ask(request));

const answers = {
  quantities: ({ values }) => values.map(([kind, value, ci95]) => quantity(kind, value, ci95)),
  digits: ({ values }) => values.map(digits),
  async completions({ texts }) {
    const { schema } = await ask({ ask: "schema" });
    return texts.map((text) => completions(schema, text)?.options.map(({ label }) => label) ?? []);
  },
  async comparison({ text, schemes, seeds, random }) {
    const results = new Map();
    for (const scheme of schemes) {
      results.set(scheme, []);
      for (const seed of seeds) results.get(scheme).push(await ask({ ask: "run", text, scheme, seed }));
    }
    const found = new Comparison(schemes, seeds, results);
    found.isRandom ??= random;
    const metrics = Object.keys(results.get(schemes[0])[0].run.summary);
    const values = (scheme) =>
      Object.fromEntries(
        metrics.map((key) => [
          key,
          typeof results.get(scheme)[0].run.summary[key] === "object" ? null : found.figure(scheme, key),
        ]),
      );
    return {
      rows: Object.fromEntries(schemes.map((scheme) => [scheme, values(scheme)])),
      sentences: found.sentences(),
      matching: found.matching,
      random: found.isRandom,
      table: table(found),
      figures: Object.fromEntries([...figures(found), network(found)].map((figure) => [figure.id, figure])),
    };
  },
  async replay({ text, scheme }) {
    return replayData(await ask({ ask: "run", text, scheme }));
  },
};
console.log(JSON.stringify(await answers[asked.ask](asked)));
