/** Reads protobuf, in which a container runtime answers. */

interface Field {
  readonly number: number;
  /** Varints as numbers, length-delimited fields as bytes. */
  readonly value: number | Uint8Array;
}

/**
 * Yields the fields of a protobuf message (https://protobuf.dev/programming-guides/encoding/) of wire types 0 and 2, skips fixed ones, and
 * stops at bytes that are no message.
 */
export function* readFields(bytes: Uint8Array): Generator<Field> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    let scale = 1;
    while (at < bytes.length) {
      const byte = bytes[at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    return Number.NaN;
  };
  while (at < bytes.length) {
    const key = varint();
    const number = Math.floor(key / 8);
    switch (key % 8) {
      case 0:
        yield { number, value: varint() };
        break;
      case 1:
        at += 8;
        break;
      case 2: {
        const length = varint();
        if (!(at + length <= bytes.length)) return;
        yield { number, value: bytes.subarray(at, at + length) };
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return;
    }
  }
}
