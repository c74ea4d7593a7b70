// Files that a scenario names: dropped onto the page, or chosen. They stay in this tab.

// Ours: below what the simulator takes with a request (crates/web).
const MOST_BYTES = 60_000_000;

/** The texts of files by name; throws where one is no text, or all are too much. */
export async function readTexts(list, before = {}) {
  const found = { ...before };
  for (const file of list) {
    const others = Object.entries(found).reduce((sum, [name, text]) => sum + (name === file.name ? 0 : text.length), 0);
    if (others + file.size > MOST_BYTES) throw new Error(`${file.name}: files may have ${MOST_BYTES / 1e6} MB in all`);
    try {
      found[file.name] = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    } catch {
      throw new Error(`${file.name} is not UTF-8 text`);
    }
  }
  return found;
}

/** Makes an element take dropped files. */
export function takesDrops(element, take) {
  for (const kind of ["dragenter", "dragover", "dragleave", "drop"])
    element.addEventListener(
      kind,
      (event) => {
        if (!event.dataTransfer?.types.includes("Files")) return;
        // The editor would insert the text of the file.
        event.preventDefault();
        event.stopPropagation();
        element.classList.toggle("dropping", kind === "dragenter" || kind === "dragover");
        if (kind === "drop") take([...event.dataTransfer.files]);
      },
      true,
    );
}
