/** Every command, its heading in the help, and its file. */

import type { CommandTable, Define } from "./command.ts";
import { resolve } from "./resolve.ts";

/** In the order of the help. */
export const commandGroups = {
  "Build a fleet": {
    init: async () => (await import("./init.ts")).init,
    plan: async () => (await import("./plan.ts")).plan,
    build: async () => (await import("./build.ts")).build,
    render: async () => (await import("./render.ts")).render,
    publish: async () => (await import("./publish.ts")).publish,
    promote: async () => (await import("./promote.ts")).promote,
    verify: async () => (await import("./verify.ts")).verify,
    prune: async () => (await import("./prune.ts")).prune,
    lock: async () => (await import("./lock.ts")).lock,
    export: async () => (await import("./export.ts")).exportFleet,
  },
  "Choose an image here": {
    // Loaded at once, as nodes wait for it.
    resolve: async () => resolve,
    "why-not": async () => (await import("./why-not.ts")).whyNot,
    run: async () => (await import("./run.ts")).run,
    pull: async () => (await import("./pull.ts")).pull,
    launch: async () => (await import("./launch.ts")).launch,
    serve: async () => (await import("./serve.ts")).serve,
    probe: async () => (await import("./probe.ts")).probe,
    doctor: async () => (await import("./doctor.ts")).doctor,
    prove: async () => (await import("./prove.ts")).prove,
  },
  "Look at many hosts": {
    cover: async () => (await import("./cover.ts")).cover,
    labels: async () => (await import("./labels.ts")).labels,
  },
  "Open images": {
    inspect: async () => (await import("./inspect.ts")).inspect,
    check: async () => (await import("./check.ts")).check,
    audit: async () => (await import("./audit.ts")).audit,
    adopt: async () => (await import("./adopt.ts")).adopt,
  },
  "Everything else": {
    hardware: async () => (await import("./hardware.ts")).hardware,
    schema: async () => (await import("./schema.ts")).schema,
    completion: async () => (await import("./completion.ts")).completion,
  },
} as const satisfies Record<string, Record<string, () => Promise<Define>>>;

export const allCommands: CommandTable = {
  groups: commandGroups,
  unlisted: { "completion-server": async () => (await import("./completion.ts")).completionServer },
  elsewhere: null,
};
