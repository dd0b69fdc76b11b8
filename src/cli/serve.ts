/** `imgmatch serve`: the node's own mirror, until it is told to end. */

import { join } from "node:path";
import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import type { BlobMode } from "../node/mirror/answer-blob.ts";
import { createHostProber } from "../node/mirror/host-prober.ts";
import { nodeMirror, noFleet } from "../node/mirror/node-mirror.ts";
import { type Runtime, runtimeConfig } from "../node/mirror/runtime-config.ts";
import { parseListenAddress } from "../node/mirror/listen-address.ts";
import { startMirror } from "../node/mirror/server.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import { readLock } from "../lock/lock-file.ts";
import type { FindTrust } from "../lock/index-trust.ts";
import { parseImageReference } from "../oci/reference.ts";
import { compilePins, parsePins } from "../resolve/pins.ts";
import type { CommandContext } from "./command-context.ts";
import { type HostChoice, hostFor } from "../host/host-choice.ts";
import type { QuestionOptions } from "../node/question.ts";
import { type RegistryAccess, trustOf } from "../oci/registry/registry-access.ts";
import { refuseTrustWithoutRegistry, type TrustDemands, trustFor } from "../trust/trust-demands.ts";
import { print, tell } from "./print.ts";

export interface ServeFlags
  extends HostChoice,
    RegistryAccess,
    TrustDemands,
    Pick<QuestionOptions, "lock" | "cache" | "pin" | "cpu" | "requireGpu"> {
  readonly references?: readonly string[];
  readonly listen: string;
  readonly failClosed?: boolean;
  readonly blobs: BlobMode;
  readonly printConfig?: Runtime;
  readonly install?: string;
}

export async function serve(flags: ServeFlags, context: CommandContext): Promise<ExitCode> {
  const address = parseListenAddress(flags.listen);
  if (flags.printConfig !== undefined) return printConfig(flags.printConfig, flags, context);
  if (flags.install !== undefined)
    throw usageError(
      "--install says where the files of --print-config go",
      "name the runtime with --print-config",
    );
  if (flags.host === "-")
    throw usageError("--host - can be read once, and every answer needs the facts", "name a file");
  const log = logTo(context);
  const { proxyFromEnv } = await import("../oci/registry/proxy.ts");
  // The facts of a file, too, are looked at now: a mistake there should not wait for the first container.
  if (flags.host !== undefined) await hostFor(flags, context);
  const prober = createHostProber({
    command: [...context.self, "probe", "--each-line", ...hostWords(flags)],
    env: context.env,
    tell: (message) => log({ level: "warning", event: "probe", message }),
  });
  const trust = await findTrust(flags, log, context);
  const mirror = await nodeMirror({
    references: flags.references ?? [],
    lock: flags.lock ?? null,
    cache: flags.cache ?? null,
    trust,
    prober,
    failClosed: flags.failClosed ?? false,
    blobs: flags.blobs,
    choice: {
      pins: await compilePins(parsePins(flags.pin ?? [])),
      cpuOnly: flags.cpu ?? false,
      requireGpu: flags.requireGpu ?? false,
    },
    registry: { ...(await trustOf(flags)), proxy: proxyFromEnv(context.env) },
    log,
  });
  context.takeSignals("finish");
  // What the first answer needs is at hand before somebody asks.
  void prober.ask();
  const running = await startMirror(address, mirror).catch((error: unknown) => {
    prober.stop();
    throw error;
  });
  log({ level: "info", event: "listening", address: `${flags.listen.replace(/:\d+$/, "")}:${running.port}` });
  await aborted(context.signal);
  await running.stop();
  prober.stop();
  log({ level: "info", event: "stopped" });
  return exitCodes.ok;
}

/** A mirror that refuses sends who asks to the registry, unless it is the only one that is asked. */
async function findTrust(flags: ServeFlags, log: Log, context: CommandContext): Promise<FindTrust | null> {
  if ((flags.references ?? []).length === 0) {
    refuseTrustWithoutRegistry(flags);
    return null;
  }
  const trust = await trustFor(flags, context);
  if (trust !== null && !flags.failClosed) {
    const message =
      "what is refused here the runtime asks of the registry, which checks no signature: add --fail-closed";
    log({ level: "warning", event: "trust", message });
  }
  return trust;
}

function hostWords({ host, gpus }: HostChoice): string[] {
  return [...(host === undefined ? [] : ["--host", host]), ...(gpus === undefined ? [] : ["--gpus", gpus])];
}

/** The files on standard output, each under its path as a comment, which all of them may have; or in their places below a folder. */
async function printConfig(runtime: Runtime, flags: ServeFlags, context: CommandContext): Promise<ExitCode> {
  const names = [...(flags.references ?? [])];
  if (flags.lock !== undefined) names.push((await readLock(flags.lock)).repository);
  if (names.length === 0) throw noFleet();
  const { plainHttp = () => false } = await trustOf(flags);
  const config = runtimeConfig(runtime, {
    fleets: names.map(parseImageReference),
    address: flags.listen,
    failClosed: flags.failClosed ?? false,
    plainHttp,
  });
  const { install } = flags;
  if (install !== undefined)
    for (const { path, content } of config.files) await writeFileAtomic(join(install, path), content);
  print(context, flags, { schemaVersion: 1, runtime, ...config }, () =>
    install === undefined
      ? config.files.map(({ path, content }) => `# ${path}\n${content}`).join("\n")
      : config.files.map(({ path }) => `${join(install, path)}\n`).join(""),
  );
  if (!flags.json) tell(config.notes, context);
  return exitCodes.ok;
}

type Log = (line: Readonly<Record<string, unknown>>) => void;

/** One JSON object on a line, its time first. `dropped`: so many lines before it found no reader. */
function logTo({ log }: CommandContext): Log {
  let dropped = 0;
  return (line) => {
    const time = new Date().toISOString();
    const taken = log(`${JSON.stringify({ time, ...line, ...(dropped === 0 ? {} : { dropped }) })}\n`);
    dropped = taken ? 0 : dropped + 1;
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
