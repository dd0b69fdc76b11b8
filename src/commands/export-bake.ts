import { relative, resolve } from "node:path";
import { parseSecrets } from "../build/engines/secrets.ts";
import { isReady, jobOf, unreadyProblem } from "../build/jobs.ts";
import { type ExitCode, exitCodes, throwProblems } from "../errors.ts";
import { bakeFile, pathsToHide } from "../export/bake.ts";
import type { Fleet } from "../fleet/open-fleet.ts";
import { readContext } from "../io/context.ts";
import { readRevision } from "../io/revision.ts";
import { reportProblem } from "../report/problems.ts";
import { styleFor } from "../report/style.ts";
import { count } from "../report/table.ts";
import type { CommandContext } from "./context.ts";
import { type ExportFlags, planForExport } from "./export-plan.ts";

/** `imgmatch export bake`: the cells that are not built already, with the secrets that their steps mount. */
export async function exportBake(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, plan } = await planForExport(flags, context);
  const secrets = checkedSecrets(flags.secret ?? []);
  const built = plan.cells.filter(({ inputs, action }) => inputs !== null && action !== "keep");
  throwProblems(built.filter((planned) => !isReady(planned)).map(unreadyProblem));
  const revision = await readRevision(fleet.root, context.env);
  const { matrix } = plan;
  const jobs = built
    .filter(isReady)
    .map((planned) => jobOf(planned, { ...fleet, matrix, revision, push: false }));
  const folder = relative(context.cwd, resolve(context.cwd, fleet.contextDir)).replaceAll("\\", "/");
  const file = bakeFile(
    jobs.map(({ request }) => request),
    folder === "" ? "." : folder,
    secrets,
  );
  context.out(`${JSON.stringify(file, null, 2)}\n`);
  await warnOfOwnFiles(fleet, context);
  return exitCodes.ok;
}

/** The variables are those of the machine where bake runs: here they need not be set. */
function checkedSecrets(texts: readonly string[]): readonly string[] {
  const names = texts.flatMap((text) => /,env=(.+)$/.exec(text)?.[1] ?? []);
  parseSecrets(texts, Object.fromEntries(names.map((name) => [name, ""])));
  return texts;
}

/** imgmatch keeps its own files out of images; bake sends everything that `.dockerignore` does not hide. */
async function warnOfOwnFiles(fleet: Fleet, { err, terminal }: CommandContext): Promise<void> {
  const sent = new Set(fleet.context.entries.map(({ path }) => path));
  const { entries } = await readContext(fleet.contextDir, fleet.matrix.context.at);
  const more = entries
    .filter(({ path, kind }) => kind !== "folder" && !sent.has(path))
    .map(({ path }) => path);
  if (more.length === 0) return;
  const paths = pathsToHide(more, sent);
  const problem = {
    code: "CONTEXT_NOT_FOUND",
    message: `bake would send ${count(more.length, "file")} more than imgmatch: ${paths.slice(0, 8).join(", ")}${paths.length > 8 ? " …" : ""}`,
    fix: `where the Dockerfile copies whole folders, hide them in ${fleet.contextDir}/.dockerignore`,
  } as const;
  err(`${reportProblem(problem, styleFor(terminal.color.err))}\n`);
}
