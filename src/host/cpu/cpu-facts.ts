/** Reads the CPU part of the facts. */

import { inferHiddenFeatures, inferOfBase, inferUnprinted } from "../../hardware/cpu-hidden-features.ts";
import { cpuLevel } from "../../hardware/cpu-levels.ts";
import { parseVersion, type VersionParts } from "../../hardware/driver-version.ts";
import type { CpuFacts, FactsPart } from "../../facts/facts.ts";
import { denied, type HostIo } from "../host-io.ts";
import { unreadable } from "../../facts/host-problems.ts";
import { type CpuInfo, noCpu, parseCpuinfo } from "./cpuinfo.ts";

const path = "/proc/cpuinfo";

/** Reads `/proc/cpuinfo` of a machine of this architecture (OCI word: `amd64`, `arm64`, `ppc64le`, `riscv64`) under a kernel (`6.8.0`, null if unknown). */
export function readCpu(
  io: Pick<HostIo, "readText">,
  architecture: string,
  kernel: string | null = null,
): FactsPart<CpuFacts> {
  const text = io.readText(path);
  if (typeof text !== "string") {
    const why = text === denied ? "may not be read" : "does not exist";
    return { facts: cpuFacts(noCpu, null, architecture), problems: [unreadable(path, why)], sources: {} };
  }
  const info = parseCpuinfo(text, architecture);
  if (info.features === null) {
    // Under qemu-user a program of one architecture reads the /proc/cpuinfo of another.
    const problems = [unreadable(path, `lists no CPU features of ${architecture}`)];
    return { facts: cpuFacts(info, null, architecture), problems, sources: {} };
  }
  const hidden = hiddenFeatures(info, kernel === null ? null : parseVersion(kernel));
  const features = [...new Set([...info.features, ...hidden])].sort();
  const source = hidden.length === 0 ? path : `${path} + ${info.family === null ? "kernel" : "family/model"}`;
  return { facts: cpuFacts(info, features, architecture), problems: [], sources: { "cpu.features": source } };
}

function cpuFacts(info: CpuInfo, features: readonly string[] | null, architecture: string): CpuFacts {
  const level = features === null ? null : cpuLevel(architecture, features);
  return { vendor: info.vendor, model: info.model, features, level };
}

/** Features that this kernel prints under no name: by vendor, family and model, or as a part of another feature. */
function hiddenFeatures(
  { vendor, family, features }: CpuInfo,
  kernel: VersionParts | null,
): readonly string[] {
  if (features === null) return [];
  const ofBase =
    kernel === null ? [] : inferOfBase(features, kernel).filter((name) => !features.includes(name));
  if (vendor === null || family === null) return ofBase;
  const inferred = [
    ...inferHiddenFeatures(vendor, family.family, family.model, features),
    ...(kernel === null ? [] : inferUnprinted(vendor, family.family, family.model, features, kernel)),
  ];
  return inferred.filter((name) => !features.includes(name));
}
