/** The texts of `program/`: sh and awk. The bundler replaces this file by them (scripts/bundle-plugins.mjs). */

import { readdirSync, readFileSync } from "node:fs";

const folder = new URL("./program/", import.meta.url);

/** File name → text. */
export const programTexts: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "utf8")]),
);
