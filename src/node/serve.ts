/** `imgmatch serve`: a mirror on this node's loopback, which answers a fleet's plain name with the node's image. */

import { setTimeout } from "node:timers/promises";
import { usageError } from "../errors.ts";
import { type HostChoice, otherHost, readHostOf } from "../host/probe.ts";
import type { ClusterReader, HostWorld } from "../host/cluster-reader.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import type { FindTrust } from "../lock/store/index-trust.ts";
import { readLock } from "../lock/store/lock-file.ts";
import { parseImageReference } from "../oci/reference.ts";
import { trustOf } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { refuseTrustWithoutRegistry } from "../trust/asks-trust.ts";
import type { RootSource, TrustDemands } from "../oci/trust-flags.ts";
import { policyTrustFor, trustFor } from "../trust/trust-demands.ts";
import type { BlobMode } from "./mirror/answer-blob.ts";
import { createHostProber } from "./mirror/host-prober.ts";
import { nodeApi } from "./mirror/node-api.ts";
import type { NodeKeeper } from "./mirror/node-keeper.ts";
import { nodeMirror, noFleet } from "./mirror/node-mirror.ts";
import {
  installConfig,
  removeConfig,
  type Runtime,
  type RuntimeConfig,
  runtimeConfig,
} from "./mirror/runtime-config.ts";
import { parseListenAddress, startMirror } from "./mirror/server.ts";
import { choiceOf, type QuestionOptions } from "./question.ts";

export interface ServeOptions
  extends HostChoice,
    RegistryAccess,
    TrustDemands,
    Pick<QuestionOptions, "lock" | "cache" | "pin" | "cpu" | "requireGpu">,
    Watching<ServeEvent> {
  /** `registry/repository:version`, or without the version for every version. */
  readonly references?: readonly string[];
  /** A loopback address. Default: `127.0.0.1:5047`. */
  readonly listen?: string;
  /** Refuse a host that no image fits. By default the runtime then asks the registry. */
  readonly failClosed?: boolean;
  /** Default: `off`. */
  readonly blobs?: BlobMode;
  /** Keep the labels of this Kubernetes node true, by the Pod's account. */
  readonly labelNode?: string;
  /** Seconds between two rounds over the labels. Default: 60. */
  readonly labelEvery?: number;
  /** The folder with `token` and `ca.crt` of the account. Default: Kubernetes' mount. */
  readonly serviceAccount?: string;
  /** The words that start this program: another process probes the host. Default: `imgmatch`. */
  readonly self?: readonly [string, ...string[]];
  /** Answer with the configuration of a container runtime, and serve nothing. */
  readonly printConfig?: Runtime;
  /** With `printConfig`: write the files below this folder. A foreign file there is `FILE_EXISTS`. */
  readonly install?: string;
  /** With `printConfig`, without fleets: remove the installed files below this folder. */
  readonly uninstall?: string;
}

/** A line of the log. */
export interface ServeEvent {
  readonly type: "log";
  readonly line: ServeLine;
}

export type ServeLine = Readonly<Record<string, unknown>>;

export interface ServedMirror {
  /** `127.0.0.1:5047`, with the real port. */
  readonly address: string;
  /** Accepts no more requests, and waits for those under way. */
  readonly close: () => Promise<void>;
}

export interface ServeConfig extends RuntimeConfig {
  readonly schemaVersion: 1;
  readonly runtime: Runtime;
  /** With `uninstall`: the paths of the removed files. */
  readonly removed?: readonly string[];
}

/**
 * Starts the mirror, which runs until `close` or `signal` ends it. With `printConfig` it answers with the files of a container runtime.
 *
 * Throws `USAGE`, `LISTEN_FAILED`, and as `probe` for a file of facts.
 *
 * @example
 * const { address, close } = await serve({ references: ["registry.example.com/team/vision"] });
 */
export interface ServeFunction {
  (options: ServeOptions & { readonly printConfig: Runtime }, world?: Partial<World>): Promise<ServeConfig>;
  (
    options: Omit<ServeOptions, "printConfig" | "install" | "uninstall">,
    world?: Partial<World>,
  ): Promise<ServedMirror>;
}

export function serveWith(ports: ClusterReader & RootSource): ServeFunction {
  const face = (options: ServeOptions, given?: Partial<World>): Promise<ServedMirror | ServeConfig> =>
    inWorld(options, given, (world) => serveIn(options, world), ports);
  return face as ServeFunction;
}

/** The mirror listens once it knows its host, or after so long. */
const firstProbeMs = 3000;

