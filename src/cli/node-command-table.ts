/** The commands of the program in one file: the bundler puts this in place of the whole table. */

import type { Define } from "./define.ts";
import { withScript } from "./export-sh.ts";
import { probe } from "./probe.ts";
import { pull } from "./pull.ts";
import { resolve } from "./resolve.ts";
import { serve } from "./serve.ts";
import { whyNot } from "./why-not.ts";

export const commandTable = {
  probe: async () => probe,
  resolve: async () => resolve,
  pull: async () => pull,
  serve: async () => serve,
  "why-not": async () => whyNot,
  export: async (): Promise<Define> => (command, run) =>
    withScript(command, run).description("write the fleet as a script"),
} as const satisfies Record<string, () => Promise<Define>>;

export const elsewhere = "npm install --global imgmatch brings the other commands";

export function isCommand(name: string | undefined): name is keyof typeof commandTable {
  return name !== undefined && Object.hasOwn(commandTable, name);
}
