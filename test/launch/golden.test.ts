import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { ImgmatchError } from "../../src/errors.ts";
import { launchTargets } from "../../src/launch/launch-targets.ts";
import { shellCommand } from "../../src/launch/shell.ts";
import type { LaunchFormat, LaunchRequest, LaunchTarget } from "../../src/launch/target.ts";
import { everything, gpuModes } from "./support/requests.ts";

const node = { key: "image.cv-tf", value: "1.12.0-v3" };

/** Without these they refuse, and there is nothing to read. */
const alone: Readonly<Record<string, LaunchRequest["settings"]>> = { zun: { image: "tag" } };
const needed: typeof alone = { zun: { image: "tag", labels: "yes" }, slurm: { entrypoint: "yes" } };

describe("what each target writes", () => {
  it.each(Object.keys(launchTargets) as (keyof typeof launchTargets)[])("%s", async (name) => {
    const target: LaunchTarget = launchTargets[name];
    const parts: string[] = [];
    for (const task of ["batch", "service"] as const) {
      for (const [mode, image] of Object.entries(gpuModes)) {
        const small: LaunchRequest = { ...image, args: [], task, settings: needed[name] ?? {} };
        const full: LaunchRequest = { ...small, ...everything, node };
        parts.push(
          `## ${task}, ${mode}\n\n${written(target, small)}\n### with everything\n\n${written(target, full)}`,
        );
        const run: LaunchRequest = {
          ...full,
          node: null,
          program: "/usr/bin/train",
          settings: alone[name] ?? {},
        };
        parts.push(`### with its own program, anywhere\n\n${written(target, run)}`);
      }
    }
    await expect(`# ${name}\n\n${parts.join("\n")}`).toMatchFileSnapshot(`../golden/launch/${name}.txt`);
  });
});

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
