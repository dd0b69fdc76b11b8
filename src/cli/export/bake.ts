/** `imgmatch export bake`: the cells that are not built already, with the secrets that their steps mount. */

import { relative, resolve } from "node:path";
import { parseSecrets } from "../../fleet/build/engines/build-secrets.ts";
import { checkSsh } from "../../fleet/build/engines/ssh.ts";
import { type ExitCode, exitCodes } from "../../errors.ts";
import type { BakeSteps } from "../../fleet/export/bake.ts";
import { bakePlan, filesToHide } from "../../fleet/bake-plan.ts";
import type { Fleet } from "../../fleet/open-fleet.ts";
import { readRevision } from "../../io/git.ts";
import { count } from "../../io/table.ts";
import type { CommandContext } from "../command-context.ts";
import { requireNetwork } from "../../fleet/build/engines/engine-choice.ts";
import { type ExportFlags, planForExport } from "../../fleet/plan-choice.ts";
import { tellProblem } from "../print.ts";

export async function exportBake(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const { fleet, plan } = await planForExport(flags, context);
  const secrets = checkedSecrets(flags.secret ?? []);
  const folder = relative(context.cwd, resolve(context.cwd, fleet.contextDir)).replaceAll("\\", "/");
  const file = bakePlan(plan, fleet, {
    folder: folder === "" ? "." : folder,
    secrets,
    ...checkedSteps(flags),
    revision: await readRevision(fleet.root, context.env),
  });
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

/** The agents too are those of the machine where bake runs. */
function checkedSteps({ ssh = [], network = "default" }: ExportFlags): Pick<BakeSteps, "ssh" | "network"> {
  checkSsh(ssh);
  requireNetwork(network, "buildx");
  return { ssh, network };
}

async function warnOfOwnFiles(fleet: Fleet, context: CommandContext): Promise<void> {
  const { files, paths, hidden } = await filesToHide(fleet);
  if (hidden.length > 0)
    tellProblem(
      {
        code: "CONTEXT_NOT_FOUND",
        message: `bake would leave out ${count(hidden.length, "file")} that the Dockerfile's own ignore file shows: ${hidden.slice(0, 8).join(", ")}${hidden.length > 8 ? " …" : ""}`,
        fix: `show them in ${fleet.contextDir}/.dockerignore`,
      },
      context,
    );
  if (files === 0) return;
  tellProblem(
    {
      code: "CONTEXT_NOT_FOUND",
      message: `bake would send ${count(files, "file")} more than imgmatch: ${paths.slice(0, 8).join(", ")}${paths.length > 8 ? " …" : ""}`,
      fix: `where the Dockerfile copies whole folders, hide them in ${fleet.contextDir}/.dockerignore`,
    },
    context,
  );
}
