// Numbers that Python squeezed: base 85, compressed, bytes of equal place side by side.

import { ARRAYS } from "./packed.js";

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=:?@^_`{|}~";

/** Return the bytes of a text in base 85: five characters are four bytes, fewer at the end one byte less. */
function bytesOf(text) {
  const digit = new Uint8Array(128);
  for (let i = 0; i < DIGITS.length; i += 1) digit[DIGITS.charCodeAt(i)] = i;
  const padded = text.padEnd(5 * Math.ceil(text.length / 5), "~");
  const view = new DataView(new ArrayBuffer((padded.length / 5) * 4));
  for (let at = 0; at < padded.length; at += 5) {
    let number = 0;
    for (let i = 0; i < 5; i += 1) number = number * 85 + digit[padded.charCodeAt(at + i)];
    view.setUint32((at / 5) * 4, number);
  }
  return new Uint8Array(view.buffer, 0, view.byteLength - (padded.length - text.length));
}

const inflate = (text) => new Response(new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate")));

/** Return a text that Python squeezed. */
export const expandText = (text) => inflate(text).text();

async function expand({ type, unit, text }) {
  const Kind = ARRAYS[type];
  const places = new Uint8Array(await inflate(text).arrayBuffer());
  const size = Kind.BYTES_PER_ELEMENT;
  const n = places.length / size;
  const bytes = new Uint8Array(places.length);
  for (let i = 0; i < n; i += 1) {
    for (let place = 0; place < size; place += 1) bytes[size * i + place] = places[place * n + i];
  }
  const numbers = new Kind(bytes.buffer);
  // Whole numbers with a unit are folded: 0, -1, 1, -2, …
  return unit === null ? numbers : Float64Array.from(numbers, (folded) => (folded % 2 ? -(folded + 1) / 2 : folded / 2) * unit);
}

/** Return the same with arrays in the place of all that is squeezed, however deep. */
export async function expandAll(value) {
  if (value === null || typeof value !== "object") return value;
  if (value.squeezed) return expand(value);
  if (Array.isArray(value)) return Promise.all(value.map(expandAll));
  const entries = await Promise.all(Object.entries(value).map(async ([name, each]) => [name, await expandAll(each)]));
  return Object.fromEntries(entries);
}
