// Runs scenarios in Node as the playground does: a list of requests as JSON from standard input; each answer's bytes into
// the folder named second, as 0, 1, …; prints milliseconds of each, or why it failed.
import { readFileSync, writeFileSync } from "node:fs";
import { simulator } from "../../docs/play/simulator.js";

const [wasm, folder] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(wasm));
const said = [];
for (const [number, request] of JSON.parse(readFileSync(0, "utf8")).entries()) {
  const began = performance.now();
  try {
    const one = await simulator(module);
    const answer = one.ask(request);
    said.push({ ms: performance.now() - began, memory: one.memory });
    writeFileSync(`${folder}/${number}`, answer);
  } catch (error) {
    said.push({ failed: error.message });
  }
}
console.log(JSON.stringify(said));
