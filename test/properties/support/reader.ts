/** A text for a reader of outside text: a beginning, a part that is repeated, an end. */

import { ImgmatchError } from "../../../src/errors.ts";

export interface Reader {
  readonly read: (text: string) => unknown;
  /** Texts of about so many characters. */
  readonly texts: Readonly<Record<string, (size: number) => string>>;
}

/** Several readers of one text: what one refuses is still read by the next. A refusal without a code is thrown. */
export function coded(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
  }
}

export function repeated(part: string, before = "", after = ""): (size: number) => string {
  return (size) => before + part.repeat(Math.ceil(size / part.length)) + after;
}

export function numbered(part: (index: number) => string, before = "", after = ""): (size: number) => string {
  return (size) => {
    const count = Math.ceil(size / part(100_000).length);
    return before + Array.from({ length: count }, (_, index) => part(100_000 + index)).join("") + after;
  };
}
