// The playground's page: text in, runs in workers, table, report and replay out.
import { fetched, fetchedText } from "./files.js";
import { readTexts, takesDrops } from "./given.js";
import { asLink, fromLink } from "./links.js";
import { commandOf, parts, quoted, replay, report, warned, warningsOf } from "./pages.js";
import { Pool, RUN_MS } from "./pool.js";
import { completions } from "./schema.js";
import { csv } from "./simulator.js";
import { showSliders } from "./sliders.js";
import { Comparison, name, noIdeal, use } from "./stats.js";
import { tables } from "./tables.js";
import { tarred } from "./tar.js";
import { escape } from "./tracks.js";
import { variantParts, Variants, variantTables } from "./variants.js";

// Two at a time: each may take a gigabyte.
const WORKERS = Math.min(2, navigator.hardwareConcurrency || 1);
// Ours: half of what replay.js shows well.
const TRACE_EVENTS = 100_000;
const $ = (id) => document.getElementById(id);
const page = { files: {}, facts: null, schema: null, assets: {}, editor: null, last: null, pool: null };

const checkedIn = (id) => [...document.querySelectorAll(`#${id} input:checked`)].map(({ value }) => value);
const ticked = () => checkedIn("schemes");
const seeds = () => Math.min(20, Math.max(1, Math.round(Number($("seeds").value)) || 1));

/** The seeds of a scenario that was checked. */
const seedsOf = ({ seed = 1 } = {}) => Array.from({ length: seeds() }, (_, i) => seed + i);

/** What repeats at home what is asked for. */
const command = (scenario) => commandOf(ticked(), seedsOf(scenario), scenario, checkedIn("variants"));

function trouble(text) {
  $("trouble").hidden = !text;
  $("trouble").textContent = text;
}

/** An error in words; a page has no files but those that were given to it. */
function worded({ key, message }) {
  const missing = message.replace("not among the files that were handed in", "drop it onto this page, or choose it below");
  return key ? `${key}: ${missing}` : missing;
}

const withLine = (error) => `${error.line ? `line ${error.line}: ` : ""}${worded(error)}`;

function showErrors(errors) {
  page.editor.errors = errors.map((error) => ({ line: error.line, message: worded(error) }));
  $("errors").replaceChildren(
    ...errors.map((error) => {
      const button = Object.assign(document.createElement("button"), { type: "button" });
      button.textContent = withLine(error);
      button.onclick = () => page.editor.focus(error.line ?? 1);
      const item = document.createElement("li");
      item.append(button);
      return item;
    }),
  );
}

function showFiles() {
  $("files").replaceChildren(
    ...Object.keys(page.files).map((name) => {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: "×" });
      button.setAttribute("aria-label", `Remove ${name}`);
      button.onclick = () => {
        delete page.files[name];
        showFiles();
        changed();
      };
      const item = document.createElement("li");
      item.append(name, " ", button);
      return item;
    }),
  );
}

/** Offers the variants that the scenario has; what was not ticked before stays so. */
function showVariants(names) {
  const left = [...document.querySelectorAll("#variants input:not(:checked)")].map(({ value }) => value);
  const shown = names
    .map((one) => {
      const box = `<input type="checkbox" value="${escape(one)}"${left.includes(one) ? "" : " checked"}>`;
      return `<label>${box}${escape(one)}</label>`;
    })
    .join("");
  if ($("variants").innerHTML !== shown) $("variants").innerHTML = shown;
  $("varied").hidden = !names.length;
}

/** Takes files: one scenario into the editor, all others as what it names. */
async function take(list) {
  try {
    const scenario = list.find(({ name }) => name.endsWith(".toml"));
    const texts = await readTexts(list, page.files);
    if (scenario) page.editor.text = texts[scenario.name];
    if (scenario) $("gallery").value = "";
    if (scenario) delete texts[scenario.name];
    page.files = texts;
    trouble("");
    showFiles();
    changed();
  } catch (error) {
    trouble(error.message);
  }
}

/** What the simulator says of what stands here, without a run. */
async function checked(variant) {
  const text = page.editor.text;
  const found = await page.pool.ask({ ask: "check", text, files: page.files, variant }, undefined, 5000);
  if (found.variants && text === page.editor.text) showVariants(found.variants);
  return found;
}

