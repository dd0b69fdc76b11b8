/** The shells' parts of completion, from @pnpm/tabtab. The bundler replaces this file by the texts (scripts/bundle-plugins.mjs). */

import { readFileSync } from "node:fs";

const folder = new URL("../../node_modules/@pnpm/tabtab/lib/templates/", import.meta.url);
const textOf = (shell: string) => readFileSync(new URL(`completion.${shell}`, folder), "utf8");

export const bash = textOf("bash");
export const fish = textOf("fish");
export const zsh = textOf("zsh");
