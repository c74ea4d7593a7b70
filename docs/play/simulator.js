// The simulator as WebAssembly: the other side of crates/web/src/abi.rs. Browsers and Node run this file as it is.

const ARRAYS = {
  uint64: BigUint64Array,
  uint32: Uint32Array,
  "uint32?": Uint32Array,
  float64: Float64Array,
  bool: Uint8Array,
  str: Uint32Array,
};
const NONE = 0xffffffff;

/** A fresh simulator; memory ends with it. `progress({ simulated_s, stop_s, packet_hops })` may return false to stop. */
export async function simulator(module, progress = () => true) {
  let request, answer, panic, memory;
  const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
  const imports = {
    now_ms: () => performance.now(),
    progress: (simulated_s, stop_s, packet_hops) => (progress({ simulated_s, stop_s, packet_hops }) === false ? 0 : 1),
    read_request: (at) => bytes(at, request.length).set(request),
    take_answer(at, length, isPanic) {
      const copy = bytes(at, length).slice();
      if (isPanic) panic = new TextDecoder().decode(copy);
      else answer = copy;
    },
  };
  const instance = await WebAssembly.instantiate(module, { midpath: imports });
  memory = instance.exports.memory;
  return {
    /** The answer's bytes. Throws where the simulator fails: out of memory, mostly. */
    ask(asked) {
      request = new TextEncoder().encode(JSON.stringify(asked));
      answer = panic = undefined;
      try {
        instance.exports.answer(request.length);
      } catch (error) {
        throw new Error(panic ?? String(error));
      }
      return answer;
    },
    get memory() {
      return memory.buffer.byteLength;
    },
  };
}

/** An answer's JSON, with `run`, the tables' columns and files in place. */
export function opened(answer) {
  const length = new DataView(answer.buffer, answer.byteOffset).getUint32(0, true);
  const text = (bytes) => new TextDecoder().decode(bytes);
  const start = answer.byteOffset + 4 + length;
  const cut = ({ at, bytes }) => new Uint8Array(answer.buffer, start + at, bytes);
  const head = JSON.parse(text(answer.subarray(4, 4 + length)));
  if (!head.run) return head;
  const column = ({ name, kind, dictionary, place }) => [name, { kind, dictionary, bytes: cut(place) }];
  const table = ({ name, rows, columns }) => [name, { rows, columns: Object.fromEntries(columns.map(column)) }];
  const runText = text(cut(head.run));
  return {
    runText,
    run: JSON.parse(runText),
    tables: Object.fromEntries(head.tables.map(table)),
    files: Object.fromEntries(head.files.map(({ name, place }) => [name, cut(place)])),
  };
}

/** A column's values as numbers; what is not known is NaN. */
export function numbers({ kind, bytes }) {
  const values = new ARRAYS[kind](bytes.buffer, bytes.byteOffset, bytes.length / ARRAYS[kind].BYTES_PER_ELEMENT);
  return Float64Array.from(values, (value) => (kind === "uint32?" && value === NONE ? NaN : Number(value)));
}

/** A column's values as texts. */
export function texts(column) {
  return Array.from(numbers(column), (index) => column.dictionary[index]);
}

/** A table as CSV, in the numbers of the table. */
export function csv({ rows, columns }) {
  const names = Object.keys(columns);
  const quoted = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const cells = names.map((name) => {
    const column = columns[name];
    if (column.kind === "str") return texts(column).map(quoted);
    if (column.kind === "uint64")
      return Array.from(new BigUint64Array(column.bytes.buffer, column.bytes.byteOffset, rows), String);
    if (column.kind === "bool") return Array.from(column.bytes, (value) => String(value === 1));
    return Array.from(numbers(column), (value) => (Number.isNaN(value) ? "" : String(value)));
  });
  const lines = Array.from({ length: rows }, (_, row) => cells.map((column) => column[row]).join(","));
  return [names.map(quoted).join(","), ...lines, ""].join("\n");
}
