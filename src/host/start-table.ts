/** The start of a vendor's runtime: what a driver says when it is asked, and a table for each vendor. */

import type { World } from "../io/world.ts";
import type { HostFacts, HostProblem } from "../facts/facts.ts";
import type { HostIo } from "./host-io.ts";

/** The first answer that is no success, or the number of devices. */
export type Start =
  | { readonly devices: number }
  | { readonly call: string; readonly code: number }
  /** The library ended its process, or did not answer in time. */
  | { readonly call: string; readonly code: "ended" | "late" };

/** An error code that is about the host, as the runtime's header has it. */
export interface Failure {
  readonly name: string;
  readonly meaning: string;
}

/** What a failed start says, with the row of its code; null for a code of no row. */
export function failureOf<Row extends Failure>(
  { call, code }: Exclude<Start, { readonly devices: number }>,
  failures: Readonly<Record<number, Row>>,
): { readonly message: string; readonly row: Row | null } | null {
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
  /** Variables that hide GPUs, or put another library first. */
  readonly environment: (env: World["env"]) => World["env"];
  /** Why the runtime says nothing of the host where this process starts it: a device that its user may not open. null where nothing is known. */
  readonly whyMute: (io: HostIo) => HostProblem | null;
  /** null where the answer is about this process and not about the host, or where the facts name the cause already. */
  readonly problem: (start: Start, facts: HostFacts) => HostProblem | null;
  /** The facts of a host whose runtime starts with all GPUs. */
  readonly proved: (facts: HostFacts) => HostFacts;
}
