/**
 * The form of each fact, whatever its source: a file, this machine, the labels of a node. Facts become labels, arguments and lines on
 * terminals, so none is any text. A fact in another form is not known.
 */

import { findMarch } from "../hardware/cpu-marches.ts";
import { isPrintable, printable } from "../printable.ts";
import type { AmdFacts, CpuFacts, GpuFacts, HostFacts, NvidiaFacts } from "./facts.ts";

export const factGrammar = {
  /** GOOS/GOARCH, with the variant of an OCI platform. */
  platform: /^[a-z0-9]{1,32}\/[a-z0-9_]{1,32}(?:\/[a-z0-9]{1,32})?$/,
  kernel: /^\d{1,9}(?:\.\d{1,9}){0,5}$/,
  /** As Linux names them: lower case letters, digits and low lines (arch/x86/include/asm/cpufeatures.h). */
  feature: /^[a-z0-9_]{1,64}$/,
  /** `GenuineIntel`, `ARM`, an implementer's number (`0x48`), `Geode by NSC`. */
  vendor: /^[A-Za-z0-9][A-Za-z0-9 ._()-]{0,63}$/,
  level: /^[a-z0-9][a-z0-9._-]{0,31}$/,
  driver: /^\d{1,9}(?:\.\d{1,9}){1,3}$/,
  toolkit: /^\d{1,4}(?:\.\d{1,4}){1,3}$/,
  cuda: /^\d{1,3}\.\d{1,2}$/,
  compute: /^\d{1,2}\.\d$/,
  /** Major, and a hexadecimal digit each for minor and stepping. */
  target: /^gfx\d{1,2}[0-9a-f]{2}$/,
  /** `GPU-…`, `MIG-…`, older `MIG-GPU-…/1/0`, and the bare digits of a Tegra. */
  uuid: /^[A-Za-z0-9][A-Za-z0-9/-]{0,95}$/,
  pci: /^[0-9a-f]{4}:[0-9a-f]{4}$/i,
  /** A domain of four or eight digits. */
  bus: /^(?:[0-9a-f]{4}){1,2}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i,
  render: /^\/dev\/dri\/renderD\d{1,4}$/,
  /** `3g.40gb`, `1c.3g.40gb`, `1g.10gb+me`, `1g.24gb-me` (MIG User Guide, "Supported MIG profiles"). */
  profile: /^[A-Za-z0-9][A-Za-z0-9.+-]{0,31}$/,
  /** A dotted path of facts. */
  source: /^[A-Za-z]{1,32}(?:\.[A-Za-z]{1,32}){0,3}$/,
} as const;

/** A level that the tables have; of another one nothing is known. */
export function knownLevel(level: string | null): string | null {
  return level !== null && factGrammar.level.test(level) && findMarch(level) !== null ? level : null;
}

/** Text for people, in one line. */
export function plainText(text: string): string {
  return isPrintable(text) ? text : printable(text);
}

/** The same facts without what is outside the grammar: that is unknown, as if it had not been told. */
export function withinGrammar(facts: HostFacts): HostFacts {
  const { kernel, cpu, nvidia, amd, runtime, problems, sources } = facts;
  return {
    ...facts,
    kernel: fitting(kernel, factGrammar.kernel),
    cpu: cpuWithin(cpu),
    nvidia: nvidia == null ? nvidia : nvidiaWithin(nvidia),
    amd: amd == null ? amd : amdWithin(amd),
    runtime: runtimeWithin(runtime),
    problems: problems.map(({ code, message, fix }) => ({
      code,
      message: plainText(message),
      ...(fix === undefined ? {} : { fix: plainText(fix) }),
    })),
    sources: Object.fromEntries(
      Object.entries(sources)
        .filter(([fact]) => factGrammar.source.test(fact))
        .map(([fact, from]) => [fact, plainText(from)]),
    ),
  };
}

function runtimeWithin({ toolkit, ...runtime }: HostFacts["runtime"]): HostFacts["runtime"] {
  return toolkit !== undefined && factGrammar.toolkit.test(toolkit) ? { ...runtime, toolkit } : runtime;
}

function nvidiaWithin(nvidia: NvidiaFacts): NvidiaFacts {
  return {
    ...nvidia,
    driver: fitting(nvidia.driver, factGrammar.driver),
    library: fitting(nvidia.library, factGrammar.driver),
    cuda: fitting(nvidia.cuda, factGrammar.cuda),
    gpus: nvidia.gpus.map(gpuWithin),
  };
}

function amdWithin(amd: AmdFacts): AmdFacts {
  return {
    ...amd,
    driver: fitting(amd.driver, factGrammar.driver),
    gpus: amd.gpus.map((gpu) => ({
      ...gpu,
      uuid: fitting(gpu.uuid, factGrammar.uuid),
      name: gpu.name === null ? null : plainText(gpu.name),
      target: fitting(gpu.target, factGrammar.target),
      pci: fitting(gpu.pci, factGrammar.pci),
      bus: fitting(gpu.bus, factGrammar.bus),
      render: fitting(gpu.render, factGrammar.render),
    })),
  };
}

function cpuWithin({ vendor, model, features, unknown, level }: CpuFacts): CpuFacts {
  const named = (names: readonly string[]) => names.filter((name) => factGrammar.feature.test(name));
  return {
    vendor: fitting(vendor, factGrammar.vendor),
    model: model === null ? null : plainText(model),
    features: features === null ? null : named(features),
    ...(unknown === undefined ? {} : { unknown: named(unknown) }),
    level: knownLevel(level),
  };
}

function gpuWithin(gpu: GpuFacts): GpuFacts {
  return {
    ...gpu,
    uuid: fitting(gpu.uuid, factGrammar.uuid),
    name: gpu.name === null ? null : plainText(gpu.name),
    compute: fitting(gpu.compute, factGrammar.compute),
    pci: fitting(gpu.pci, factGrammar.pci),
    bus: fitting(gpu.bus, factGrammar.bus),
    // Without a name nothing can be started on an instance, and it is no other.
    mig: gpu.mig.filter(
      ({ uuid, profile }) => factGrammar.uuid.test(uuid) && factGrammar.profile.test(profile),
    ),
  };
}

function fitting(text: string | null, grammar: RegExp): string | null {
  return text !== null && grammar.test(text) ? text : null;
}
