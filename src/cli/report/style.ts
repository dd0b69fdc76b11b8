/** How an answer looks: its colours by meaning, and the width of its lines. terminal-text.ts replaces the marks by escape codes. */

import { mark } from "./terminal-text.ts";

const formats = { good: "green", bad: "red", warn: "yellow", dim: "dim", strong: "bold" } as const;

export type Meaning = keyof typeof formats;

export interface Style extends Readonly<Record<Meaning, (text: string) => string>> {
  /** Characters of a line. */
  readonly width: number;
}

export function styleFor(color: boolean, width = Number.POSITIVE_INFINITY): Style {
  const paint = (meaning: Meaning) => (text: string) =>
    color ? `${mark(formats[meaning])}${text}${mark("end")}` : text;
  return {
    good: paint("good"),
    bad: paint("bad"),
    warn: paint("warn"),
    dim: paint("dim"),
    strong: paint("strong"),
    width,
  };
}

/** FORCE_COLOR and NO_COLOR (no-color.org) count before the kind of the stream. */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return env.FORCE_COLOR !== "0";
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  return isTerminal && env.TERM !== "dumb";
}
