/** Whether what is signed is what was asked for: a signature says nothing of the name under which it was found. */

import { ImgmatchError } from "../errors.ts";
import type { Lock } from "../lock/lock.ts";
import { matchesGlob } from "../oci/glob.ts";
import { formatImageReference, type ImageReference } from "../oci/reference.ts";
import { slug } from "../oci/slug.ts";

export interface Asked {
  /** What the index has to call its fleet; null: the last part of the repository. */
  readonly name: string | null;
  /** Tags, with `*`, that may hold any version. */
  readonly moving: readonly string[];
}

/**
 * Throws `INDEX_FOREIGN` for the signed index of another fleet or of another version under this tag. A tag without a digit, as `stable`,
 * may hold any version, `1.2` those that begin so. Who asks by digest has said which one.
 */
export function requireAskedFor(
  reference: ImageReference,
  { name, version }: Pick<Lock, "name" | "version">,
  asked: Asked,
): void {
  const { tag, digest, repository } = reference;
  if (tag === null || digest !== null) return;
  const expected = asked.name ?? repository.slice(repository.lastIndexOf("/") + 1);
  if (name !== expected)
    throw foreign(reference, `is signed as a fleet of the name ${JSON.stringify(name)}, not ${expected}`, [
      "find out who wrote this tag; where the fleet has that name, say so in the policy:",
      `name: ${JSON.stringify(name)}`,
    ]);
  if (isVersionOf(tag, version) || asked.moving.some((pattern) => matchesGlob(pattern, tag))) return;
  throw foreign(reference, `is signed as version ${JSON.stringify(version)}`, [
    "find out who wrote this tag; where it may hold any version, say so in the policy:",
    `moving: [${JSON.stringify(tag)}]`,
  ]);
}

function isVersionOf(tag: string, version: string): boolean {
  const [wanted, signed] = [tag, slug(version)].map((text) => text.replace(/^v(?=\d)/, ""));
  return wanted === signed || signed?.startsWith(`${wanted}.`) === true || !/\d/.test(tag);
}

function foreign(reference: ImageReference, what: string, fix: readonly string[]): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_FOREIGN",
    message: `${formatImageReference(reference)} ${what}`,
    fix: fix.join(" "),
  });
}
