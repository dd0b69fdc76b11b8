/** The device nodes of the NVIDIA driver: nodes that the container lacks, and nodes that the user may not open. */

import { isContainer } from "../container-runtime.ts";
import type { HostProblem } from "../../facts/facts.ts";
import type { HostIo } from "../host-io.ts";
import { noCompute, noPermission } from "../../facts/host-problems.ts";
import { isGivenCuda } from "./container-toolkit.ts";
import { procCards } from "./proc-reading.ts";

export const controlNode = "/dev/nvidiactl";
export const uvmNode = "/dev/nvidia-uvm";

/** True if the node is there and this user may not open it. The engine of containers, which is root, opens it all the same. */
export function isRefused(io: HostIo, node: string): boolean {
  return io.exists(node) && !io.mayOpen(node);
}

/** Why no card of the module is listed, as far as its nodes tell; null for another reason. */
export type NoCards = { readonly absent: number } | { readonly refused: readonly string[] } | null;

export function whyNoCards(io: HostIo): NoCards {
  const named = procCards(io).flatMap(({ node }) => node ?? []);
  const here = (named.length > 0 ? named : firstNodes).filter((node) => io.exists(node));
  if (here.length > 0) return here.every((node) => isRefused(io, node)) ? { refused: here } : null;
  return isContainer(io) ? { absent: named.length } : null;
}

/** Where no list of cards can be read. */
const firstNodes = Array.from({ length: 16 }, (_, minor) => `/dev/nvidia${minor}`);

/**
 * Why CUDA of this process does not start although containers of an engine get it: a node that this user may not open, or a container
 * without the capability `compute`. null where neither is so.
 */
export function whyNoCudaHere(io: HostIo): HostProblem | null {
  const refused = [controlNode, uvmNode].filter((node) => isRefused(io, node));
  // A user who is given some of the cards is refused the others (Slurm).
  const cards = whyNoCards(io);
  const all = [...refused, ...(cards !== null && "refused" in cards ? cards.refused : [])];
  if (all.length > 0) return noPermission(all.join(", "));
  return isWithheld(io) ? noCompute() : null;
}

/** True in a container that was started without the capability `compute`: it has neither the node nor libcuda. */
export function isWithheld(io: HostIo): boolean {
  return !io.exists(uvmNode) && isContainer(io) && !isGivenCuda(io);
}
