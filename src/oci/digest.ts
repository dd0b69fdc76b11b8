/** Content digests. Only sha256 is accepted: it is the only algorithm that every registry and engine offers. */

/** `sha256:` and 64 lower-case hexadecimal digits. */
export type Digest = `sha256:${string}`;

const digestPattern = /^sha256:[0-9a-f]{64}$/;

/** Stands for a digest that is not known: no content has it. */
export const noDigest: Digest = `sha256:${"0".repeat(64)}`;

export function isDigest(text: unknown): text is Digest {
  return typeof text === "string" && digestPattern.test(text);
}

/** True if a value can be the size in a descriptor. */
export function isSize(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}
