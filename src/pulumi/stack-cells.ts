/** Decides the part of each cell in a stack from the plan, the registry and the stack's state. Pure. */

import type { Digest } from "../oci/digest.ts";
import type { ReadyCell } from "../fleet/engines/jobs.ts";
import type { StackImage } from "./stack-images.ts";

/**
 * - `register`: the provider builds it.
 * - `keep`: the stack has it. Its build is compared by input digest alone, so the provider's own comparison (a commit in an
 *   argument, a path) must change nothing.
 * - `adopt`: somebody else has pushed the same inputs. The provider would push over them, so there is no resource.
 * - `lost`: the stack has pushed it and the registry does not have it any more. The provider sees no drift: it is built again
 *   from a Dockerfile of another name.
 */
export type CellPart = "register" | "keep" | "adopt" | "lost";

export interface CellViews {
  readonly planned: ReadyCell;
  readonly imageName: string;
  /** The image of the same inputs that the registry has under the tag; null when it has none, undefined when it was not asked. */
  readonly published: Digest | null | undefined;
  /** The image that the stack has under the cell's name. */
  readonly known: StackImage | null;
  readonly push: boolean;
}

export function partOf({ planned, imageName, published, known, push }: CellViews): CellPart {
  const same =
    known !== null &&
    known.imageName === imageName &&
    timesBuilt(known.dockerfile, planned.cell.id, planned.inputDigest) !== null;
  if (published) return same ? "keep" : "adopt";
  if (!same) return "register";
  if (!push || published === undefined) return "keep";
  // Built before without a push: the provider pushes it now by itself.
  return known.pushed ? "lost" : "register";
}

/**
 * Name of a cell's Dockerfile inside the context: with the inputs, so that the state tells of which inputs an image is. One that
 * was lost is built `again`, once more each time: another name is another build to the provider.
 */
export function dockerfileName(cell: string, inputDigest: Digest, again = 0): string {
  const plain = cell.replace(/[^a-zA-Z0-9._+-]/g, "_").slice(0, 100);
  const inputs = inputDigest.slice("sha256:".length, "sha256:".length + 16);
  return `${plain}-${inputs}${again === 0 ? "" : `.again${again}`}.Dockerfile`;
}

/** How often the stack has built an image again, from its Dockerfile's path; null for one of other inputs. */
export function timesBuilt(dockerfile: string, cell: string, inputDigest: Digest): number | null {
  const name = dockerfile.slice(dockerfile.lastIndexOf("/") + 1);
  const again = Number(/\.again(\d{1,9})\.Dockerfile$/.exec(name)?.[1] ?? 0);
  return name === dockerfileName(cell, inputDigest, again) ? again : null;
}

/** Stable: neither other cells nor their order change it. */
export function resourceName(fleet: string, cell: string): string {
  return `${fleet}-${cell}`;
}
