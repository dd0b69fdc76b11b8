/** Colour by meaning, or none. The marks become escape codes where the program prints: see terminal-text.ts. */

import { mark } from "./terminal-text.ts";

export interface Style {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly strong: (text: string) => string;
}

const plain: Style = {
  good: (text) => text,
  bad: (text) => text,
  warn: (text) => text,
  dim: (text) => text,
  strong: (text) => text,
};

const coloured: Style = {
  good: (text) => paint("green", text),
  bad: (text) => paint("red", text),
  warn: (text) => paint("yellow", text),
  dim: (text) => paint("dim", text),
  strong: (text) => paint("bold", text),
};

function paint(format: "green" | "red" | "yellow" | "dim" | "bold", text: string): string {
  return `${mark(format)}${text}${mark("end")}`;
}

export function styleFor(color: boolean): Style {
  return color ? coloured : plain;
}

/** Whether to colour a stream: FORCE_COLOR and NO_COLOR (no-color.org) before what the stream is. */
export function wantsColor(env: Readonly<Record<string, string | undefined>>, isTerminal: boolean): boolean {
  if (env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "") return env.FORCE_COLOR !== "0";
  if (env.NO_COLOR !== undefined && env.NO_COLOR !== "") return false;
  return isTerminal && env.TERM !== "dumb";
}
