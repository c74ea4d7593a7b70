// Archives of results.

/** A file in a tar archive (POSIX.1-1988, ustar). */
export function tarred(file, content) {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const head = new Uint8Array(512);
  const put = (at, text) => head.set(new TextEncoder().encode(text), at);
  // A name has 100 bytes, the folder before it 155.
  const cut = file.length < 100 ? 0 : file.lastIndexOf("/") + 1;
  put(0, file.slice(cut));
  if (cut) put(345, file.slice(0, cut - 1));
  put(
    100,
    "0000644\0" +
      "0000000\0" +
      "0000000\0" +
      bytes.length.toString(8).padStart(11, "0") +
      "\0" +
      "00000000000\0" +
      "        0",
  );
  put(257, "ustar\0" + "00");
  put(
    148,
    head
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, "0") + "\0 ",
  );
  return [head, bytes, new Uint8Array((512 - (bytes.length % 512)) % 512)];
}
