/** The parts of a script's program that are a vendor's. Every script reads NVIDIA's GPUs, so those need none. */

import type { GpuVendor } from "../../lock/requirement.ts";
import { amdTexts } from "./program-amd.ts";

type Place = keyof typeof amdTexts;

const texts: Readonly<Record<GpuVendor, Partial<Record<Place, string>>>> = { nvidia: {}, amd: amdTexts };

/** The texts for a place of the program; empty if no vendor has one. */
export type OwnText = (place: Place) => string;

export function ownText(vendors: readonly GpuVendor[]): OwnText {
  return (place) => vendors.map((vendor) => texts[vendor][place] ?? "").join("");
}
