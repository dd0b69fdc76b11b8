/** A vendor's GPU side of an adopted image. */

import type { Statement } from "../../lock/statement.ts";
import type { Measured, Requirement } from "../../lock/requirement.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import type { ImageInspection } from "../inspection.ts";

export interface AskedImage {
  readonly opened: OpenedImage;
  readonly inspection: ImageInspection;
  readonly statement: Statement;
}

export interface AdoptedSide {
  /** Under the vendor's key; empty for an image without such code. */
  readonly requires: Partial<Pick<Requirement, "cuda" | "rocm">>;
  /** The measured code, where the audit's is not exact. */
  readonly measured: Partial<Pick<Measured, "cuda" | "rocm">>;
  /** Choices that the image makes when it runs. */
  readonly choices: readonly string[];
  readonly notes: readonly string[];
}

export const noSide: AdoptedSide = { requires: {}, measured: {}, choices: [], notes: [] };

/** `isBeside`: the image has code of a vendor that comes before. */
export interface SideAdoption {
  /** Throws `ADOPT_UNDECIDED`, and `USAGE` for a statement that is not true. */
  readonly adopt: (asked: AskedImage, isBeside: boolean) => AdoptedSide;
  /** True if the image has such code, decided or not. */
  readonly isThere: (inspection: ImageInspection, isBeside: boolean) => boolean;
  /** All code that could be loaded: `sm_80`; null where there may be more. */
  readonly codeOf: (inspection: ImageInspection) => readonly string[] | null;
}

/** Tells which files a choice was read from: somebody who knows the program may know better. */
export function choiceNote(
  what: string,
  all: readonly { readonly by: string; readonly files: readonly string[] }[],
): string {
  return `takes one ${what} at run time, by the names of its files: ${all.map(({ by, files }) => `${by} (${files[0]}${files.length > 1 ? " …" : ""})`).join(", ")}`;
}
