/** What `build --index` and `publish` say of the index that they have written. */

import { type ExitCode, exitCodes, type Problem } from "../../errors.ts";
import { printableReport } from "../../printable.ts";
import { formatImageReference } from "../../oci/reference.ts";
import type { NativeImage } from "../../fleet/publish/native-images.ts";
import type { PublishedIndex } from "../../fleet/publish/publish-index.ts";
import { type PlanIndex, sameArguments } from "../../fleet/publish/publish-plan-index.ts";
import { count } from "../../io/table.ts";
import type { CommandContext } from "../command-context.ts";
import { tellProblem } from "../print.ts";

const rewritten =
  "the tag held the same images in other words, or something else beside them: where this imgmatch wrote it before, find out who else can";

/** Exit code 1 where cells are missing in it. */
export function tellIndex(
  { reference, missing, otherArgs, published }: PlanIndex,
  { json }: { readonly json?: boolean },
  context: CommandContext,
): ExitCode {
  const name = formatImageReference(reference);
  if (json) {
    const answer = { schemaVersion: 1, type: "index", reference: `${name}@${published.digest}` };
    context.out(`${JSON.stringify({ ...answer, ...published, missing })}\n`);
  } else {
    context.out(`${name}@${published.digest}\n`);
    const lines = [
      `index ${published.how}: ${count(published.cells, "image")}, ${published.added.length} added`,
      ...(isRewritten(published) ? [rewritten] : []),
      ...published.plain.map(describePlain),
    ];
    context.err(printableReport(lines));
  }
  if (missing.length === 0) return exitCodes.ok;
  const problem: Problem = {
    code: "INDEX_INCOMPLETE",
    message: `${count(missing.length, "cell")} not in the index, because the registry does not have them as the matrix says: ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? " …" : ""}`,
    fix: `run imgmatch build --push, or name with --only what is to be published${sameArguments(otherArgs)}`,
  };
  if (!json) tellProblem(problem, context);
  return exitCodes.failed;
}

/** Whether what it said before is the same, and not how. */
function isRewritten({ how, added }: PublishedIndex): boolean {
  return how === "written" && added.length === 0;
}

function describePlain({ platform, cell }: NativeImage): string {
  if (cell === null)
    return `a plain pull finds no image for ${platform}: each needs a GPU, and no engine can choose among those`;
  const puller = platform.startsWith("linux/amd64/v") ? "Docker 23 and newer get" : "a plain pull gets";
  return `${puller} ${cell} on ${platform}`;
}
