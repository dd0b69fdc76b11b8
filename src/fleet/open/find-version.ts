/** Finds the version of a matrix that takes it from the environment or from git. */

import { ImgmatchError, type Problem } from "../../errors.ts";
import { describeHead, type GitAnswer, shortHead } from "../../io/git.ts";
import type { Environment } from "../../io/world.ts";
import { isWritten } from "../dockerfile/dockerfiles.ts";
import type { Matrix } from "../matrix/matrix.ts";
import { secretIn } from "../matrix/secret-names.ts";
import { isTag } from "../../oci/reference.ts";

/**
 * The matrix with its version; `root` is the folder of the matrix. Throws, with the place of `version`: `VERSION_UNKNOWN` if there is none,
 * `TAG_INVALID` if it cannot be a tag, `MATRIX_SECRET` if it looks like a secret.
 */
export async function withVersion(
  matrix: Matrix,
  { root, env }: { readonly root: string; readonly env: Environment },
): Promise<Matrix> {
  if (matrix.versionFrom === null) return matrix;
  const { value: source, at } = matrix.versionFrom;
  const refuse = (code: Problem["code"], message: string, fix: string) =>
    new ImgmatchError({ code, message, fix, at });
  // The version is the tag of its index as it stands.
  const checked = (version: string, whose: string): Matrix => {
    if (isTag(version)) return { ...matrix, version };
    throw refuse(
      "TAG_INVALID",
      `${whose} is no version that a tag can be: ${JSON.stringify(version)}`,
      "at most 128 letters, digits and _ . -, not . or - first; a branch with / is none",
    );
  };
  if (source.from === "environment") {
    // CI systems set a variable that has no value to an empty text.
    const found = env[source.name] || source.fallback;
    if (found === null)
      throw refuse(
        "VERSION_UNKNOWN",
        `the version is that of the environment's ${source.name}, which is not set`,
        `set it, or write { env: ${source.name}, default: "0.0.0-dev" }`,
      );
    const secret = secretIn(source.name, found);
    if (secret !== null)
      throw refuse("MATRIX_SECRET", `the environment's ${source.name} is ${secret}`, "name another variable");
    return checked(found, `the environment's ${source.name}`);
  }
  const answer = await (source.asks === "describe" ? describeHead : shortHead)(root, isWritten);
  if (!answer.ok)
    throw refuse("VERSION_UNKNOWN", `git does not tell the version: ${answer.reason}`, fixOf(answer));
  return checked(answer.text, "what git tells");
}

function fixOf({ hasCommit }: Extract<GitAnswer, { ok: false }>): string {
  return hasCommit
    ? "tag a commit before this one, or fetch the tags (git fetch --tags --unshallow; actions/checkout: fetch-depth: 0)"
    : 'build from a clone with git, or give the version: version: { env: VERSION, default: "…" }';
}
