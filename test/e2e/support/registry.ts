/** A real registry on loopback: the `docker-registry` binary with its data in a temporary folder. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { endProcess } from "./children.ts";
import { freePorts } from "./ports.ts";
import { whyNoVersion } from "../../support/programs.ts";

const program = process.env.IMGMATCH_REGISTRY_PROGRAM ?? "docker-registry";

/** The reference registry's next major release. */
export const registry3 = process.env.IMGMATCH_REGISTRY3_PROGRAM ?? "";

export interface RunningRegistry {
  /** Host with port, for references. */
  readonly host: string;
  stop(): Promise<void>;
}

export interface RegistryServerOptions {
  /** Default: the machine's. */
  readonly program?: string;
  /** Lines of an htpasswd file, bcrypt only. Without it everybody may do everything. */
  readonly htpasswd?: string;
  /** Asks for tokens that a server at `realm` signs with the key of `certificate`, a PEM file. */
  readonly token?: { readonly realm: string; readonly certificate: string };
  /** Paths of PEM files, and the address of this machine that the certificate is for. */
  readonly tls?: { readonly certificate: string; readonly key: string; readonly address: string };
}

export function whyNoRegistry(): string | null {
  return whyNoVersion(program, "apt-get install docker-registry");
}

export function whyNoRegistry3(): string | null {
  return registry3 === ""
    ? "no registry of distribution 3 (.ci/provide builds it; IMGMATCH_REGISTRY3_PROGRAM)"
    : whyNoVersion(registry3, "IMGMATCH_REGISTRY3_PROGRAM names it");
}

/** Waits until the registry answers. Throws with its log when it ends before. */
export async function startRegistry(options: RegistryServerOptions = {}): Promise<RunningRegistry> {
  const folder = await mkdtemp(join(tmpdir(), "imgmatch-registry-"));
  const [port] = await freePorts(1);
  const host = `${options.tls?.address ?? "127.0.0.1"}:${port}`;
  const config = join(folder, "config.yml");
  if (options.htpasswd !== undefined) await writeFile(join(folder, "htpasswd"), options.htpasswd);
  await writeFile(config, configuration(folder, host, options));

  const child = spawn(options.program ?? program, ["serve", config], { stdio: ["ignore", "pipe", "pipe"] });
  let log = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-20_000);
    });
  }
  const stop = async (): Promise<void> => {
    await endProcess(child, 5000);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await untilReady(options.tls === undefined ? `http://${host}/v2/` : `https://${host}/v2/`, child);
  } catch (error) {
    await stop();
    throw new Error(`${options.program ?? program} did not start: ${log}`, { cause: error });
  }
  return { host, stop };
}

function configuration(
  folder: string,
  host: string,
  { htpasswd, token, tls }: RegistryServerOptions,
): string {
  const quoted = (text: string): string => JSON.stringify(text);
  return [
    "version: 0.1",
    "log: { level: warn }",
    `storage: { filesystem: { rootdirectory: ${quoted(join(folder, "data"))} }, delete: { enabled: true } }`,
    "http:",
    `  addr: ${quoted(host)}`,
    ...(tls === undefined
      ? []
      : [`  tls: { certificate: ${quoted(tls.certificate)}, key: ${quoted(tls.key)} }`]),
    ...(htpasswd === undefined
      ? []
      : [`auth: { htpasswd: { realm: imgmatch, path: ${quoted(join(folder, "htpasswd"))} } }`]),
    ...(token === undefined
      ? []
      : [
          `auth: { token: { realm: ${quoted(token.realm)}, service: imgmatch, issuer: imgmatch, rootcertbundle: ${quoted(token.certificate)} } }`,
        ]),
    "",
  ].join("\n");
}

async function untilReady(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`it ended with status ${child.exitCode}`);
    const answered = await fetch(url).then(
      () => true,
      // It is there when its certificate is refused.
      (error: Error) => /certificate|self-signed/.test(String((error.cause as Error | undefined)?.message)),
    );
    if (answered) return;
    await sleep(50);
  }
  throw new Error("it gave no answer in 10 s");
}
