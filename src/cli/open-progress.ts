/** What commands that open images have in common: for which platform, and how far they are. */

import type { OpenProgress } from "../inspect/image/open-layers.ts";
import { mark } from "./report/terminal-text.ts";
import type { CommandContext } from "./command-context.ts";

const architectures: Readonly<Record<string, string>> = { x64: "amd64", ppc64: "ppc64le" };

/** `linux/amd64`: of this machine, whatever its system. */
export function ownPlatform(): string {
  return `linux/${architectures[process.arch] ?? process.arch}`;
}

const redrawMs = 200;

/** One line that is drawn over, on a terminal alone. */
export function progressTo({ terminal, err }: CommandContext) {
  let drawn = 0;
  return {
    show({ layer, layers, bytes }: OpenProgress): void {
      const now = performance.now();
      if (!terminal.animated || now - drawn < redrawMs) return;
      drawn = now;
      const of = layers === null ? "" : ` of ${layers}`;
      err(`${mark("clearLine")}layer ${layer + 1}${of}, ${Math.round(bytes / 2 ** 20)} MiB opened`);
    },
    clear(): void {
      if (drawn > 0) err(mark("clearLine"));
    },
  };
}
