// Completion from the scenario's JSON Schema: which keys and values fit where the cursor is.

/** What a schema may stand for: references and alternatives followed. */
function* alternatives(root, schema, depth = 0) {
  if (!schema || depth > 12) return;
  if (schema.$ref) yield* alternatives(root, root.$defs?.[schema.$ref.split("/").at(-1)], depth + 1);
  for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])])
    yield* alternatives(root, one, depth + 1);
  yield schema;
}

function at(root, path) {
  let found = [...alternatives(root, root)];
  for (const key of path)
    found = found.flatMap((schema) => {
      const inner =
        schema.properties?.[key] ??
        (typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined);
      const all = [...alternatives(root, inner)];
      return [...all, ...all.flatMap((one) => [...alternatives(root, one.items)])];
    });
  return found;
}

// Commas, braces and quotes of the text before the cursor, from the last line that begins with a key at the top level of
// its table: inline tables may span lines.
function inline(text) {
  const path = [];
  let word = "",
    key = "",
    quote = "";
  for (const c of text) {
    if (quote) {
      if (c === quote) quote = "";
      continue;
    }
    if (c === '"' || c === "'") quote = c;
    else if (c === "=") [key, word] = [word.trim(), ""];
    else if (c === "{") (path.push(key), (key = word = ""));
    else if (c === "}") (path.pop(), (key = word = ""));
    else if (c === "," || c === "\n") key = word = "";
    else if (c !== "[" && c !== "]") word += c;
  }
  return { path: path.filter(Boolean).flatMap((one) => one.split(".")), key, isText: Boolean(quote) };
}

/** Completions for the text before the cursor: how far they reach back, and what they are; null where there is none. */
export function completions(schema, before) {
  if (!schema) return null;
  const lines = before.split("\n"),
    line = lines.at(-1);
  if (/^[^"']*#/.test(line)) return null;
  const heads = lines
    .map((one, i) => [i, /^\s*\[\[?\s*([\w."'@+-]+)\s*\]\]?/.exec(one)?.[1]])
    .filter(([, head]) => head);
  const [start, head] = heads.at(-1) ?? [-1, ""];
  const opening = /^\s*\[\[?([\w.-]*)$/.exec(line);
  if (opening) return shown(opening[1], keys(at(schema, []), true));
  const { path, key, isText } = inline(lines.slice(start + 1).join("\n"));
  const table = [...(head ? head.split(".").map((one) => one.replaceAll(/["']/g, "")) : []), ...path];
  const typed = /[\w.+@-]*$/.exec(line)[0];
  if (key) return shown(typed, values(at(schema, [...table, ...key.split(".")]), isText));
  const parts = typed.split(".");
  return shown(parts.at(-1), keys(at(schema, [...table, ...parts.slice(0, -1)])));
}

function shown(typed, options) {
  const fitting = options.filter(({ label }) => label.startsWith(typed) && label !== typed);
  return fitting.length ? { back: typed.length, options: fitting } : null;
}

const described = (schema) => schema.description ?? "";

function keys(schemas, tables = false) {
  const found = new Map();
  for (const { properties = {} } of schemas) for (const [key, one] of Object.entries(properties)) found.set(key, one);
  return [...found].map(([label, one]) => ({
    label,
    type: "property",
    info: described(one) || undefined,
    apply: tables ? label : `${label} = `,
  }));
}

function values(schemas, isText) {
  const found = new Map();
  for (const schema of schemas)
    for (const value of schema.enum ??
      (schema.const === undefined ? (schema.type === "boolean" ? [true, false] : []) : [schema.const]))
      if (value !== null) found.set(String(value), [value, described(schema)]);
  return [...found].map(([label, [value, info]]) => ({
    label,
    type: "enum",
    info: info || undefined,
    apply: typeof value === "string" && !isText ? `"${label}"` : label,
  }));
}
