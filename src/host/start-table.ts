/** The start of a vendor's runtime: what a driver says when it is asked, and a table for each vendor. */

import type { World } from "../io/world.ts";
import type { HostFacts, HostProblem } from "./facts.ts";
import type { HostIo } from "./host-io.ts";

/** The first answer that is no success, or the number of devices. */
export type Start =
  | { readonly devices: number }
  | { readonly call: string; readonly code: number }
  /** The library ended its process, or did not answer in time. */
  | { readonly call: string; readonly code: "ended" | "late" };

/** A vendor's runtime: the functions that start the runtime, and the meaning of failures. */
export interface StartTable {
  /** `CUDA` */
  readonly runtime: string;
  readonly libraries: readonly string[];
  readonly init: string;
  readonly count: string;
  /** Variables that hide GPUs, or put another library first. */
  readonly environment: (env: World["env"]) => World["env"];
  /** The device files that the library opens. */
  readonly devices: (io: HostIo) => readonly string[];
  /** null where the answer is about this process and not about the host, or where the facts name the cause already. */
  readonly problem: (start: Start, facts: HostFacts) => HostProblem | null;
  /** The facts of a host whose runtime starts with all GPUs. */
  readonly proved: (facts: HostFacts) => HostFacts;
}