/** Sliders start from what was loaded or typed; what they type themselves leaves them where they are. */
let turnedTo = null;
function offerSliders() {
  const text = page.editor.text;
  if (text === turnedTo) return;
  const turned = (now) => {
    turnedTo = now;
    page.editor.text = now;
  };
  $("turn").hidden = !showSliders($("sliders"), text, turned, again);
}

let isStale = false;
/** Runs what stands here; while something is under way only the last position of the sliders counts. */
async function again() {
  isStale = true;
  if ($("run").disabled) return;
  while (isStale) {
    isStale = false;
    await busy(compare);
  }
}

let checking;
function changed() {
  offerSliders();
  clearTimeout(checking);
  checking = setTimeout(async () => {
    const text = page.editor.text;
    try {
      let { errors } = await checked();
      for (const variant of checkedIn("variants")) errors ??= (await checked(variant)).errors;
      if (text === page.editor.text) showErrors(errors ?? []);
    } catch {
      // A check that was ended says nothing.
    }
  }, 400);
}

class Refused extends Error {}

/** Shows the errors, and ends what was asked for; what is only too large for a tab can be run at home. */
function refuse(errors, home) {
  showErrors(errors);
  const instead = /memory|than a tab takes/.test(errors[0].message) ? `. At home:\n${home}` : "";
  throw new Refused(`${withLine(errors[0])}${instead}`);
}

/** A run, or `Refused` with what to do instead. */
async function ran(request, home, progress) {
  let found;
  try {
    found = await page.pool.ask(request, progress);
  } catch (error) {
    if (error.message === "stopped") throw error;
    throw new Refused(`This run does not fit a tab (${error.message}). At home:\n${home}`);
  }
  if (found.errors) refuse(found.errors, home);
  if (found.stopped) {
    const { simulated_s, stop_s } = found.stopped;
    const reached = `after ${RUN_MS / 1000} s it had simulated ${simulated_s.toPrecision(3)} s${stop_s ? ` of ${stop_s} s` : ""}`;
    throw new Refused(`This run is too long for a tab: ${reached}. At home:\n${home}`);
  }
  return found;
}

async function busy(work) {
  const focused = document.activeElement;
  for (const id of ["run", "move"]) $(id).disabled = true;
  Object.assign($("stop"), { hidden: false });
  Object.assign($("progress"), { hidden: false, value: 0 });
  trouble("");
  showErrors([]);
  try {
    await work();
  } catch (error) {
    page.pool.stop();
    $("said").textContent = error.message === "stopped" ? "Stopped." : "";
    if (error.message !== "stopped") trouble(error.message);
  } finally {
    for (const id of ["run", "move"]) $(id).disabled = false;
    for (const id of ["stop", "progress"]) $(id).hidden = true;
    // A button that is disabled loses the keyboard.
    if (document.activeElement === document.body) focused.focus({ preventScroll: true });
  }
}

/** The scenario as the simulator reads it; `Refused` if it cannot. */
async function read(home, variant) {
  const { errors, scenario } = await checked(variant);
  if (errors) refuse(errors, home(scenario ?? undefined));
  return scenario;
}

