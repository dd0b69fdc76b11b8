/** The start of a vendor's runtime: what a driver says when it is asked, and a table for each vendor. */

import type { World } from "../io/world.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import type { HostIo } from "./host-io.ts";

/** The first answer that is no success, or the number of devices. */
export type Start = { readonly devices: number } | FailedStart;

export interface FailedStart {
  readonly call: string;
  /** The library ended its process, did not answer in time, or cannot be loaded. */
  readonly code: number | "ended" | "late" | "unloadable";
  /** The file that was loaded, if it is known. */
  readonly library?: string;
}

/** An error code that is about the host, as the runtime's header has it. */
export interface Failure {
  readonly name: string;
  readonly meaning: string;
}

/** What a failed start says, with the row of its code; null for a code of no row. */
export function failureOf<Row extends Failure>(
  { call, code }: FailedStart,
  failures: Readonly<Record<number, Row>>,
): { readonly message: string; readonly row: Row | null } | null {
  if (code === "unloadable") return null;
  if (typeof code === "string")
    return { message: `${call} ${code === "late" ? "gives no answer" : "ends its process"}`, row: null };
  const row = failures[code];
  return row === undefined
    ? null
    : { message: `${call} fails with ${code} ${row.name}: ${row.meaning}`, row };
}

/** A vendor's runtime: the functions that start the runtime, and the meaning of failures. */
export interface StartTable {
  /** `CUDA` */
  readonly runtime: string;
  readonly libraries: readonly string[];
  readonly init: string;
  readonly count: string;
  /** Without the variables that hide GPUs or put another library first: those are this process's own. */
  readonly environment: (env: World["env"], io: HostIo) => World["env"];
  /** Why the runtime says nothing of the host where this process starts it: a device that its user may not open. null where nothing is known. */
  readonly whyMute: (io: HostIo) => HostProblem | null;
  /** null where the answer is about this process and not about the host, or where the facts name the cause already. */
  readonly problem: (start: Start, facts: HostFacts, io: HostIo) => HostProblem | null;
  /** The GPUs of this machine or this container, as far as bus and nodes tell. */
  readonly given: (io: HostIo) => number;
  /** The facts of a host whose runtime starts with all GPUs. */
  readonly proved: (facts: HostFacts, io: HostIo) => Promise<HostFacts>;
  /** Of a runtime that a process may find in another library than the host's. */
  readonly own?: {
    /** True where the start of the host's library does not tell how a program of this process starts. */
    readonly isOpen: (facts: HostFacts, io: HostIo) => boolean;
    readonly problem: (start: Start, io: HostIo) => HostProblem | null;
  };
}
