/** Which files of its context a cell's image would now be built with that it was not. */

import { recallContext } from "./dockerfile/context-record.ts";
import { type ChangedFiles, changedFiles } from "./plan/changes.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";
import type { Fleet } from "./open-fleet.ts";

/** null where the context is the same, and where this machine did not build with the one of then. */
export async function changedContext(
  { root }: Pick<Fleet, "root">,
  { locked, context }: Pick<PlannedCell, "locked" | "context">,
): Promise<ChangedFiles | null> {
  const then = locked?.inputs?.context;
  if (then === undefined || context === null || then === context.digest) return null;
  const recalled = await recallContext(root, then);
  return recalled === null ? null : changedFiles(recalled, context.entries);
}
