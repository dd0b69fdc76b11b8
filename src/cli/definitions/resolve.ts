/** The arguments and flags of resolve, which every node loads. */

import { withHosts, withQuestion } from "../flags/options.ts";
import type { Define } from "./define.ts";

export const resolve: Define = (command, run) =>
  withQuestion(withHosts(command))
    .description("print the one image that was built for this host")
    .option("--local", "count what was built here and not pushed too: the answer is its id in the engine")
    .option("--explain", "say on standard error why it won, and why each other image did not")
    .argument("[reference]", "the same as --from")
    .action(run(async () => (await import("../resolve.ts")).resolve));
