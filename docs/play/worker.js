// Runs the simulator off the page's thread: one request at a time, each in a fresh instance.
import { simulator } from "./simulator.js";

// How often the page hears of progress. Ours, as in crates/python/src/progress.rs.
const PERIOD_MS = 100;
let module;

addEventListener("message", async ({ data: { wasm, number, request, limit_ms } }) => {
  if (wasm) {
    module = wasm;
    return;
  }
  const began = performance.now();
  let last = began;
  const progress = (reached) => {
    const now = performance.now();
    if (now - last > PERIOD_MS) postMessage({ number, progress: reached, ms: now - began });
    if (now - last > PERIOD_MS) last = now;
    return now - began < limit_ms;
  };
  try {
    const answer = (await simulator(module, progress)).ask(request);
    postMessage({ number, answer, ms: performance.now() - began }, [answer.buffer]);
  } catch (error) {
    postMessage({ number, failed: error.message });
  }
});
