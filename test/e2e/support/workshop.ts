/** What the demo's makers of images are given: the tests' engine and registry. */

import { join } from "node:path";
import type { inject } from "vitest";
import { quietContext } from "../../../demo/context.ts";
import type { Workshop } from "../../../demo/image.ts";
import type { Undo } from "../../../demo/undo.ts";
import { root } from "./program.ts";

type Stack = Extract<ReturnType<typeof inject<"stack">>, { available: true }>;

/** Shows the lines that it says, as making a base image takes minutes. */
export function workshopOf({ engineEnv, registry }: Stack, undo: Undo): Workshop {
  const quiet = quietContext(join(root, ".imgmatch/e2e"), { ...process.env, ...engineEnv });
  return {
    engine: { host: engineEnv.DOCKER_HOST ?? "", version: "", own: true },
    registry: { address: registry, how: "" },
    context: { ...quiet, undo, say: { ...quiet.say, line: (text) => console.log(text) } },
  };
}
