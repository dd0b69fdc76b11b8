/** The name of every command and its file: a start loads that of the command that it was asked for. */

import type { Define } from "./define.ts";
import { resolve } from "./resolve.ts";

/** In the order of the help text. */
export const commandTable = {
  init: async () => (await import("./init.ts")).init,
  schema: async () => (await import("./schema.ts")).schema,
  plan: async () => (await import("./plan.ts")).plan,
  render: async () => (await import("./render.ts")).render,
  build: async () => (await import("./build.ts")).build,
  publish: async () => (await import("./publish.ts")).publish,
  promote: async () => (await import("./promote.ts")).promote,
  verify: async () => (await import("./verify.ts")).verify,
  audit: async () => (await import("./audit.ts")).audit,
  export: async () => (await import("./export.ts")).exportFleet,
  repro: async () => (await import("./repro.ts")).repro,
  lock: async () => (await import("./lock.ts")).lock,
  probe: async () => (await import("./probe.ts")).probe,
  // Nodes wait for it: it is there at once.
  resolve: async () => resolve,
  pull: async () => (await import("./pull.ts")).pull,
  run: async () => (await import("./run.ts")).run,
  launch: async () => (await import("./launch.ts")).launch,
  serve: async () => (await import("./serve.ts")).serve,
  labels: async () => (await import("./labels.ts")).labels,
  "why-not": async () => (await import("./why-not.ts")).whyNot,
  cover: async () => (await import("./cover.ts")).cover,
  check: async () => (await import("./check.ts")).check,
  inspect: async () => (await import("./inspect.ts")).inspect,
  adopt: async () => (await import("./adopt.ts")).adopt,
  doctor: async () => (await import("./doctor.ts")).doctor,
  hardware: async () => (await import("./hardware.ts")).hardware,
} as const satisfies Record<string, () => Promise<Define>>;

/** How to have the commands that this program lacks; null where it has all. */
export const elsewhere: string | null = null;

export function isCommand(name: string | undefined): name is keyof typeof commandTable {
  return name !== undefined && Object.hasOwn(commandTable, name);
}
