/** `imgmatch prove`: compares the rules with this machine's driver, which loads GPU code or refuses it. */

import { resolve } from "node:path";
import { askDriver } from "../host/nvidia/ask-driver.ts";
import type { CudaResult } from "../host/nvidia/cuda-koffi.ts";
import type { CpuFacts, NvidiaFacts } from "../facts/facts.ts";
import { nodeHostIo } from "../host/node-host-io.ts";
import { probeHost } from "../host/probe-host.ts";
import {
  carriedModules,
  collectModules,
  type LoadableModule,
  type ModuleFacts,
} from "../inspect/nvidia/loadable-modules.ts";
import { noCache } from "../inspect/image/layer-cache.ts";
import { lookInEngine } from "../inspect/image/from-engine.ts";
import { openOptions, openSubject } from "../inspect/open-subject.ts";
import type { OpenChoice, OpenEvent } from "../lock/statement.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { type ProvedVariant, proveVariants } from "./prove-variants.ts";
import { agreement, judgeModule, type ModuleVerdict } from "./judge-module.ts";

export interface ProveOptions extends OpenChoice, RegistryAccess, Watching<OpenEvent> {
  /** Images as `inspect` takes them. Default: an empty kernel for each GPU target and each PTX ISA. */
  readonly images?: readonly string[];
  /** The place of an image that is no path. Default: the engine, then the registry. */
  readonly from?: "engine" | "registry";
  /** A folder with files `libggml-cpu-*.so`, whose own probe runs. Without images, no driver is asked then. */
  readonly variants?: string;
  /** The words that start imgmatch. Default: the one in PATH. */
  readonly self?: readonly [string, ...string[]];
}

/** Facts and outcomes, without names of hosts and images: a capture for tests. */
export interface ProveAnswer {
  readonly schemaVersion: 1;
  /** null without `variants`. */
  readonly cpu: CpuFacts | null;
  /** The facts of `probe`, with one GPU of each kind in the driver's order; null if no driver was asked. */
  readonly nvidia: NvidiaFacts | null;
  readonly modules: readonly ProvedModule[];
  /** Targets without a module that loads by itself, or with only large ones. */
  readonly leftOut: readonly string[];
  readonly variants: readonly ProvedVariant[];
}

export interface ProvedModule extends ModuleFacts {
  /** One for each GPU. */
  readonly results: readonly ModuleResult[];
}

export interface ModuleResult {
  /** The index in `nvidia.gpus`. */
  readonly gpu: number;
  readonly verdict: ModuleVerdict;
  /** null if the driver ended its process, or did not answer in time. */
  readonly driver: CudaResult | null;
  /** null if either does not decide. */
  readonly agreed: boolean | null;
}

/**
 * Loads a module of each GPU target with the driver of this machine, and compares the answer with the rules. No code of a module runs, but
 * `variants` runs code of its folder.
 *
 * Throws `HOST_NO_DRIVER`, `HOST_NVML_FAILED`, and what `inspect` throws.
 *
 * @example
 * const { modules } = await prove({ images: ["vllm/vllm-openai:v0.11.0"] });
 * modules.filter(({ results }) => results.some(({ agreed }) => agreed === false));
 */
export type ProveFunction = (options?: ProveOptions, world?: Partial<World>) => Promise<ProveAnswer>;

export async function prove(options: ProveOptions = {}, given?: Partial<World>): Promise<ProveAnswer> {
  return inWorld(options, given, (world) => proveIn(options, world));
}

async function proveIn(options: ProveOptions, world: World): Promise<ProveAnswer> {
  const { images = [], variants } = options;
  const command = [...(options.self ?? (["imgmatch"] as const)), "prove", "--each-line", "3"] as const;
  const onGpus =
    variants !== undefined && images.length === 0
      ? { nvidia: null, modules: [], leftOut: [] }
      : await proveModules(options, command, world);
  if (variants === undefined) return { schemaVersion: 1, cpu: null, ...onGpus, variants: [] };
  const folder = resolve(world.cwd, variants);
  const { cpu } = await probeHost(nodeHostIo(world.env));
  const asking = [...command, "--variants", folder] as const;
  return { schemaVersion: 1, cpu, ...onGpus, variants: await proveVariants(folder, cpu, asking, world) };
}

async function proveModules(
  options: ProveOptions,
  command: readonly [string, ...string[]],
  world: World,
): Promise<Pick<ProveAnswer, "nvidia" | "modules" | "leftOut">> {
  // Without a working driver no large image is opened.
  if (options.images?.length) await askDriver(command, [], world);
  const { modules, leftOut } = await modulesOf(options, world);
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
  options: ProveOptions,
  world: World,
): Promise<{ readonly modules: readonly LoadableModule[]; readonly leftOut: readonly string[] }> {
  const { images = [], from } = options;
  if (images.length === 0) return { modules: carriedModules(), leftOut: [] };
  const collection = collectModules();
  const request = {
    ...openOptions(options, world),
    // The cache of layers has no code.
    cache: noCache,
    inspector: collection.inspector,
    look: lookInEngine(world, undefined, (line) => note(world, [line])),
    registry: await registryFor(options, world),
    ...(from && { from }),
  };
  for (const image of images) await openSubject(image, world.cwd, request);
  return { modules: collection.modules(), leftOut: collection.leftOut() };
}
