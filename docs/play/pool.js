// Workers that run the simulator.
import { opened } from "./simulator.js";

// Ours. A minute is as long as people wait; a worker that says nothing for so much longer has no progress to report.
export const RUN_MS = 60_000;
const SILENT_MS = 20_000;

/** Workers that each run one request at a time, and can be ended at any. */
export class Pool {
  constructor(module, size) {
    Object.assign(this, { module, waiting: [], idle: [], busy: new Map(), number: 0 });
    for (let i = 0; i < size; i++) this.#add();
  }

  #add() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    worker.postMessage({ wasm: this.module });
    worker.onmessage = ({ data }) => this.#heard(worker, data);
    worker.onerror = (event) =>
      this.#heard(worker, { number: this.busy.get(worker)?.number, failed: event.message || "the worker failed" });
    this.idle.push(worker);
    this.#next();
  }

  /** An answer, opened. Rejects if it fails, is ended, or takes too long. */
  ask(request, progress = () => {}, limit_ms = RUN_MS) {
    return new Promise((done, fail) => {
      this.waiting.push({ number: ++this.number, request, progress, limit_ms, done, fail });
      this.#next();
    });
  }

  #next() {
    while (this.idle.length && this.waiting.length) {
      const worker = this.idle.pop(),
        job = this.waiting.shift();
      this.busy.set(worker, job);
      job.timer = setTimeout(
        () => this.#end(worker, `nothing came of it within ${Math.round((job.limit_ms + SILENT_MS) / 1000)} s`),
        job.limit_ms + SILENT_MS,
      );
      worker.postMessage({ number: job.number, request: job.request, limit_ms: job.limit_ms });
    }
  }

  #heard(worker, data) {
    const job = this.busy.get(worker);
    if (!job || data.number !== job.number) return;
    if (data.progress) return job.progress(data.progress);
    clearTimeout(job.timer);
    this.busy.delete(worker);
    this.idle.push(worker);
    if (data.failed !== undefined) job.fail(new Error(data.failed));
    else job.done({ ...opened(data.answer), ms: data.ms });
    this.#next();
  }

  #end(worker, why) {
    const job = this.busy.get(worker);
    clearTimeout(job.timer);
    this.busy.delete(worker);
    worker.terminate();
    job.fail(new Error(why));
    this.#add();
  }

  /** Ends all that runs or waits. */
  stop() {
    for (const job of this.waiting.splice(0)) job.fail(new Error("stopped"));
    for (const worker of [...this.busy.keys()]) this.#end(worker, "stopped");
  }
}
