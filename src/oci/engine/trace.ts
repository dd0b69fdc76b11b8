/**
 * BuildKit's progress inside the engine's build stream: `moby.buildkit.trace` messages hold a `StatusResponse`
 * (moby/buildkit, api/services/control/control.proto). Only what a log needs is read.
 */

import { fieldMap, readFields } from "./protobuf.ts";

export interface Trace {
  readonly vertexes: readonly TraceVertex[];
  readonly logs: readonly TraceLog[];
}

/** One step. `startedMs` and `completedMs` are milliseconds since 1970, or null while it has not. */
export interface TraceVertex {
  readonly digest: string;
  readonly name: string;
  readonly cached: boolean;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  /** Empty when it did not fail. */
  readonly error: string;
}

/** Output of a step. `stream` is 1 for standard output and 2 for standard error. */
export interface TraceLog {
  readonly vertex: string;
  readonly stream: number;
  readonly bytes: Uint8Array;
}

/** Reads the base64 text of one message. */
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
