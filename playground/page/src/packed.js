// Data in texts: compressed, then in base64.

async function through(stream, bytes) {
  const out = new Blob([bytes]).stream().pipeThrough(stream);
  return new Uint8Array(await new Response(out).arrayBuffer());
}

function bytes(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** What the build packed. */
export function unpacked(text) {
  return through(new DecompressionStream("gzip"), bytes(text));
}

/** A text as part of an address. */
export async function toLink(text) {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(text));
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  return btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text of a part of an address that [toLink] made. */
export async function fromLink(link) {
  const packed = bytes(link.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), packed));
}
