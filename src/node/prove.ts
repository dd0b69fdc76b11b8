/** Whether this machine's driver loads what the rules say that it loads: the rules, held against the driver itself. */

import { resolve } from "node:path";
import { askDriver } from "../host/nvidia/ask-driver.ts";
import type { CudaResult } from "../host/nvidia/cuda-koffi.ts";
import type { CpuFacts, NvidiaFacts } from "../host/facts.ts";
import { probe } from "../host/probe.ts";
import {
  carriedModules,
  collectModules,
  type LoadableModule,
  type ModuleFacts,
} from "../inspect/gpu/loadable-modules.ts";
import { noCache } from "../inspect/image/layer-cache.ts";
import { type OpenChoice, type OpenEvent, openOptions, openSubject } from "../inspect/open-subject.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import { registryFor, type RegistryAccess } from "../oci/registry/registry-access.ts";
import { type ProvedVariant, proveVariants } from "./prove-variants.ts";
import { agreement, judgeModule, type ModuleVerdict } from "./judge-module.ts";

export interface ProveOptions extends OpenChoice, RegistryAccess, Watching<OpenEvent> {
  /** As for `inspect`. Default: an empty kernel for each GPU target and each PTX ISA. */
  readonly images?: readonly string[];
  /** The place to look for a name that is no path; by default in the engine first. */
  readonly from?: "engine" | "registry";
  /** A folder with files `libggml-cpu-*.so`, whose own probe is called: this runs their code. Without images, no driver is asked then. */
  readonly variants?: string;
  /** The words that start imgmatch; by default that in PATH. */
  readonly self?: readonly [string, ...string[]];
}

/** Facts and outcomes, without names of hosts and images: a capture for tests. */
export interface ProveAnswer {
  readonly schemaVersion: 1;
  /** null if no variant is asked. */
  readonly cpu: CpuFacts | null;
  /** As `probe` has it, with the GPUs of the driver, one of each kind, in its order; null where it is not asked. */
  readonly nvidia: NvidiaFacts | null;
  readonly modules: readonly ProvedModule[];
  /** Targets of which no module stands by itself, or only large ones. */
  readonly leftOut: readonly string[];
  readonly variants: readonly ProvedVariant[];
}

export interface ProvedModule extends ModuleFacts {
  /** Of each GPU. */
  readonly results: readonly ModuleResult[];
}

export interface ModuleResult {
  /** Index in `nvidia.gpus`. */
  readonly gpu: number;
  readonly verdict: ModuleVerdict;
  /** null where the driver ended its process, or did not answer in time. */
  readonly driver: CudaResult | null;
  /** null where either says nothing. */
  readonly agreed: boolean | null;
}

/**
 * Loads one module of each GPU target with the driver of this machine, and compares its answer with the rules. Runs no code of a module;
 * `variants` runs code of its folder.
 *
 * Throws `HOST_NO_DRIVER`, `HOST_NVML_FAILED`, and what `inspect` throws.
 *
 * @example
 * const { modules } = await prove({ images: ["vllm/vllm-openai:v0.11.0"] });
 * modules.filter(({ results }) => results.some(({ agreed }) => agreed === false));
 */
export async function prove(asked: ProveOptions = {}, given?: Partial<World>): Promise<ProveAnswer> {
  const world = worldOf(asked, given);
  const { images = [], variants } = asked;
  const command = [...(asked.self ?? (["imgmatch"] as const)), "prove", "--each-line"] as const;
  const onGpus =
    variants !== undefined && images.length === 0
      ? { nvidia: null, modules: [], leftOut: [] }
      : await proveModules(asked, command, world);
  if (variants === undefined) return { schemaVersion: 1, cpu: null, ...onGpus, variants: [] };
  const folder = resolve(world.cwd, variants);
  const { cpu } = await probe({}, world);
  const asking = [...command, "--variants", folder] as const;
  return { schemaVersion: 1, cpu, ...onGpus, variants: await proveVariants(folder, cpu, asking, world) };
}

async function proveModules(
  asked: ProveOptions,
  command: readonly [string, ...string[]],
  world: World,
): Promise<Pick<ProveAnswer, "nvidia" | "modules" | "leftOut">> {
  // An image of gigabytes is not opened where nobody can load anything.
  if (asked.images?.length) await askDriver(command, [], world);
  const { modules, leftOut } = await modulesOf(asked, world);
  const loaded = modules.map(({ bytes }) => bytes);
  const { nvidia, answers } = await askDriver(command, loaded, world);
  return {
    nvidia,
    modules: modules.map(({ bytes: _, ...module }, index) => ({
      ...module,
      results: nvidia.gpus.map((gpu, at) => {
        const [verdict, driver] = [judgeModule(module, nvidia, gpu), answers[index]?.[at] ?? null];
        return { gpu: at, verdict, driver, agreed: agreement(verdict, driver) };
      }),
    })),
    leftOut,
  };
}

async function modulesOf(
  asked: ProveOptions,
  world: World,
): Promise<{ readonly modules: readonly LoadableModule[]; readonly leftOut: readonly string[] }> {
  const { images = [], from } = asked;
  if (images.length === 0) return { modules: carriedModules(), leftOut: [] };
  const collection = collectModules();
  const request = {
    ...openOptions(asked, world),
    // The cache of layers keeps no code.
    cache: noCache,
    inspector: collection.inspector,
    env: world.env,
    registry: await registryFor(asked, world),
    ...(from && { from }),
  };
  for (const image of images) await openSubject(image, world.cwd, request);
  return { modules: collection.modules(), leftOut: collection.leftOut() };
}
