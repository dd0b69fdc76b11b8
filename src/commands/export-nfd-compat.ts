/** `imgmatch export nfd-compat`: Node Feature Discovery's image-compatibility specification of each image of the lock. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { nfdCompatArtifactType, nfdCompatSpec } from "../launch/nfd-compat.ts";
import type { LockedImage } from "../lock/lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { sortedEntries } from "../oci/text-order.ts";
import { matchesLabel } from "../plan/match.ts";
import { parseSelections, type Selection } from "../plan/select.ts";
import { printableReport } from "../input/printable.ts";
import { referenceOf } from "../resolve/resolve.ts";
import type { CommandContext } from "./context.ts";
import type { ExportFlags } from "./export-plan.ts";
import { lockFileOf } from "./fleet-options.ts";
import { yamlText } from "./launch-output.ts";

export async function exportNfdCompat(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const lock = await readLock(lockFileOf(flags));
  const axes = [...new Set(Object.values(lock.images).flatMap((image) => Object.keys(image.axes)))].sort();
  const selections = parseSelections(flags.only ?? [], axes);
  const selected = sortedEntries(lock.images).filter(
    ([cell, image]) => selections.length === 0 || selections.some((each) => selects(each, cell, image)),
  );
  if (selected.length === 0 && selections.length > 0) {
    throw new ImgmatchError({
      code: "SELECTION_EMPTY",
      message: "--only selects no image of the lock",
      fix: "imgmatch plan lists the cells",
    });
  }
  const specs = selected.flatMap(([cell, image]) => {
    const spec = nfdCompatSpec(lock, cell, image);
    if (spec !== null) return [{ reference: referenceOf(lock, image), spec }];
    context.err(printableReport([`left out: ${cell} is not built, or no node can run it`]));
    return [];
  });
  if (flags.json) {
    const images = specs.map(({ reference, spec }) => ({
      reference,
      artifactType: nfdCompatArtifactType,
      spec,
    }));
    context.out(`${JSON.stringify({ schemaVersion: 1, images }, null, 2)}\n`);
    return exitCodes.ok;
  }
  const texts = await Promise.all(
    specs.map(async ({ reference, spec }) => `# ${reference}\n${await yamlText(spec)}`),
  );
  context.out(texts.join("---\n"));
  return exitCodes.ok;
}

/** As for cells of a matrix, by what the lock keeps of them. */
function selects(selection: Selection, cell: string, { axes, platform }: LockedImage): boolean {
  if (typeof selection.cell === "string") return matchesLabel(selection.cell, cell);
  const values: Readonly<Record<string, string>> = { ...axes, platform };
  return Object.entries(selection as Readonly<Record<string, readonly string[]>>).every(([axis, patterns]) =>
    patterns.some((pattern) => matchesLabel(pattern, values[axis] ?? "")),
  );
}
