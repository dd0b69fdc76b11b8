/** The wishes that a user may have about an answer. */

import type { Pin } from "./pins.ts";

export interface ResolveImageOptions {
  /** Axis → value. Text is exact, a version prefix or a pattern with `*`; ranges come from `compilePins`. */
  readonly pins?: Readonly<Record<string, string | Pin>>;
  /** Only images without GPU code, also on a host whose GPUs are broken. */
  readonly cpuOnly?: boolean;
  /** Only images with GPU code: no image at all rather than one that leaves the GPUs unused. */
  readonly requireGpu?: boolean;
  /** Ids of the images that an engine of this machine has: what was built and not pushed counts as built where it is one of them. */
  readonly local?: ReadonlySet<string>;
  /** Steps of the order to look at first, in place of the lock's own: see `orderBy`. */
  readonly prefer?: readonly string[];
}

/** Whether an image without GPU code is what is asked for: `--pin cuda=none` says so as clearly as `--cpu` does. */
export function wantsCpu({ cpuOnly, pins }: Pick<ResolveImageOptions, "cpuOnly" | "pins">): boolean {
  return cpuOnly === true || pinTextOf(pins, "cuda") === "none" || pinTextOf(pins, "accel") === "none";
}

/** Whether the programs are to run with xnack on (`HSA_XNACK=1`): `--pin compute=gfx90a:xnack+` says so. */
export function wantsXnack({ pins }: Pick<ResolveImageOptions, "pins">): boolean {
  return pinTextOf(pins, "compute")?.includes("xnack+") === true;
}

export function pinTextOf(pins: ResolveImageOptions["pins"], axis: string): string | undefined {
  const pin = pins !== undefined && Object.hasOwn(pins, axis) ? pins[axis] : undefined;
  return typeof pin === "string" ? pin : pin?.text;
}
