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
      const { layer, layers, bytes, total } = event;
      const mebibytes = (count: number) => Math.round(count / 2 ** 20);
      const of = layers === null ? "" : ` of ${layers}`;
      const ofBytes = total === null ? "" : ` of ${mebibytes(Math.max(total, bytes))}`;
      draw(`${layers === 1 ? "" : `layer ${layer + 1}${of}, `}${mebibytes(bytes)}${ofBytes} MiB opened`);
    },
    clear(): void {
      if (drawn > 0) err(mark("clearLine"));
    },
  };
}
