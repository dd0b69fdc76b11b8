/** NVIDIA's toolkits and targets, as a matrix writes them. */

import { toolkitNames } from "../../hardware/gpu-vendors.ts";
import type { Place } from "../../errors.ts";
import { formatComputeCapability } from "../../hardware/compute-capability.ts";
import {
  type CudaToolkit,
  cudaToolkits,
  driverFloor,
  findShortToolkit,
  findToolkit,
  shortToolkit,
  unlistedToolkit,
} from "../../hardware/cuda-toolkits.ts";
import { minorOf, parseDriverVersion } from "../../hardware/driver-version.ts";
import { findCompatPackage } from "../../hardware/forward-compat.ts";
import { findJetsonPackage } from "../../hardware/jetson-compat.ts";
import { findArchitecture } from "../../hardware/gpu-architectures.ts";
import { formatGpuTarget, type GpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { suggest } from "../../io/suggest.ts";
import type { DriverRequirement } from "../../lock/requirement.ts";
import type { Toolkits } from "./matrix.ts";
import { type Parsed, refused } from "./matrix-problems.ts";
import type { DriverInput, ToolkitInput } from "./value-schemas.ts";

type Toolkit = Toolkits["nvidia"];

export const nvidiaAxis = {
  name: toolkitNames.nvidia,
  key: "cuda",
  axis: "cuda",
  takes: ["driver", "require"],
  goesWithoutCode: true,
  examples: { release: "12.8.1", target: '"9.0"' },
  releaseOf: (text: string) => findToolkit(text)?.release ?? null,
  shortOf: (release: string) => shortToolkit({ minor: minorOf(release) }),
  parseToolkit,
  parseTarget,
  codeOf: (targets: readonly GpuTarget[]) => targets.map(formatGpuTarget),
  clashes: () => [],
} as const;

function parseToolkit(text: string, { driver, require }: ToolkitInput, at: Place): Parsed<Toolkit> {
  const isFloorGiven = driver?.mode === "host" && driver.minimum !== undefined;
  const toolkit =
    findToolkit(text) ?? findShortToolkit(text) ?? (isFloorGiven ? unlistedToolkit(text) : null);
  if (toolkit === null && text === "unknown")
    return refused("the CUDA toolkit is not known yet", 'write that of the base, such as "12.8.1"', at);
  if (toolkit === null) {
    const releases = cudaToolkits.map(({ release }) => release);
    const near = suggest(text, releases);
    const fix = near === null ? "imgmatch hardware cuda lists the known ones" : `did you mean "${near}"?`;
    return refused(`unknown CUDA toolkit ${JSON.stringify(text)}`, fix, at);
  }
  const parsed = parseDriver(driver ?? { mode: "host" }, toolkit, at);
  if ("problems" in parsed) return parsed;
  return { value: { ...toolkit, driver: parsed.value, require: require ?? null } };
}

function parseDriver(input: DriverInput, toolkit: CudaToolkit, at: Place): Parsed<DriverRequirement> {
  const links = input.mode === "bundled" || input.links === undefined ? {} : { links: input.links };
  switch (input.mode) {
    case "bundled":
      return parseDriverVersion(input.version) === null
        ? refused(`${JSON.stringify(input.version)} is not a driver version`, 'write it as "396.44"', at)
        : { value: { mode: "bundled", version: input.version } };
    case "compat": {
      const cuda = input.cuda ?? toolkit.minor;
      const isJetson = input.for === "jetson";
      const known = isJetson ? findJetsonPackage(cuda) : findCompatPackage(cuda);
      const version = input.package ?? (isJetson ? minorOf(cuda) : findCompatPackage(cuda)?.libcuda) ?? null;
      const branches = input.branches ?? known?.branches ?? null;
      if (version === null || branches === null || (isJetson && branches.length === 0)) {
        return refused(
          `no cuda-compat package ${isJetson ? "for Jetson " : ""}is known for CUDA ${cuda}`,
          isJetson
            ? "name the branches of JetPack's driver that it supports"
            : "name the package's driver version as package, and the branches that it supports",
          at,
        );
      }
      // NVIDIA's images have the package outside the loader's path.
      const onPath = input.onPath ?? "never";
      const own = isJetson ? ({ for: "jetson" } as const) : {};
      return { value: { mode: "compat", ...own, package: version, cuda, branches, onPath, ...links } };
    }
    case "host": {
      const minimum = input.minimum ?? driverFloor(toolkit)?.minimum ?? null;
      if (minimum !== null && parseDriverVersion(minimum) !== null)
        return {
          value: { mode: "host", minimum, ...(input.l4t !== undefined && { l4t: input.l4t }), ...links },
        };
      return minimum === null
        ? refused(
            `the minimum driver of CUDA ${toolkit.release} is not known`,
            'name it: driver: { mode: host, minimum: "…" }',
            at,
          )
        : refused(`${JSON.stringify(minimum)} is not a driver version`, 'write it as "525.60.13"', at);
    }
  }
}

function parseTarget(text: string, at: Place): Parsed<readonly GpuTarget[]> | null {
  const targets = readTargets(text);
  const [first] = targets ?? [];
  if (targets === null || first === undefined) return null;
  if (findArchitecture(first.compute) !== null) return { value: targets };
  const name = formatComputeCapability(first.compute);
  return refused(`unknown compute capability ${name}`, "imgmatch hardware gpu lists the known ones", at);
}
