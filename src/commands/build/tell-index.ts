/** What `build --index` and `publish` say of the index that they have written. */

import { type ExitCode, exitCodes, type Problem } from "../../errors.ts";
import { formatImageReference } from "../../oci/reference.ts";
import type { PlanIndex } from "../../publish/publish-plan-index.ts";
import { count } from "../../report/table.ts";
import type { CommandContext } from "../context.ts";
import { tellProblem } from "../tell-problem.ts";

/** Exit code 1 where cells are missing in it. */
export function tellIndex(
  { reference, missing, published }: PlanIndex,
  { json }: { readonly json?: boolean },
  context: CommandContext,
): ExitCode {
  const name = formatImageReference(reference);
  if (json) {
    const answer = { schemaVersion: 1, type: "index", reference: `${name}@${published.digest}` };
    context.out(`${JSON.stringify({ ...answer, ...published, missing })}\n`);
  } else {
    context.out(`${name}@${published.digest}\n`);
    context.err(
      `index ${published.how}: ${count(published.cells, "image")}, ${published.added.length} added\n`,
    );
  }
  if (missing.length === 0) return exitCodes.ok;
  const problem: Problem = {
    code: "INDEX_INCOMPLETE",
    message: `${count(missing.length, "cell")} not in the index, because the registry does not have them as the matrix says: ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? " …" : ""}`,
    fix: "run imgmatch build --push, or name with --only what is to be published",
  };
  if (!json) tellProblem(problem, context);
  return exitCodes.failed;
}
