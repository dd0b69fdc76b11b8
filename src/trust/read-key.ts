/** A public key from where `--key` and a policy name it: a file, or a variable of the environment. */

import { ImgmatchError } from "../errors.ts";
import { readTextFile } from "../io/files.ts";
import type { KeySigner } from "./trusted-signer.ts";

const variable = /^env:\/\/([A-Za-z_]\w*)$/;

/**
 * `cosign.pub`, or `env://NAME`. Throws `FILE_NOT_FOUND`, and `KEY_INVALID` for a variable that is not set. What stands there is
 * not looked at: a key is read when something is verified.
 */
export async function readKey(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<KeySigner> {
  if (!name.startsWith("env://")) {
    const pem = await readTextFile(name, null, { fix: "name a public key, as cosign.pub" });
    return { kind: "key", name, pem };
  }
  const [, wanted = ""] = variable.exec(name) ?? [];
  const pem = Object.hasOwn(env, wanted) ? (env[wanted] ?? "") : "";
  if (pem.trim() !== "") return { kind: "key", name, pem };
  throw new ImgmatchError({
    code: "KEY_INVALID",
    message: `${name} names a variable of the environment that is not set`,
    fix: "set it to a public key as PEM",
  });
}
