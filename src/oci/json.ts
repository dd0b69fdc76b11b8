/** JSON that came from elsewhere: read as `unknown`, then narrowed. */

/** The value, or undefined when the bytes are not JSON. */
export function parseJson(bytes: Uint8Array | string): unknown {
  try {
    return JSON.parse(typeof bytes === "string" ? bytes : Buffer.from(bytes).toString("utf8"));
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function text(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}
