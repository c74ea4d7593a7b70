// Runs scenarios in Node as the playground does: a list of requests as JSON from standard input; each answer's bytes into
// the folder named second, as 0, 1, …; prints processor milliseconds of each, or why it failed.
import { readFileSync, writeFileSync } from "node:fs";
import { simulator } from "../../docs/play/simulator.js";

const [wasm, folder] = process.argv.slice(2);
const module = await WebAssembly.compile(readFileSync(wasm));
const said = [];
for (const [number, request] of JSON.parse(readFileSync(0, "utf8")).entries()) {
  const began = process.cpuUsage();
  try {
    const one = await simulator(module);
    const answer = one.ask(request);
    const { user, system } = process.cpuUsage(began);
    said.push({ ms: (user + system) / 1e3, memory: one.memory });
    writeFileSync(`${folder}/${number}`, answer);
  } catch (error) {
    said.push({ failed: error.message });
  }
}
console.log(JSON.stringify(said));
