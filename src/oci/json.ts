/** JSON that came from elsewhere: read as `unknown`, then narrowed. */

import { isTooDeep } from "./json-depth.ts";

/** The value, or undefined when the bytes are not JSON, or nested deeper than anything that imgmatch reads. */
export function parseJson(bytes: Uint8Array | string): unknown {
  const json = (typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8")).replace(
    /^\uFEFF/,
    "",
  );
  if (isTooDeep(json)) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What stands in an object; nothing where there is none. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

export function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
