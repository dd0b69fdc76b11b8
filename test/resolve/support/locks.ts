/** Locks for tests: images with requirements, everything else filled in. */

import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import type { CudaRequirement, Requirement, RocmRequirement } from "../../../src/lock/requirement.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { levelV3 } from "./hosts.ts";

export const digest: Digest = `sha256:${"a".repeat(64)}`;

export function image(change: Partial<LockedImage> = {}): LockedImage {
  return {
    axes: { cuda: "none", march: "x86-64-v3" },
    platform: "linux/amd64",
    tag: "1.0",
    inputDigest: digest,
    digest,
    requires: requirement(null),
    bases: [],
    builder: "docker 28.2.2",
    created: null,
    size: null,
    ...change,
  };
}

export function requirement(
  cuda: CudaRequirement | null,
  features: readonly string[] = levelV3,
): Requirement {
  return { cpu: { march: "x86-64-v3", features }, cuda };
}

/** A requirement in driver mode host, with the floor of CUDA 12. */
export function cuda(
  toolkit: string,
  code: readonly string[],
  change: Partial<CudaRequirement> = {},
): CudaRequirement {
  return { toolkit, code, driver: { mode: "host", minimum: "525.60.13" }, ...change };
}

export function rocm(
  release: string,
  code: readonly string[],
  change: Partial<RocmRequirement> = {},
): RocmRequirement {
  return { release, code, ...change };
}

export function gpuImage(requires: CudaRequirement, change: Partial<LockedImage> = {}): LockedImage {
  return image({
    axes: { cuda: requires.toolkit, compute: requires.code.join(","), march: "x86-64-v3" },
    requires: requirement(requires),
    ...change,
  });
}

/** Images by cell; tags follow the cells. */
export function lockOf(images: Readonly<Record<string, LockedImage>>): Lock {
  return {
    schemaVersion: 2,
    name: "cv-tf",
    version: "1.12.0",
    repository: "registry.example.com/team/cv-tf",
    images: Object.fromEntries(
      Object.entries(images).map(([cell, locked]) => [
        cell,
        { ...locked, tag: cell.replace(/[^\w.-]/g, "_") },
      ]),
    ),
  };
}

export function rocmImage(
  code: readonly string[],
  release = "7.2",
  change: Partial<LockedImage> = {},
): LockedImage {
  return image({
    axes: { accel: `rocm-${release}`, compute: code.join(","), march: "x86-64-v3" },
    requires: { ...requirement(null), rocm: { release, code } },
    ...change,
  });
}
