/**
 * Build secrets and SSH agents: given to the steps that mount them (`RUN --mount=type=secret`, `type=ssh`), and to no image, log or digest;
 * and the network of the steps.
 */

import { statSync } from "node:fs";
import { resolve } from "node:path";
import { ImgmatchError, usageError } from "../../errors.ts";
import { readBounded, unreadable } from "../../io/files.ts";
import { inputLimits, requireSize } from "../../io/limits.ts";
import type { Environment } from "../../io/world.ts";

export interface StepOptions {
  readonly secrets?: readonly BuildSecret[] | undefined;
  readonly ssh?: readonly BuildSsh[] | undefined;
  /** `none`, `host`, `default`, which is the engine's own, or with Podman a network's name. Default: `default`. */
  readonly network?: string | undefined;
}

export interface BuildSecret {
  readonly id: string;
  /** As `docker buildx build` and `podman build` take it: `id=token,src=/path` or `id=token,env=NAME`. */
  readonly flag: string;
}

/** The id by which steps mount a secret. */
export const secretName = /^[A-Za-z0-9_.-]+$/;

/**
 * Parses the values of `--secret`: `id=NAME,env=VARIABLE` or `id=NAME,src=FILE`. Throws `USAGE`, also for a variable that is
 * not set: a step would see an empty secret and fail much later; `FILE_UNREADABLE`, `INPUT_TOO_LARGE`. Never shows a value.
 */
export function parseSecrets(texts: readonly string[], env: Environment): readonly BuildSecret[] {
  const secrets = texts.map((text): BuildSecret => {
    const [, id, kind, source] = /^id=([A-Za-z0-9_.-]+),(env|src)=(.+)$/.exec(text) ?? [];
    if (id === undefined || source === undefined)
      throw secretUsage(`--secret ${JSON.stringify(text)} is not id=NAME,env=VARIABLE or id=NAME,src=FILE`);
    if (kind === "src") {
      const path = resolve(source);
      requireReadable(path);
      return { id, flag: `id=${id},src=${path}` };
    }
    const value = env[source];
    if (value === undefined) throw secretUsage(`--secret ${id}: the environment has no ${source}`);
    requireSize(value, inputLimits.secret, { file: `the environment's ${source}` });
    return { id, flag: `id=${id},env=${source}` };
  });
  const twice = twiceIn(secrets);
  if (twice !== undefined) throw secretUsage(`--secret ${twice} is given twice`);
  return secrets;
}

function requireReadable(path: string): void {
  try {
    readBounded(path, inputLimits.secret);
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    throw unreadable(path, error, { what: "the secret" });
  }
}

function secretUsage(message: string): ImgmatchError {
  return usageError(message, "write --secret id=token,env=NPM_TOKEN");
}

export interface BuildSsh {
  readonly id: string;
  /** Absolute: the agent's socket, or keys. None for the agent that SSH_AUTH_SOCK names. */
  readonly paths: readonly string[];
  /** As `docker buildx build`, bake and `podman build` take it: `default` or `id=path,…`. */
  readonly flag: string;
}

/** The form alone: `default`, `ID`, `ID=SOCKET`, `ID=KEY,KEY`. Throws `USAGE`. */
export function checkSsh(texts: readonly string[]): void {
  for (const text of texts) partsOf(text);
}

/** Parses the values of `--ssh`. Throws `USAGE`, also where there is no such agent or key: a step would fail much later. */
export function parseSsh(texts: readonly string[], env: Environment): readonly BuildSsh[] {
  const agents = texts.map((text): BuildSsh => {
    const { id, paths } = partsOf(text);
    const [first, ...more] = paths;
    if (first === undefined) {
      const socket = env.SSH_AUTH_SOCK;
      if (!socket || !statSync(socket, { throwIfNoEntry: false })?.isSocket())
        throw sshUsage(`--ssh ${text}: there is no agent, for SSH_AUTH_SOCK names none`);
      return { id, paths, flag: id };
    }
    const absolute = [first, ...more].map((path) => resolve(path));
    const absent = absolute.find((path) => statSync(path, { throwIfNoEntry: false }) === undefined);
    if (absent !== undefined) throw sshUsage(`--ssh ${id}: there is no ${absent}`);
    return { id, paths: absolute, flag: `${id}=${absolute.join(",")}` };
  });
  const twice = twiceIn(agents);
  if (twice !== undefined) throw sshUsage(`--ssh ${twice} is given twice`);
  return agents;
}

function partsOf(text: string): { readonly id: string; readonly paths: readonly string[] } {
  const [, id, , paths] = /^([A-Za-z0-9_.-]+)(=(.+))?$/.exec(text) ?? [];
  if (id === undefined) throw sshUsage(`--ssh ${JSON.stringify(text)} is not ID, ID=SOCKET or ID=KEY`);
  return { id, paths: paths === undefined ? [] : paths.split(",") };
}

function sshUsage(message: string): ImgmatchError {
  return usageError(
    message,
    "write --ssh default, with SSH_AUTH_SOCK naming an agent's socket, or --ssh ID=PATH",
  );
}

function twiceIn(options: readonly { readonly id: string }[]): string | undefined {
  const ids = options.map(({ id }) => id);
  return ids.find((id, index) => ids.indexOf(id) !== index);
}
