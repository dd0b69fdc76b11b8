import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { readDockerfiles, removeDockerfiles, writeDockerfiles } from "../io/dockerfiles.ts";
import { selectCells } from "../plan/plan.ts";
import { type Drift, findDrift, hasDrift } from "../render/drift.ts";
import { count } from "../report/table.ts";
import type { CommandContext } from "./context.ts";
import { type FleetFlags, openFleetFor } from "./fleet-options.ts";

export interface RenderFlags extends FleetFlags {
  /** Fail on drift instead of writing. */
  readonly check?: boolean;
  /** Remove Dockerfiles of no cell. */
  readonly prune?: boolean;
  /** Folder to write to in place of the matrix's own. */
  readonly out?: string;
  readonly json?: boolean;
}

/** `imgmatch render`: writes one Dockerfile per cell that can be built. */
export async function render(flags: RenderFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, only } = await openFleetFor(flags);
  const root = flags.out ?? fleet.root;
  const buildable = selectCells(fleet.cells, only).filter(({ skipped }) => skipped === null);
  const files = buildable.map(({ cell }) => fleet.render(cell));
  const drift = findDrift(files, readDockerfiles(root));
  // A selection sees only its own cells: what belongs to the others is no orphan.
  const seen: Drift = only.length === 0 ? drift : { ...drift, orphans: [] };
  if (flags.check) return check(seen, files.length, flags, context);
  const stale = new Set([...seen.missing, ...seen.changed]);
  writeDockerfiles(
    root,
    files.filter(({ path }) => stale.has(path)),
  );
  const removed = flags.prune ? seen.orphans : [];
  removeDockerfiles(root, removed);
  if (flags.json) {
    const answer = {
      schemaVersion: 1,
      rendered: files.length,
      written: [...stale].sort(),
      removed,
      orphans: flags.prune ? [] : seen.orphans,
    };
    context.out(`${JSON.stringify(answer, null, 2)}\n`);
    return exitCodes.ok;
  }
  context.out(
    `${count(files.length, "Dockerfile")}: ${stale.size} written, ${files.length - stale.size} unchanged${removed.length > 0 ? `, ${removed.length} removed` : ""}\n`,
  );
  if (!flags.prune) {
    for (const path of seen.orphans) context.err(`${path} belongs to no cell; --prune removes it\n`);
  }
  return exitCodes.ok;
}

function check(drift: Drift, rendered: number, { json }: RenderFlags, context: CommandContext): ExitCode {
  if (json) context.out(`${JSON.stringify({ schemaVersion: 1, rendered, ...drift }, null, 2)}\n`);
  if (!hasDrift(drift)) {
    if (!json) context.out(`${count(rendered, "Dockerfile")} up to date\n`);
    return exitCodes.ok;
  }
  if (json) return exitCodes.failed;
  const list = [
    ...drift.missing.map((path) => `${path} is missing`),
    ...drift.changed.map((path) => `${path} differs`),
    ...drift.orphans.map((path) => `${path} belongs to no cell`),
  ];
  throw new ImgmatchError({
    code: "RENDER_DRIFT",
    message: `${count(list.length, "Dockerfile")} out of date:\n  ${list.join("\n  ")}`,
    fix: drift.orphans.length > 0 ? "run imgmatch render --prune" : "run imgmatch render",
  });
}