/** Runs all, and shows the table. */
async function compare() {
  const text = page.editor.text,
    files = page.files,
    began = performance.now();
  const scenario = await read(command);
  const asked = checkedIn("variants"),
    scenarios = new Map();
  for (const variant of asked.length ? asked : [undefined]) scenarios.set(variant, await read(command, variant));
  // The warnings say so.
  const lacksIdeal = [...scenarios.values()].some(noIdeal);
  const schemes = ticked().filter((scheme) => scheme !== "ideal" || !lacksIdeal);
  if (!schemes.length) throw new Refused("Tick a scheme.");
  const all = seedsOf(scenario),
    home = command(scenario);
  const jobs = [...scenarios.keys()].flatMap((variant) =>
    schemes.flatMap((scheme) => all.map((seed) => ({ variant, scheme, seed, done: 0 }))),
  );
  const show = () => {
    $("progress").value = jobs.reduce((sum, { done }) => sum + done, 0) / jobs.length;
    $("said").textContent = `${jobs.filter(({ done }) => done === 1).length} of ${jobs.length} runs`;
  };
  show();
  const runs = await Promise.all(
    jobs.map(async (job) => {
      const { variant, scheme, seed } = job;
      const found = await ran({ ask: "run", text, files, variant, scheme, seed }, home, ({ simulated_s, stop_s }) => {
        job.done = stop_s ? Math.min(0.99, simulated_s / stop_s) : 0.5;
        show();
      });
      job.done = 1;
      show();
      return found;
    }),
  );
  const left = [...runs];
  const comparisons = [...scenarios].map(([variant, read]) => {
    const results = new Map(schemes.map((scheme) => [scheme, left.splice(0, all.length)]));
    return [variant, new Comparison(schemes, all, results, read)];
  });
  const [[, comparison]] = comparisons;
  const variants = asked.length ? new Variants(new Map(comparisons), scenario) : null;
  const hops = runs.reduce((sum, { run }) => sum + run.packet_hops, 0),
    wall = runs.reduce((sum, { run }) => sum + run.wall_s, 0);
  page.last = { comparisons, comparison, variants, text, files };
  $("results").hidden = false;
  $("verdict").textContent = (variants ?? comparison).sentences().join(" ");
  $("warnings").innerHTML = warningsOf(variants ? variants.warnings() : warned(comparison));
  $("table").innerHTML = variants ? variantTables(variants) : tables(comparison);
  // What can be scrolled can be reached by the keyboard.
  for (const region of document.querySelectorAll("#table .scroll")) region.tabIndex = 0;
  paint();
  const seconds = ((performance.now() - began) / 1000).toFixed(1);
  const speed = hops
    ? `; ${hops.toLocaleString("en")} packet-hops, ${(hops / wall / 1e6).toFixed(1)} million a second`
    : "";
  $("said").textContent = `${runs.length} ${runs.length === 1 ? "run" : "runs"} in ${seconds} s${speed}.`;
  document.documentElement.dataset.table = String(performance.now());
  // The table is seen before the figures are made.
  await new Promise((done) => setTimeout(done));
  await frame("report", "Report of this comparison", await reportPage());
}

/** Colours of the table's schemes, which report.js gives those of its page. */
function paint() {
  const side = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  for (const chip of document.querySelectorAll("#table [data-scheme], #schemes [data-scheme]"))
    chip.style.setProperty("--scheme", looks()[chip.dataset.scheme]?.[side] ?? "currentColor");
}

const looks = () => Object.fromEntries(page.facts.schemes.map(({ id, look }) => [id, look]));

async function assets() {
  for (const file of ["page.html", "report.css", "report.js", "replay.html", "replay.css", "replay.js"])
    page.assets[file] ??= await fetchedText(file);
  if (!page.assets.plotly) {
    const bytes = new Uint8Array(await (await fetch("plotly-basic.min.js.gz")).arrayBuffer());
    const packed =
      bytes[0] === 0x1f
        ? bytes
        : new Uint8Array(
            await new Response(new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))).arrayBuffer(),
          );
    let text = "";
    for (let i = 0; i < packed.length; i += 8192) text += String.fromCharCode(...packed.subarray(i, i + 8192));
    page.assets.plotly = btoa(text);
  }
  return page.assets;
}

async function reportPage() {
  const { comparison, variants, text } = page.last;
  const { tints, order } = page.facts;
  page.last.made ??= variants
    ? variantParts(variants, looks(), tints, order, text)
    : parts(comparison, looks(), tints, text);
  return report(page.last.made, await assets());
}

// A frame has no right but to run its own scripts: not this page, nor what it keeps, nor the network's credentials. It
// says how high it is.
// Browsers observe no sizes in a frame that is out of sight: so it also says it a few times at the start.
const HEIGHT = `<script>{
const say = () => parent.postMessage({ height: document.body.scrollHeight }, "*");
new ResizeObserver(say).observe(document.body);
for (const ms of [0, 300, 1000, 3000]) setTimeout(say, ms);
}</script>`;

async function frame(kind, title, html) {
  const made = document.createElement("iframe"),
    old = document.querySelector(`#frames [data-kind="${kind}"]`);
  Object.assign(made, { title, srcdoc: html.replace("</body>", `${HEIGHT}</body>`) });
  made.sandbox.add("allow-scripts");
  made.dataset.kind = kind;
  // As high as the one before it, so that what is read stays where it is.
  if (old) made.style.height = old.style.height;
  if (old) old.replaceWith(made);
  else $("frames").append(made);
}

