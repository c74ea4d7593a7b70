// Links that hold a scenario, compressed. Both lengths are bounded: a link may come from anybody.

// Ours: characters of a link, and of what it unfolds to.
const MOST_LINK = 32_768;
const MOST_TEXT = 262_144;
const UNFOLDS = "it unfolds to too much";
const TOO_LONG = "The scenario is too long for a link.";

async function piped(bytes, stream, most) {
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader();
  const parts = [];
  for (let size = 0; ;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new Error(UNFOLDS);
    }
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts).arrayBuffer());
}

/** An address that holds what can be said as JSON. */
export async function asLink(held, page = location.href.split("#")[0]) {
  const whole = new TextEncoder().encode(JSON.stringify(held));
  if (whole.length > MOST_TEXT) throw new Error(TOO_LONG);
  const packed = await piped(whole, new CompressionStream("deflate-raw"), MOST_TEXT);
  const coded = btoa(String.fromCharCode(...packed))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  if (coded.length > MOST_LINK) throw new Error(TOO_LONG);
  return `${page}#s=${coded}`;
}

async function unfolded(hash) {
  const packed = Uint8Array.from(atob(hash.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  const bytes = await piped(packed, new DecompressionStream("deflate-raw"), MOST_TEXT);
  return JSON.parse(new TextDecoder().decode(bytes));
}

/** What a link holds; throws if it is none of ours. `known` are the schemes that there are. */
export async function fromLink(hash, known) {
  if (hash.length > MOST_LINK + 8) throw new Error("it is too long");
  const held = await unfolded(hash).catch((error) => {
    throw error.message === UNFOLDS ? error : new Error("it is damaged, or not whole");
  });
  const { text, schemes, seeds } = held ?? {};
  if (typeof text !== "string" || !Array.isArray(schemes)) throw new Error("it holds no scenario");
  return {
    text,
    schemes: schemes.filter((one) => known.includes(one)),
    seeds: Number(seeds) || 1,
  };
}
