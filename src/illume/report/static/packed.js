// Packed numbers: little-endian bytes in base64.

export const ARRAYS = {
  i1: Int8Array, i2: Int16Array, i4: Int32Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array,
  f4: Float32Array, f8: Float64Array,
};

/** Return packed numbers as an array; an array stays what it is. */
export function unpack(packed) {
  if (ArrayBuffer.isView(packed)) return packed;
  const text = atob(packed.text);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
  const numbers = new ARRAYS[packed.type](bytes.buffer);
  return packed.unit === 1 ? numbers : Float64Array.from(numbers, (number) => number * packed.unit);
}

export function once(work) {
  let result;
  return () => (result === undefined ? (result = work()) : result);
}
