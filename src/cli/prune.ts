/** `imgmatch prune`: retire versions, and remove images that nobody names any more. */

import { lockPath } from "../lock/lock.ts";
import { usageError } from "../errors.ts";
import type { PruneAnswer, PruneOptions, PrunedImage } from "../fleet/prune.ts";
import { groupBy, sum } from "../io/collections.ts";
import { count, formatTable } from "../io/table.ts";
import type { CommandContext, Define } from "./command.ts";
import { many, positive, withAll, withJson, withRegistries } from "./flags/options.ts";
import { type JsonFlag, print, tell } from "./print.ts";

const helpText = `
An image stays while anything else names it: the index of another version, a
channel or its history, a tag of its own, a foreign index, the lock, the lock at
a --git-ref. A first --yes marks the images without a name. A later --yes
removes them, if they had no name in between.`;

export const prune: Define = (command, run) =>
  withAll(
    withJson(command)
      .description("Retire versions: list images that nobody names any more, and remove them with --yes")
      .argument("<versions...>", "the versions that are over")
      .option("--lock <file>", `Read this lock (default: ${lockPath})`)
      .option(
        "--git-ref <ref>",
        "Keep what the lock at this commit names too: v1.4.0, refs/remotes/origin/*",
        ...many,
      )
      .option("--dry-run", "List what has no name, and change nothing (default)")
      .option("--yes", "Mark what has no name, and remove what was marked long enough ago")
      .option(
        "--days <n>",
        "With --yes: remove what had no name for so many days (default: 7)",
        positive("--days 7"),
      ),
    withRegistries,
  )
    .addHelpText("after", helpText)
    .action(run(pruneCommand));

type PruneFlags = PruneOptions & JsonFlag & { readonly dryRun?: boolean };

async function pruneCommand(flags: PruneFlags, context: CommandContext): Promise<void> {
  if (flags.yes && flags.dryRun)
    throw usageError("--yes removes images, and --dry-run changes nothing", "leave one of them out");
  const { prune } = await import("../fleet/prune.ts");
  const answer = await prune(flags, context);
  print(context, flags, answer, () => pruneLines(answer));
  if (flags.json) return;
  if ((flags.gitRef ?? []).length === 0)
    tell(["no --git-ref: locks of other branches and tags are not known"], context);
  if (!flags.yes && answer.images.some(({ state }) => state === "unnamed"))
    tell(["next: imgmatch prune --yes marks these images, and removes them days later"], context);
}

function pruneLines({ images, indexes }: PruneAnswer): readonly string[] {
  const rows = images.map(({ state, cells: [cell = "", ...more], tags, bytes, why = "" }) => [
    state,
    more.length === 0 ? cell : `${cell} and ${more.length} more`,
    tags[0] ?? "",
    mebibytes(bytes),
    why,
  ]);
  return [
    ...formatTable(rows),
    ...[...groupBy(images, ({ state }) => state)].map(([state, alike]) => summary(state, alike)),
    ...indexes.map(({ tag, state }) => `index ${tag}: ${state}`),
  ];
}

function summary(state: PrunedImage["state"], alike: readonly PrunedImage[]): string {
  const bytes = mebibytes(sum(alike.map((image) => image.bytes)));
  return `${count(alike.length, "image")} ${words[state]}, at most ${bytes}`;
}

const words = {
  stays: "named by others",
  unnamed: "without a name",
  waits: "marked, and not for long enough",
  removed: "removed",
  emptied: "without their tags: this registry removes no manifest",
} as const satisfies Record<PrunedImage["state"], string>;

function mebibytes(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
