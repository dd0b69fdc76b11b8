/** Where a matrix has its version from when it does not say it itself. */

import type { Problem } from "../../errors.ts";
import type { Located, VersionSource } from "./matrix.ts";
import type { VersionInput } from "./matrix-schema.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

export interface ParsedVersion {
  /** Empty where it is to be found. */
  readonly version: string;
  readonly versionFrom: Located<VersionSource> | null;
}

/** `"1.4.0"`, `{ env: VERSION, default: "0.0.0-dev" }`, `{ git: describe }`. */
export function parseVersion(input: VersionInput, source: YamlSource, problems: Problem[]): ParsedVersion {
  if (typeof input === "string") return { version: input, versionFrom: null };
  const { env, git, default: fallback } = input;
  const at = source.placeOf(["version"]);
  if (env !== undefined && git === undefined)
    return {
      version: "",
      versionFrom: { value: { from: "environment", name: env, fallback: fallback ?? null }, at },
    };
  if (git !== undefined && env === undefined && fallback === undefined)
    return { version: "", versionFrom: { value: { from: "git", what: git }, at } };
  problems.push({
    code: "MATRIX_SCHEMA",
    message: "version is a text, or names one of env and git; default belongs to env",
    fix: 'write version: "1.4.0", { env: VERSION }, { env: VERSION, default: "0.0.0-dev" } or { git: describe }',
    at,
  });
  return { version: "", versionFrom: null };
}
