/** Build secrets: given to the steps that mount them (`RUN --mount=type=secret`), and to no image, log or digest. */

import { resolve } from "node:path";
import { ImgmatchError, usageError } from "../../../errors.ts";
import { readBounded, unreadable } from "../../../io/files.ts";
import { inputLimits, requireSize } from "../../../io/limits.ts";
import type { BuildSsh } from "./ssh.ts";

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
export function parseSecrets(
  texts: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): readonly BuildSecret[] {
  const secrets = texts.map((text): BuildSecret => {
    const [, id, kind, source] = /^id=([A-Za-z0-9_.-]+),(env|src)=(.+)$/.exec(text) ?? [];
    if (id === undefined || source === undefined)
      throw usage(`--secret ${JSON.stringify(text)} is not id=NAME,env=VARIABLE or id=NAME,src=FILE`);
    if (kind === "src") {
      const path = resolve(source);
      requireReadable(path);
      return { id, flag: `id=${id},src=${path}` };
    }
    const value = env[source];
    if (value === undefined) throw usage(`--secret ${id}: the environment has no ${source}`);
    requireSize(value, inputLimits.secret, { file: `the environment's ${source}` });
    return { id, flag: `id=${id},env=${source}` };
  });
  const twice = secrets.find(({ id }, index) => secrets.findIndex((other) => other.id === id) !== index);
  if (twice !== undefined) throw usage(`--secret ${twice.id} is given twice`);
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

function usage(message: string): ImgmatchError {
  return usageError(message, "write --secret id=token,env=NPM_TOKEN");
}

/** Options for the steps of every build that no image, log or digest has. */
export interface StepOptions {
  /** For steps that mount them. */
  readonly secrets?: readonly BuildSecret[] | undefined;
  /** For steps that mount them. */
  readonly ssh?: readonly BuildSsh[] | undefined;
  /** `none`, `host`, `default`, which is the engine's own, or with Podman a network's name. Default: `default`. */
  readonly network?: string | undefined;
}
