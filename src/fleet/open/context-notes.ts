/** What a plan tells of the build contexts of the cells that will be built: each warning once. */

import { groupBy } from "../../io/collections.ts";
import { firstOf } from "../../io/table.ts";
import { linesToHide } from "../context/cell-context.ts";
import { timeComparing } from "../context/fixed-times.ts";
import { type LostBits, type LostKind, lostBits } from "../context/lost-bits.ts";
import { parseDockerfile } from "../dockerfile/instructions.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import type { Fleet } from "./open-fleet.ts";

export function contextNotes({ cells }: Plan, { folderOf }: Fleet): readonly string[] {
  const building = cells.flatMap(({ cell, action, context }) =>
    action === "build" && context !== null ? [{ dir: folderOf(cell).dir, context }] : [],
  );
  const ofFiles = [...groupBy(building, ({ dir }) => dir)].flatMap(([dir, own]) => {
    const contexts = own.map(({ context }) => context);
    return [...strayNotes(dir, linesToHide(contexts)), ...bitNotes(lostBits(contexts))];
  });
  return [...ofFiles, ...timeNotes(cells.filter(({ action }) => action === "build"))];
}

/** Warns of files that tools leave in the build context. */
function strayNotes(dir: string, lines: readonly string[]): readonly string[] {
  if (lines.length === 0) return [];
  return [
    `warning: the images take what tools leave in the build context, and every change of it builds them again; hide it in ${dir}/.dockerignore: ${lines.join(" ")}`,
  ];
}

const octal = (mode: number) => `0${mode.toString(8)}`;

const bitWords = {
  special: (files) =>
    `warning: the context has the modes that git has, without special bits: ${files}; set others by COPY --chmod, or in a RUN`,
  narrow: (files) =>
    `warning: the context has the modes that git has, so that every user of the image may read what is closed here: ${files}; mount a secret with RUN --mount=type=secret, close another file with COPY --chmod=600`,
  index: (files) =>
    `warning: the mode of git's index counts, and the file here has another: ${files}; tell git by git update-index --chmod=+x (or -x) FILE`,
} as const satisfies Record<LostKind, (files: string) => string>;

function bitNotes(lost: readonly LostBits[]): readonly string[] {
  return [...groupBy(lost, ({ kind }) => kind)].map(([kind, own]) =>
    bitWords[kind](
      firstOf(
        own.map(({ path, bits, mode }) => `${path} (${octal(mode)}, here ${octal(bits)})`),
        3,
      ),
    ),
  );
}

/** One cell of each template and target tells for all. */
function timeNotes(cells: readonly PlannedCell[]): readonly string[] {
  const kinds = groupBy(cells, ({ cell: { settings } }) =>
    JSON.stringify([settings.template.value, settings.target?.value]),
  );
  const steps = new Set<string>();
  for (const [first] of kinds.values()) {
    if (first?.dockerfile == null) continue;
    const { cell, bases, dockerfile } = first;
    const { target, contexts } = cell.settings;
    const parents = new Set(bases.flatMap(({ ref, parent }) => (parent === undefined ? [] : [ref])));
    const options = { args: dockerfile.args, platform: cell.platform, contexts: contexts?.value };
    const found = timeComparing(parseDockerfile(dockerfile.text), target?.value ?? null, options, (ref) =>
      parents.has(ref),
    );
    for (const { text } of found) steps.add(text.trim().replace(/\s+/g, " "));
  }
  return [...steps].map(
    (step) =>
      `warning: all files of the build context have one time, and what this step compiled before is newer than a changed source: ${step}; touch the sources first in the step (find . -type f -exec touch {} +), or compare content (ccache, compileall --invalidation-mode checked-hash)`,
  );
}
