/** The commands of the program in one file. The bundler puts this in place of command-table.ts. */

import type { Define } from "./command.ts";
import { withScript } from "./export-sh.ts";
import { probe } from "./probe.ts";
import { pull } from "./pull.ts";
import { resolve } from "./resolve.ts";
import { serve } from "./serve.ts";
import { whyNot } from "./why-not.ts";

const writeScript: Define = (command, run) =>
  withScript(command, run).description("Write the fleet as a script of sh and awk");

export const commandGroups = {
  "Choose an image here": {
    resolve: async () => resolve,
    "why-not": async () => whyNot,
    pull: async () => pull,
    serve: async () => serve,
    probe: async () => probe,
  },
  "Everything else": { export: async () => writeScript },
} as const satisfies Record<string, Record<string, () => Promise<Define>>>;

export const unlistedCommands: Readonly<Record<string, () => Promise<Define>>> = {};

export const elsewhere = "npm install --global imgmatch brings the other commands";
