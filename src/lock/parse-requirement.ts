/** The requirement of one image as its label carries it: JSON, under the same rules as in the lock. */

import { ImgmatchError } from "../errors.ts";
import { deepestJson, isTooDeep } from "../oci/json-depth.ts";
import { type Lock, lockSchemaVersion, type Requirement } from "./lock.ts";
import { parseLock } from "./parse-lock.ts";

export type ParsedRequirement =
  | { readonly ok: true; readonly requires: Requirement }
  /** What is wrong with the text, one line per mistake. */
  | { readonly ok: false; readonly mistakes: readonly string[] };

/**
 * Reads the value of the label `dev.imgmatch.requires`.
 *
 * @example
 * parseRequirement('{"cpu":{"march":"x86-64","features":["sse2"]},"cuda":null}');
 */
export function parseRequirement(text: string): ParsedRequirement {
  if (isTooDeep(text)) return { ok: false, mistakes: [`it is nested more than ${deepestJson} deep`] };
  try {
    const lock = parseLock(
      JSON.stringify(lockAround(JSON.parse(text.replace(/^\uFEFF/, "")) as Requirement)),
      name,
    );
    const requires = lock.images[name]?.requires;
    return requires === undefined ? { ok: false, mistakes: ["it is empty"] } : { ok: true, requires };
  } catch (error) {
    if (error instanceof SyntaxError) return { ok: false, mistakes: [`it is not JSON: ${error.message}`] };
    if (!(error instanceof ImgmatchError)) throw error;
    const prefix = `images[${JSON.stringify(name)}].`;
    return { ok: false, mistakes: error.problems.map(({ message }) => message.replace(prefix, "")) };
  }
}

const name = "label";
const digest = `sha256:${"0".repeat(64)}` as const;

function lockAround(requires: Requirement): Lock {
  const image = {
    axes: {},
    platform: "linux/amd64",
    tag: name,
    inputDigest: digest,
    digest,
    requires,
    bases: [],
    builder: name,
    created: null,
    size: null,
  };
  return {
    schemaVersion: lockSchemaVersion,
    name,
    version: "0",
    repository: name,
    matrixDigest: digest,
    images: { [name]: image },
  };
}
