/** The tests' engine and registry, as the demo's makers of images take them. */

import { join } from "node:path";
import { quietContext } from "../../../demo/context.ts";
import type { Workshop } from "../../../demo/image.ts";
import type { Undo } from "../../../demo/undo.ts";
import type { RunningStack } from "./global-setup.ts";
import { root } from "./program.ts";

/** Shows the lines that it says, as making a base image takes minutes. */
export function workshopOf({ engineEnv, registry }: RunningStack, undo: Undo): Workshop {
  const quiet = quietContext(join(root, ".imgmatch/e2e"), { ...process.env, ...engineEnv });
  return {
    engine: { host: engineEnv.DOCKER_HOST ?? "", version: "", own: true },
    registry: { address: registry, how: "" },
    context: { ...quiet, undo, say: { ...quiet.say, line: (text) => console.log(text) } },
  };
}
