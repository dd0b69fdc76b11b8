/** The commands of the program in one file. */

import type { CommandTable, Define } from "./command.ts";
import { withScript } from "./export-sh.ts";
import { probe } from "./probe.ts";
import { pull } from "./pull.ts";
import { resolve } from "./resolve.ts";
import { serve } from "./serve.ts";
import { whyNot } from "./why-not.ts";

const writeScript: Define = (command, run) =>
  withScript(command, run).description("Write the fleet as a script of sh and awk");

export const nodeCommands: CommandTable = {
  groups: {
    "Choose an image here": {
      resolve: async () => resolve,
      "why-not": async () => whyNot,
      pull: async () => pull,
      serve: async () => serve,
      probe: async () => probe,
    },
    "Everything else": { export: async () => writeScript },
  },
  unlisted: {},
  elsewhere: "npm install --global imgmatch brings the other commands",
};
