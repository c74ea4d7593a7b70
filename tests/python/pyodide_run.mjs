// Runs scenarios in Pyodide, for tests: the wheel and Pyodide's folder as arguments, requests as JSON from standard input;
// prints of each the run as JSON, and a digest of each column.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [wheel, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ stdout: () => {} });
const module = execFileSync("unzip", ["-p", wheel, "midpath/_midpath*"], { maxBuffer: 1 << 26 });
python.FS.writeFile(`/home/pyodide/_midpath.so`, module);
python.globals.set("asked", readFileSync(0, "utf8"));
console.log(
  await python.runPythonAsync(`
import _midpath, hashlib, json

def said(request):
    run, tables, files = _midpath.run(request["text"], "", scheme=request.get("scheme"), seed=None, threads=1)
    digest = lambda column: [column[0], hashlib.sha256(column[1]).hexdigest(), *column[2:]]
    digests = {name: {key: digest(column) for key, column in table.items()} for name, table in tables.items()}
    return {"run": run, "tables": digests}

json.dumps([said(request) for request in json.loads(asked)])
`),
);
