// Runs scenarios in Pyodide, for tests: the wheel and Pyodide's folder as arguments, requests as JSON from standard input;
// prints of each the run as JSON, and a digest of each column.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [wheel, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const python = await loadPyodide({ stdout: () => {} });
// The extension alone: NumPy and pyarrow, which the package imports, come from Pyodide's distribution.
python.unpackArchive(new Uint8Array(readFileSync(wheel)), "wheel", { extractDir: "/home/pyodide/wheel" });
python.globals.set("asked", readFileSync(0, "utf8"));
console.log(
  await python.runPythonAsync(`
import hashlib, json, sys

sys.path.insert(0, "/home/pyodide/wheel/midpath")
import _midpath

def said(request):
    run, tables, files = _midpath.run(request["text"], "", scheme=request.get("scheme"), seed=None, threads=1)
    digest = lambda column: [column[0], hashlib.sha256(column[1]).hexdigest(), *column[2:]]
    digests = {name: {key: digest(column) for key, column in table.items()} for name, table in tables.items()}
    return {"run": run, "tables": digests}

json.dumps([said(request) for request in json.loads(asked)])
`),
);