async function serveIn(
  options: ServeOptions,
  world: HostWorld & RootSource,
): Promise<ServedMirror | ServeConfig> {
  const { listen = "127.0.0.1:5047", printConfig } = options;
  const address = parseListenAddress(listen);
  if (printConfig !== undefined) return configOf(printConfig, listen, options);
  if (options.install !== undefined || options.uninstall !== undefined)
    throw usageError("--install and --uninstall need --print-config", "name the runtime with --print-config");
  if (options.host === "-")
    throw usageError(
      "the mirror reads the facts again and again, and --host - can be read only once",
      "name a file",
    );
  const log = (line: ServeLine): void => options.onEvent?.({ type: "log", line });
  const { proxyFromEnv } = await import("../oci/registry/proxy.ts");
  // A mistake in a facts file should not wait for the first container.
  if (otherHost(options) !== null) await readHostOf(options, world);
  const prober = createHostProber({
    command: [...(options.self ?? ["imgmatch"]), "probe", "--each-line", ...hostWords(options)],
    env: world.env,
    tell: (message) => log({ level: "warning", event: "probe", message }),
  });
  const { labelNode: node, labelEvery = 60, serviceAccount: account } = options;
  const ending = new AbortController();
  const { signal } = ending;
  const api = node === undefined ? null : await nodeApi({ node, env: world.env, account, signal });
  const mirror = await nodeMirror({
    references: options.references ?? [],
    lock: options.lock ?? null,
    cache: options.cache ?? null,
    trust: await findTrust(options, log, world),
    policy: await policyTrustFor(options, world),
    prober,
    api,
    failClosed: options.failClosed ?? false,
    blobs: options.blobs ?? "off",
    question: { ...(await choiceOf(options)), gpus: options.gpus },
    registry: { ...(await trustOf(options)), proxy: proxyFromEnv(world.env) },
    log,
  });
  // The first request finds the host's facts, unless a driver hangs.
  await prober.ask(firstProbeMs);
  const running = await startMirror(address, mirror).catch((error: unknown) => {
    prober.stop();
    throw error;
  });
  if (mirror.keeper !== null) void keepOn(mirror.keeper, labelEvery * 1000, signal);
  const end = async () => {
    ending.abort();
    await running.stop();
    prober.stop();
  };
  let ended: Promise<void> | undefined;
  const close = () => {
    ended ??= end();
    return ended;
  };
  if (world.signal?.aborted) await close();
  world.signal?.addEventListener("abort", () => void close(), { once: true });
  return { address: `${listen.replace(/:\d+$/, "")}:${running.port}`, close };
}

/** Warns if the runtime may ask the registry for an image that the mirror refuses. */
async function findTrust(
  options: ServeOptions,
  log: (line: ServeLine) => void,
  world: World & RootSource,
): Promise<FindTrust | null> {
  if ((options.references ?? []).length === 0) {
    refuseTrustWithoutRegistry(options);
    return null;
  }
  const trust = await trustFor(options, world);
  if (trust !== null && !options.failClosed) {
    const message =
      "the runtime asks the registry for an image that is refused here, and nobody checks its signature: add --fail-closed";
    log({ level: "warning", event: "trust", message });
  }
  return trust;
}

/** The flags of the host, for the process that probes the host. */
function hostWords({ host, hostType, driver = [], gpus, gpu }: HostChoice): string[] {
  const values = { "--host": host, "--host-type": hostType, "--gpus": gpus };
  return [
    ...Object.entries(values).flatMap(([flag, value]) => (value === undefined ? [] : [flag, value])),
    ...driver.flatMap((each) => ["--driver", each]),
    ...(gpu === false ? ["--no-gpu"] : []),
  ];
}

async function configOf(runtime: Runtime, listen: string, options: ServeOptions): Promise<ServeConfig> {
  const { install, uninstall } = options;
  const names = [...(options.references ?? [])];
  if (uninstall !== undefined) {
    if (install !== undefined || options.lock !== undefined || names.length > 0)
      throw usageError("--uninstall removes the files of all fleets", "leave the fleets and --install out");
    return { schemaVersion: 1, runtime, files: [], notes: [], removed: removeConfig(uninstall, runtime) };
  }
  if (options.lock !== undefined) names.push((await readLock(options.lock)).repository);
  if (names.length === 0) throw noFleet();
  const { plainHttp = () => false } = await trustOf(options);
  const config = runtimeConfig(runtime, {
    fleets: names.map(parseImageReference),
    address: listen,
    failClosed: options.failClosed ?? false,
    plainHttp,
  });
  if (install !== undefined) await installConfig(install, config);
  return { schemaVersion: 1, runtime, ...config };
}

/** Repeats the round, with a pause after each. */
async function keepOn({ keep }: NodeKeeper, everyMs: number, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await keep(signal);
    await setTimeout(everyMs, undefined, { signal }).catch(() => {});
  }
}
