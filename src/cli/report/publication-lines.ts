/** Reports the index, the channels and the signatures that `build`, `publish` and `promote` write. */

import type { ChannelEvent, IndexEvent, PromotionEvent } from "../../fleet/publish/publication.ts";
import type { ShownImage } from "../../lock/fleet-index.ts";
import { count } from "../../io/table.ts";
import { printableReport } from "../../printable.ts";
import type { CommandContext } from "../command.ts";
import type { JsonFlag } from "../print.ts";

const rewritten =
  "the tag held the same images in other words, or something else beside them: where this imgmatch wrote it before, find out who else can";

export function reportPublication(
  event: PromotionEvent,
  { json = false }: JsonFlag,
  { out, err, takeSignals }: Pick<CommandContext, "out" | "err" | "takeSignals">,
): void {
  if (event.type === "publish") takeSignals("finish");
  else if (json) out(`${JSON.stringify(event)}\n`);
  else if (event.type === "signatures") {
    const { signed, kept } = event;
    err(`signed ${count(signed.length, "manifest")}, ${kept.length} had this signature already\n`);
  } else {
    out(`${event.reference}\n`);
    err(printableReport(event.type === "index" ? indexLines(event) : channelLines(event)));
  }
}

function channelLines(event: ChannelEvent): readonly string[] {
  const { channel, how, images, version, from, dropped, losses } = event;
  const origin = how === "moved" ? `, from ${from}` : "";
  return [
    `channel ${channel} ${how}: ${count(images, "image")} of ${version}${origin}`,
    ...droppedLines(dropped, "channel"),
    ...losses,
  ];
}

/** Each by its name: nodes find these images no more. */
function droppedLines(dropped: IndexEvent["dropped"], where: "index" | "channel"): readonly string[] {
  if (dropped === null)
    return [`the ${where} was damaged: which cells it had, and has no more, is not known`];
  return dropped.length === 0
    ? []
    : [`no longer in the ${where}: ${count(dropped.length, "cell")}, ${dropped.join(", ")}`];
}

function indexLines({ how, cells, added, dropped, plain }: IndexEvent): readonly string[] {
  // The images are the same, and the text of the index differs.
  const isRewritten = how === "written" && added.length === 0;
  return [
    `index ${how}: ${count(cells, "image")}, ${added.length} added`,
    ...(isRewritten ? [rewritten] : []),
    ...droppedLines(dropped, "index"),
    ...plain.flatMap(describePlain),
  ];
}

function describePlain({ platform, cell, withheld }: ShownImage): readonly string[] {
  // A problem reports this.
  if (withheld !== undefined) return [];
  if (cell === null)
    return [
      `a plain pull finds no image for ${platform}: each needs a GPU, and no engine can choose among those`,
    ];
  const puller = platform.startsWith("linux/amd64/v") ? "Docker 23 and newer get" : "a plain pull gets";
  return [`${puller} ${cell} on ${platform}`];
}
