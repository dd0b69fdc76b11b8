import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { ImgmatchError } from "../../../src/errors.ts";
import { launchTargets } from "../../../src/node/launch/launch-targets.ts";
import { shellCommand } from "../../../src/node/launch/shell.ts";
import type { LaunchFormat, LaunchRequest, LaunchTarget } from "../../../src/node/launch/target.ts";
import { expectedRefusal, type GoldenCase } from "./support/refusals.ts";
import { everything, gpuModes } from "./support/requests.ts";

const node = { key: "image.cv-tf", value: "1.12.0-v3" };

/** Without these they refuse, and there is nothing to read. */
const alone: Readonly<Record<string, LaunchRequest["settings"]>> = { zun: { image: "tag" } };
const needed: typeof alone = { zun: { image: "tag", labels: "yes" }, slurm: { entrypoint: "yes" } };

const targets = Object.keys(launchTargets) as (keyof typeof launchTargets)[];

describe("what each target writes", () => {
  it.each(targets)("%s", async (name) => {
    const target: LaunchTarget = launchTargets[name];
    const text = goldenCases
      .map((each) => `${titles[each.asks](each)}\n\n${written(target, requestOf(name, each))}`)
      .join("\n");
    await expect(`# ${name}\n\n${text}`).toMatchFileSnapshot(`../../golden/launch/${name}.txt`);
  });
});

describe("what each target refuses, and by which code", () => {
  it.each(targets)("%s", (name) => {
    const target: LaunchTarget = launchTargets[name];
    const outcomes = (codeOf: (each: GoldenCase, format: LaunchFormat) => string | null) =>
      goldenCases.flatMap((each) =>
        target.formats.map((format) =>
          [each.task, each.mode, each.asks, format, codeOf(each, format)].join(", "),
        ),
      );
    expect(outcomes((each, format) => refusalCode(target, requestOf(name, each), format))).toEqual(
      outcomes((each) => expectedRefusal(name, each)),
    );
  });
});

const modes = Object.keys(gpuModes) as (keyof typeof gpuModes)[];
const goldenCases: readonly GoldenCase[] = (["batch", "service"] as const).flatMap((task) =>
  modes.flatMap((mode) =>
    (["small", "everything", "program"] as const).map((asks) => ({ task, mode, asks })),
  ),
);

const titles: Readonly<Record<GoldenCase["asks"], (it: GoldenCase) => string>> = {
  small: ({ task, mode }) => `## ${task}, ${mode}`,
  everything: () => "### with everything",
  program: () => "### with its own program, anywhere",
};

function requestOf(name: keyof typeof launchTargets, { task, mode, asks }: GoldenCase): LaunchRequest {
  const small: LaunchRequest = { ...gpuModes[mode], args: [], task, settings: needed[name] ?? {} };
  if (asks === "small") return small;
  const { noPorts }: LaunchTarget = launchTargets[name];
  const full: LaunchRequest = { ...small, ...everything, ...(noPorts && { ports: [] }), node };
  if (asks === "everything") return full;
  return { ...full, node: null, program: "/usr/bin/train", settings: alone[name] ?? {} };
}

function refusalCode(target: LaunchTarget, request: LaunchRequest, format: LaunchFormat): string | null {
  try {
    target.launch(request, format);
    return null;
  } catch (error) {
    if (error instanceof ImgmatchError) return error.code;
    throw error;
  }
}

function written(target: LaunchTarget, request: LaunchRequest): string {
  return target.formats
    .filter((format) => format !== "json" || target.formats[0] === "json")
    .map((format) => inFormat(target, request, format))
    .join("");
}

function inFormat(target: LaunchTarget, request: LaunchRequest, format: LaunchFormat): string {
  try {
    const output = target.launch(request, format);
    if (output.form === "command") return format === "yaml" ? "" : `${shellCommand(output.command)}\n`;
    if (format === "json") return `${JSON.stringify(output.documents, null, 2)}\n`;
    return target.formats[0] === "json"
      ? ""
      : output.documents.map((each) => stringify(each, { version: "1.1" })).join("---\n");
  } catch (error) {
    if (error instanceof ImgmatchError) return `${error.message}\n`;
    throw error;
  }
}
