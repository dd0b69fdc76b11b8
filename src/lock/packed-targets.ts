/** Targets of code that is compressed as one: nothing tells the bytes of each, so they have one name together. */

export const nameOfPacked = (targets: readonly string[]) => [...new Set(targets)].join(",");

export const packedTargets = (name: string): readonly string[] => name.split(",");

/** `gfx908 … gfx1201, 24 compressed as one`. */
export function codeText(name: string): string {
  const [first, ...others] = packedTargets(name);
  return others.length === 0 ? name : `${first} … ${others.at(-1)}, ${others.length + 1} compressed as one`;
}
