/** The progress of a command that opens images: a line, redrawn in place. Only a terminal shows it. */

import type { OpenEvent } from "../lock/statement.ts";
import type { Notice } from "../io/world.ts";
import type { CommandContext } from "./command.ts";
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
    /** Draws opened layers, and leaves other events alone. */
    layer(event: OpenEvent | Notice): void {
      if (event.type !== "open" || performance.now() - drawn < redrawMs) return;
      const { layer, layers, bytes } = event;
      const of = layers === null ? "" : ` of ${layers}`;
      draw(`layer ${layer + 1}${of}, ${Math.round(bytes / 2 ** 20)} MiB opened`);
    },
    clear(): void {
      if (drawn > 0) err(mark("clearLine"));
    },
  };
}
