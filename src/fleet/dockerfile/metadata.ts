/**
 * Writes the end of every Dockerfile: labels and environment that other tools read.
 *
 * - `org.opencontainers.image.*`: OCI image spec, annotations.md
 * - `com.nvidia.volumes.needed`, `com.nvidia.cuda.version`: nvidia-docker 1, wiki "Image inspection"
 * - `NVIDIA_*`: NVIDIA Container Toolkit, "Environment variables (OCI spec)"
 */

import {
  answerOfSide,
  type BySide,
  type CudaRequirement,
  type Requirement,
  sidesOf,
} from "../../lock/requirement.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { describingArgs } from "../../oci/build-words.ts";
import { sortedEntries } from "../../io/collections.ts";
import type { Cell } from "../cells/cell.ts";
import { memoizeBy } from "../cells/memoize-by.ts";
import { quote } from "./shell-word.ts";

const cellLabel = "dev.imgmatch.cell";
const axesLabel = "dev.imgmatch.axes";
export const requiresLabel = "dev.imgmatch.requires";

/** @param base the reference that the image starts from */
export function metadataInstructions(cell: Cell, matrix: Matrix, base: string): string {
  return sharedParts(matrix)(cell.requires)
    .map((part) => (typeof part === "string" ? part : part(cell, base)))
    .join("");
}

type Part = string | ((cell: Cell, base: string) => string);

/** The text that is equal for cells with one requirement, and a function for each differing part. */
const sharedParts = memoizeBy((matrix: Matrix) =>
  memoizeBy((requires: Requirement): readonly Part[] => {
    const sides = sidesOf(requires).map((side) => answerOfSide(ofVendor, side));
    // With `void` the NVIDIA runtime does nothing: it injects no driver of the host.
    const environment = Object.assign(
      { NVIDIA_VISIBLE_DEVICES: "void" },
      ...sides.map((each) => each.environment),
    );
    const labels: Readonly<Record<string, string | ((cell: Cell) => string)>> = {
      ...matrix.labels,
      "org.opencontainers.image.title": matrix.name,
      ...(matrix.source === null ? {} : { "org.opencontainers.image.source": matrix.source }),
      [cellLabel]: ({ id }) => id,
      [axesLabel]: ({ axes }) => JSON.stringify(axes),
      [requiresLabel]: JSON.stringify(requires),
      ...Object.assign({}, ...sides.map((each) => each.labels)),
    };
    return [
      "# Added by imgmatch: what this image is and what it needs from a host.\n",
      `ARG ${describingArgs.revision}=\n`,
      `ARG ${describingArgs.version}=\n`,
      (_: Cell, base: string) => `ARG ${describingArgs.baseName}=${quote(base)}\n`,
      `ARG ${describingArgs.baseDigest}=\n`,
      ...sortedEntries(labels).map(([key, value]) =>
        typeof value === "string"
          ? `LABEL ${key}=${quote(value)}\n`
          : (cell: Cell) => `LABEL ${key}=${quote(value(cell))}\n`,
      ),
      `LABEL org.opencontainers.image.revision="\${${describingArgs.revision}}"\n`,
      // The version that the image is built under. A later version may take the image over.
      `LABEL org.opencontainers.image.version="\${${describingArgs.version}}"\n`,
      `LABEL org.opencontainers.image.base.name="\${${describingArgs.baseName}}"\n`,
      `LABEL org.opencontainers.image.base.digest="\${${describingArgs.baseDigest}}"\n`,
      ...Object.entries<string>(environment).map(([key, value]) => `ENV ${key}=${quote(value)}\n`),
    ].reduce<Part[]>(joinTexts, []);
  }),
);

function joinTexts(parts: Part[], part: Part): Part[] {
  const last = parts.at(-1);
  return typeof last === "string" && typeof part === "string"
    ? [...parts.slice(0, -1), last + part]
    : [...parts, part];
}

/** Labels and environment that the tools of an image's vendor read. */
const ofVendor: BySide<Record<"labels" | "environment", Record<string, string>>> = {
  nvidia: (cuda) => {
    const labels = { "com.nvidia.cuda.version": cuda.toolkit };
    // An image with its own driver needs neither a volume with the host's nor its libraries.
    if (cuda.driver.mode === "bundled") return { labels, environment: {} };
    return {
      labels: { ...labels, "com.nvidia.volumes.needed": "nvidia_driver" },
      environment: {
        NVIDIA_VISIBLE_DEVICES: "all",
        NVIDIA_DRIVER_CAPABILITIES: "compute,utility",
        NVIDIA_REQUIRE_CUDA: cuda.require ?? `cuda>=${oldestDriverApi(cuda)}`,
      },
    };
  },
  amd: () => ({ labels: {}, environment: {} }),
};

/**
 * The oldest driver, as a CUDA version, that the runtime must accept. From 11.0 on that is any driver of the toolkit's major
 * (minor-version compatibility). In compat mode every driver passes, as the branch decides.
 */
function oldestDriverApi({ toolkit, driver }: CudaRequirement): string {
  const [major = "0", minor = "0"] = toolkit.split(".");
  if (driver.mode === "compat") return "0.0";
  return Number(major) >= 11 ? `${major}.0` : `${major}.${minor}`;
}