addEventListener("message", ({ data, source }) => {
  const found = [...document.querySelectorAll("#frames iframe")].find((one) => one.contentWindow === source);
  if (found && Number.isFinite(data?.height))
    found.style.height = `${Math.min(20_000, Math.max(200, data.height + 4))}px`;
});

/** One run with a trace, of the first scheme that is ticked, as packets that move. */
async function move() {
  const scheme = ticked().find((one) => one !== "ideal");
  if (!scheme) throw new Refused("Tick a scheme that has packets.");
  const [variant] = checkedIn("variants");
  const chosen = variant === undefined ? "" : ` --variant ${quoted(variant)}`;
  const command = (given) => `midpath run scenario.toml${chosen} --scheme ${scheme} --seed ${seedsOf(given)[0]}`;
  const scenario = await read(command, variant),
    [seed] = seedsOf(scenario),
    home = command(scenario);
  const text = page.editor.text;
  const traced = scenario.trace ? text : `${text}\n[trace]\nevents = ${TRACE_EVENTS}\n`;
  $("said").textContent = `${name(scheme)}, with each packet recorded`;
  const request = { ask: "run", text: traced, files: page.files, variant, scheme, seed };
  const found = await ran(request, home, ({ simulated_s, stop_s }) => {
    $("progress").value = stop_s ? simulated_s / stop_s : 0.5;
  });
  const html = replay(found, await assets());
  if (!html) throw new Refused("This run recorded no event.");
  await frame("replay", `Replay of ${name(scheme)}`, html);
  $("said").textContent = `${name(scheme)}: the replay is below.`;
  document.querySelector('#frames [data-kind="replay"]').scrollIntoView({ block: "start" });
}

// --- Copies, files --------------------------------------------------------------------------------

function load({ id = "", text, schemes, seeds: count, files = {} }) {
  $("gallery").value = id;
  page.files = files;
  showFiles();
  page.editor.text = text;
  for (const box of document.querySelectorAll("#schemes input")) box.checked = schemes.includes(box.value);
  if (count) $("seeds").value = Math.min(20, Math.max(1, count));
}

async function copied(button, text) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    trouble(text);
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
}

