/** `imgmatch adopt REF…`: write images that others built into a lock. */

import { lockPath } from "../lock/lock.ts";
import { answerOfSide, type BySide, sidesOf, variantsOf } from "../lock/requirement.ts";
import type { Adoption, AdoptOptions } from "../fleet/adopt.ts";
import { describeMeasured } from "../resolve/describe-measured.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { many, withJson, withRegistries } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { type JsonFlag, print, tell } from "./print.ts";

export const adopt: Define = (command, run) =>
  withRegistries(
    withJson(command)
      .description("Open existing images, and write them into a lock")
      .argument("<references...>", "images, each with its tag")
      .option("--lock <file>", `Write into this lock (default: ${lockPath})`)
      .option("--axis <axis=value>", "Give all these images this value of an axis", ...many)
      .option("--tag-pattern <pattern>", "Read axes from each tag: {pytorch}-cuda*-{flavor}")
      .option("--march <name>", "State the march of the images (default: estimated from their files)")
      .option("--without <feature>", "State a feature of the march that the images do not need", ...many)
      .option("--cuda <version>", "State the toolkit, where the files do not decide it")
      .option("--rocm <release>", "State the ROCm release, where the files do not decide it")
      .option("--platform <os/arch>", "Take this platform's image from an index (default: this machine's)")
      .option("--name <name>", "Name the fleet of a new lock (default: the last part of the repository)")
      .option("--fleet-version <version>", "Set the fleet's version, the tag of its index (default: 1)")
      .option("--publish-to <repository>", "Copy images of other repositories there, and lock the copies"),
  ).action(run(adoptCommand));

async function adoptCommand(flags: AdoptOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { adoptWith } = await import("../fleet/adopt.ts");
  const adopt = adoptWith(ports);
  const progress = progressTo(context);
  const onEvent: AdoptOptions["onEvent"] = (event) => {
    if (event.type !== "copy") return progress.layer(event);
    progress.clear();
    context.err(`copying ${event.from} to ${event.to}\n`);
  };
  const answer = await adopt({ ...flags, onEvent }, context).finally(progress.clear);
  print(context, flags, answer, () => answer.adopted.flatMap(adoptedLines));
  if (!flags.json) tell([`in ${answer.lock}; next: imgmatch publish, or imgmatch resolve`], context);
}

const gpuWords: BySide<string> = {
  nvidia: (cuda) =>
    `CUDA ${variantsOf(cuda)
      .map(({ toolkit }) => toolkit)
      .join(" or ")}`,
  amd: ({ release, code }) => `ROCm ${release} (${code.join(" ")})`,
};

function adoptedLines({ cell, image, notes }: Adoption): readonly string[] {
  const gpus = sidesOf(image.requires).map((side) => answerOfSide(gpuWords, side));
  const measured = describeMeasured(image) ?? `stated: ${image.requires.cpu.march}`;
  return [
    `${cell}  ${image.platform}  ${gpus.join("  ") || "CUDA none"}  CPU ${measured}`,
    ...notes.map((note) => `  note: ${note}`),
  ];
}
