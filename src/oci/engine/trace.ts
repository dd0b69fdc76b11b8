/**
 * Reads BuildKit's progress from the engine's build stream: `moby.buildkit.trace` messages hold a `StatusResponse`
 * (moby/buildkit, api/services/control/control.proto). Only the fields that a log needs are read.
 */

interface Trace {
  readonly vertexes: readonly TraceVertex[];
  readonly logs: readonly TraceLog[];
}

/** One step. */
export interface TraceVertex {
  readonly digest: string;
  readonly name: string;
  readonly cached: boolean;
  /** Milliseconds since 1970; null before it has started. */
  readonly startedMs: number | null;
  /** null before it is complete. */
  readonly completedMs: number | null;
  /** Empty if it has not failed. */
  readonly error: string;
}

/** Output of a step. */
interface TraceLog {
  readonly vertex: string;
  /** 1 for standard output, 2 for standard error. */
  readonly stream: number;
  readonly bytes: Uint8Array;
}

/** @param base64 one message */
export function readTrace(base64: string): Trace {
  const vertexes: TraceVertex[] = [];
  const logs: TraceLog[] = [];
  for (const { number, value } of readFields(Buffer.from(base64, "base64"))) {
    if (typeof value === "number") continue;
    if (number === 1) vertexes.push(readVertex(value));
    if (number === 3) logs.push(readLog(value));
  }
  return { vertexes, logs };
}

function readVertex(bytes: Uint8Array): TraceVertex {
  const fields = fieldMap(bytes);
  return {
    digest: text(fields.get(1)),
    name: text(fields.get(3)),
    cached: fields.get(4) === 1,
    startedMs: time(fields.get(5)),
    completedMs: time(fields.get(6)),
    error: text(fields.get(7)),
  };
}

function readLog(bytes: Uint8Array): TraceLog {
  const fields = fieldMap(bytes);
  const [stream, message] = [fields.get(3), fields.get(4)];
  return {
    vertex: text(fields.get(1)),
    stream: typeof stream === "number" ? stream : 0,
    bytes: message instanceof Uint8Array ? message : new Uint8Array(),
  };
}

type Value = number | Uint8Array | undefined;

function text(value: Value): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : "";
}

/** google.protobuf.Timestamp: seconds and nanoseconds. */
function time(value: Value): number | null {
  if (!(value instanceof Uint8Array)) return null;
  const fields = fieldMap(value);
  const [seconds, nanos] = [fields.get(1), fields.get(2)];
  if (typeof seconds !== "number") return null;
  return seconds * 1000 + (typeof nanos === "number" ? nanos / 1e6 : 0);
}

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

/** Fields by number; of a repeated one the last counts. */
function fieldMap(bytes: Uint8Array): ReadonlyMap<number, Field["value"]> {
  return new Map([...readFields(bytes)].map(({ number, value }) => [number, value]));
}