function saved(file, parts, type) {
  const link = Object.assign(document.createElement("a"), {
    download: file,
    href: URL.createObjectURL(new Blob(parts, { type })),
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function saveResults() {
  const { comparisons, text, files: named } = page.last;
  const files = Object.entries({ "scenario.toml": text, ...named }).map((one) => tarred(...one));
  const runs = comparisons.flatMap(([variant, { schemes, seeds, results }]) =>
    schemes.flatMap((scheme) =>
      results.get(scheme).map((one, i) => [`${variant ? `variants/${variant}/` : ""}${scheme}-${seeds[i]}`, one]),
    ),
  );
  for (const [folder, one] of runs) {
    files.push(tarred(`${folder}/run.json`, one.runText));
    for (const [table, columns] of Object.entries(one.tables))
      files.push(tarred(`${folder}/${table}.csv`, csv(columns)));
    for (const [file, bytes] of Object.entries(one.files)) files.push(tarred(`${folder}/${file}`, bytes));
  }
  const whole = new Blob([...files.flat(), new Uint8Array(1024)]).stream().pipeThrough(new CompressionStream("gzip"));
  saved("midpath-results.tar.gz", [await new Response(whole).arrayBuffer()], "application/gzip");
}

// --- The page -------------------------------------------------------------------------------------

/** Completions while a word is typed, or when asked for. */
const complete = (before, isAsked) => (isAsked || /[\w"'.]$/.test(before) ? completions(page.schema, before) : null);

/** CodeMirror, or a plain text area where it cannot be loaded. */
async function editor(text) {
  try {
    const source = await fetchedText("editor.min.js.gz");
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    const { editor } = await import(url);
    return editor($("editor"), { text, changed, complete });
  } catch {
    const area = Object.assign(document.createElement("textarea"), {
      value: text,
      spellcheck: false,
      oninput: changed,
    });
    area.setAttribute("aria-label", "Scenario in TOML");
    $("editor").append(area);
    return {
      get text() {
        return area.value;
      },
      set text(value) {
        area.value = value;
        changed();
      },
      set errors(_) {},
      focus(line) {
        const at = area.value
          .split("\n")
          .slice(0, line - 1)
          .join("\n").length;
        area.focus();
        area.setSelectionRange(at, at);
      },
    };
  }
}

function offer() {
  const { schemes, gallery } = page.facts;
  $("schemes").innerHTML = schemes
    .map(
      ({ id, name }) =>
        `<label><input type="checkbox" value="${escape(id)}"><span class="chip" data-scheme="${escape(id)}"><i></i>${escape(name)}</span></label>`,
    )
    .join("");
  $("gallery").innerHTML = [{ id: "", title: "(none of these)" }, ...gallery]
    .map(({ id, title }) => `<option value="${escape(id)}">${escape(title)}</option>`)
    .join("");
  $("gallery").onchange = () => $("gallery").value && load(fromGallery($("gallery").value));
  paint();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
}

function fromGallery(id) {
  const found = page.facts.gallery.find((one) => one.id === id) ?? page.facts.gallery[0];
  const { text, schemes, files } = found;
  const own = /^scheme\s*=\s*"([^"]+)"/m.exec(text)?.[1];
  return {
    id: found.id,
    text,
    files: { ...files },
    schemes: schemes.length ? schemes : [own ?? "cubic", ...(own ? [] : ["newreno"])],
  };
}

/** Keeps what this page has loaded: its service worker came after that. */
async function keep() {
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register("offline.js");
  const { scope } = await navigator.serviceWorker.ready;
  const loaded = performance.getEntriesByType("resource").map(({ name }) => name.split("#")[0]);
  const own = [location.href.split(/[?#]/)[0], ...loaded].filter((address) => address.startsWith(scope));
  await (await caches.open("midpath-play")).addAll(new Set(own));
  document.documentElement.dataset.offline = "";
}

async function begin() {
  if (location.protocol === "file:")
    throw new Error(
      "a browser gives a page from a folder no simulator; use a server, such as that of `make docs-serve`",
    );
  const asked = new URLSearchParams(location.search);
  document.documentElement.classList.toggle("embed", asked.has("embed"));
  page.facts = JSON.parse(await fetchedText("play.json"));
  use(page.facts);
  offer();
  const first = fromGallery(asked.get("example") ?? "dumbbell");
  const bytes = fetched("midpath.wasm.gz");
  page.editor = await editor(first.text);
  load(first);
  const hash = location.hash.slice(1);
  if (hash.startsWith("s="))
    await fromLink(
      hash.slice(2),
      page.facts.schemes.map(({ id }) => id),
    ).then(load, (error) => trouble(`This link cannot be used: ${error.message}.`));
  page.pool = new Pool(await WebAssembly.compile(await bytes), WORKERS);
  ({ schema: page.schema } = await page.pool.ask({ ask: "schema" }));
  $("said").textContent = "Ready.";
  for (const id of ["run", "move"]) $(id).disabled = false;
  $("run").onclick = again;
  $("move").onclick = () => busy(move).then(() => isStale && again());
  $("stop").onclick = () => page.pool.stop();
  $("choose").onchange = () => take([...$("choose").files]).finally(() => ($("choose").value = ""));
  takesDrops($("scenario"), take);
  $("link").onclick = () =>
    asLink({ text: page.editor.text, schemes: ticked(), seeds: seeds() }).then(
      (link) => {
        copied($("link"), link);
        if (Object.keys(page.files).length) $("said").textContent = "The link has the scenario without its files.";
      },
      (error) => trouble(error.message),
    );
  $("command").onclick = async () => {
    const { scenario } = await checked().catch(() => ({}));
    copied($("command"), command(scenario ?? undefined));
  };
  $("save-results").onclick = saveResults;
  $("save-report").onclick = async () => saved("midpath-report.html", [await reportPage()], "text/html");
  changed();
  document.documentElement.dataset.ready = String(performance.now());
  // All that a later click needs, so that it works without a network.
  assets()
    .then(keep)
    .catch(() => {});
}

begin().catch((error) => {
  $("said").textContent = "";
  trouble(`The simulator cannot be loaded: ${error.message}.`);
});
