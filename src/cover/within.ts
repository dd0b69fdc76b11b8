/** `--within`: how far from native code an image may be and still do. */

import { usageError } from "../errors.ts";
import { type CodeFit, type Tier, tiers } from "../resolve/verdict.ts";
import type { CpuDistance } from "./native-distance.ts";

/** Each the most that is allowed; native code is all zeros. */
export interface StatedDistance {
  /** How many minors of the compute capability machine code may be behind a GPU. */
  readonly minors: number;
  /** Whether the driver may compile PTX in its place. */
  readonly ptx: boolean;
  /** How many CPU features that compilers use by themselves may be left unused. */
  readonly features: number;
  /** The worst tier of the driver. */
  readonly tier: Tier;
}

/** Machine code for exactly these GPUs under a driver that knows all of the toolkit, and all that compilers use of the CPU. */
export const nativeOnly: StatedDistance = { minors: 0, ptx: false, features: 0, tier: "native" };

const example = "write for example --within minors=3,features=8 or --within ptx,tier=minor";

/** Reads `minors=3,features=8,ptx,tier=minor`, each part at most once. Throws `USAGE` for anything else. */
export function parseDistance(text: string): StatedDistance {
  const parts = text.split(",");
  let distance = nativeOnly;
  for (const [index, part] of parts.entries()) {
    const [name = "", value] = part.split(/=(.*)/s);
    const read = Object.hasOwn(readers, name) ? readers[name as keyof typeof readers](value) : null;
    if (read === null)
      throw usageError(`--within ${JSON.stringify(text)}: ${JSON.stringify(part)} is no distance`, example);
    if (parts.findIndex((other) => other.split("=")[0] === name) !== index)
      throw usageError(`--within ${JSON.stringify(text)} says ${name} twice`, "leave one of them out");
    distance = { ...distance, ...read };
  }
  return distance;
}

const readers = {
  minors: (value: string | undefined) => count(value, (minors) => ({ minors })),
  features: (value: string | undefined) => count(value, (features) => ({ features })),
  ptx: (value: string | undefined) => (value === undefined ? { ptx: true } : null),
  tier: (value: string | undefined) => {
    const tier = tiers.find((each) => each === value);
    return tier === undefined ? null : { tier };
  },
} as const satisfies Record<
  keyof StatedDistance,
  (value: string | undefined) => Partial<StatedDistance> | null
>;

function count<Part>(value: string | undefined, make: (count: number) => Part): Part | null {
  return value !== undefined && /^\d{1,3}$/.test(value) ? make(Number(value)) : null;
}

/** As it is written. */
export function formatDistance({ minors, ptx, features, tier }: StatedDistance): string {
  const parts = [
    ...(minors === 0 ? [] : [`minors=${minors}`]),
    ...(ptx ? ["ptx"] : []),
    ...(features === 0 ? [] : [`features=${features}`]),
    ...(tier === "native" ? [] : [`tier=${tier}`]),
  ];
  return parts.length === 0 ? "native" : parts.join(",");
}

/** Whether an image does; null where the facts do not tell how far it is. */
export function isWithin(
  distance: StatedDistance,
  { cpu, gpu, tier }: { readonly cpu: CpuDistance | null; readonly gpu: CodeFit | null; readonly tier: Tier },
): boolean | null {
  if (tiers.indexOf(tier) > tiers.indexOf(distance.tier)) return false;
  if (gpu !== null && (gpu.kind === "ptx" ? !distance.ptx : gpu.distance > distance.minors)) return false;
  if (cpu === null) return null;
  if (cpu.unused.length > distance.features) return false;
  return cpu.open ? null : true;
}
