/** How far a command is that opens images: one line that is drawn over, on a terminal alone. */

import type { OpenEvent } from "../inspect/open-subject.ts";
import type { CommandContext } from "./command-context.ts";
import { mark } from "./report/terminal-text.ts";

const redrawMs = 200;

export function progressTo({ terminal, err }: CommandContext) {
  let drawn = 0;
  const draw = (text: string) => {
    if (!terminal.animated) return;
    drawn = performance.now();
    err(`${mark("clearLine")}${text}`);
  };
  return {
    draw,
    layer({ layer, layers, bytes }: OpenEvent): void {
      if (performance.now() - drawn < redrawMs) return;
      const of = layers === null ? "" : ` of ${layers}`;
      draw(`layer ${layer + 1}${of}, ${Math.round(bytes / 2 ** 20)} MiB opened`);
    },
    clear(): void {
      if (drawn > 0) err(mark("clearLine"));
    },
  };
}
