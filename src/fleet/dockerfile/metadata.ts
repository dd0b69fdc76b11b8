/**
 * The end of every Dockerfile: the labels and environment that other tools read.
 *
 * - `org.opencontainers.image.*`: OCI image spec, annotations.md
 * - `com.nvidia.volumes.needed`, `com.nvidia.cuda.version`: nvidia-docker 1, wiki "Image inspection"
 * - `NVIDIA_*`: NVIDIA Container Toolkit, "Environment variables (OCI spec)"
 */

import type { CudaRequirement, Requirement } from "../../lock/lock.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { describingArgs } from "../../oci/build-words.ts";
import { sortedEntries } from "../../io/collections.ts";
import type { Cell } from "../cells/cell.ts";
import { oncePer } from "../cells/once-per.ts";
import { quote } from "./shell-word.ts";

const cellLabel = "dev.imgmatch.cell";
const axesLabel = "dev.imgmatch.axes";
export const requiresLabel = "dev.imgmatch.requires";

/** Instructions for the end of the stage that becomes the image. `base` is the reference that it starts from. */
export function metadataInstructions(cell: Cell, matrix: Matrix, base: string): string {
  const { labels, environment } = sharedParts(matrix)(cell.requires);
  const own: Readonly<Record<string, string>> = {
    [cellLabel]: cell.id,
    [axesLabel]: JSON.stringify(cell.axes),
  };
  return [
    "# Added by imgmatch: what this image is and what it needs from a host.",
    `ARG ${describingArgs.revision}=`,
    `ARG ${describingArgs.baseName}=${quote(base)}`,
    `ARG ${describingArgs.baseDigest}=`,
    ...labels.map(({ key, line }) => line ?? `LABEL ${key}=${quote(own[key] ?? "")}`),
    `LABEL org.opencontainers.image.revision="\${${describingArgs.revision}}"`,
    `LABEL org.opencontainers.image.base.name="\${${describingArgs.baseName}}"`,
    `LABEL org.opencontainers.image.base.digest="\${${describingArgs.baseDigest}}"`,
    ...environment,
    "",
  ].join("\n");
}

/** The common part of cells of one requirement: labels in their order, without a line for those that each cell has for itself. */
const sharedParts = oncePer((matrix: Matrix) =>
  oncePer((requires: Requirement) => {
    const { cuda } = requires;
    const labels: Readonly<Record<string, string | null>> = {
      ...matrix.labels,
      "org.opencontainers.image.title": matrix.name,
      "org.opencontainers.image.version": matrix.version,
      ...(matrix.source === null ? {} : { "org.opencontainers.image.source": matrix.source }),
      [cellLabel]: null,
      [axesLabel]: null,
      [requiresLabel]: JSON.stringify(requires),
      ...nvidiaDockerLabels(cuda),
    };
    return {
      labels: sortedEntries(labels).map(([key, value]) => ({
        key,
        line: value === null ? null : `LABEL ${key}=${quote(value)}`,
      })),
      environment: Object.entries(nvidiaEnvironment(cuda)).map(
        ([key, value]) => `ENV ${key}=${quote(value)}`,
      ),
    };
  }),
);

function nvidiaDockerLabels(cuda: CudaRequirement | null): Record<string, string> {
  if (cuda === null) return {};
  return {
    "com.nvidia.cuda.version": cuda.toolkit,
    // A bundled driver needs no volume with the host's.
    ...(cuda.driver.mode === "bundled" ? {} : { "com.nvidia.volumes.needed": "nvidia_driver" }),
  };
}

function nvidiaEnvironment(cuda: CudaRequirement | null): Record<string, string> {
  // `void`: the NVIDIA runtime behaves as if it were not there, and injects no driver of the host.
  if (cuda === null || cuda.driver.mode === "bundled") return { NVIDIA_VISIBLE_DEVICES: "void" };
  return {
    NVIDIA_VISIBLE_DEVICES: "all",
    NVIDIA_DRIVER_CAPABILITIES: "compute,utility",
    NVIDIA_REQUIRE_CUDA: cuda.require ?? `cuda>=${oldestDriverApi(cuda)}`,
  };
}

/**
 * The oldest driver that the runtime may demand without refusing one that works: from 11.0 on, any driver of the toolkit's major
 * (minor-version compatibility); in compat mode the runtime must not compare at all but by branch.
 */
function oldestDriverApi({ toolkit, driver }: CudaRequirement): string {
  const [major = "0", minor = "0"] = toolkit.split(".");
  if (driver.mode === "compat") return "0.0";
  return Number(major) >= 11 ? `${major}.0` : `${major}.${minor}`;
}
