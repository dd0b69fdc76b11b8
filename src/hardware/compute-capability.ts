/** The compute capability of a GPU: what NVIDIA calls the version of its instruction set. */

export interface ComputeCapability {
  readonly major: number;
  readonly minor: number;
}

/**
 * Reads `"9.0"`; null for anything else.
 *
 * @example
 * parseComputeCapability("10.3"); // { major: 10, minor: 3 }
 */
export function parseComputeCapability(text: string): ComputeCapability | null {
  // The minor has one digit: the targets of nvcc write it as the last digit of `sm_XY`.
  const match = /^([1-9]\d?)\.(\d)$/.exec(text);
  return match === null ? null : { major: Number(match[1]), minor: Number(match[2]) };
}

export function formatComputeCapability({ major, minor }: ComputeCapability): string {
  return `${major}.${minor}`;
}

/** Negative when `a` is older than `b`, 0 when they are the same. */
export function compareComputeCapability(a: ComputeCapability, b: ComputeCapability): number {
  return a.major - b.major || a.minor - b.minor;
}

/** For tables and tests: text that is known to be a compute capability. */
export function computeCapability(text: `${number}.${number}`): ComputeCapability {
  const [major = 0, minor = 0] = text.split(".").map(Number);
  return { major, minor };
}
