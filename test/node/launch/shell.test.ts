import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { launchTargets } from "../../../src/node/launch/launch-targets.ts";
import { shellCommand } from "../../../src/node/launch/shell.ts";
import type { LaunchCommand, LaunchRequest, LaunchTarget } from "../../../src/node/launch/target.ts";
import { runs, timeoutMs } from "../../properties/support/runs.ts";
import { gpuModes } from "./support/requests.ts";

/** Texts that shells, CSV, YAML and templates trip over. */
const hostile = fc.oneof(
  fc.string({ unit: fc.constantFrom(..." \t\n'\"`$(){}[]<>|&;*?!~#\\-=,:%^ab0é√"), maxLength: 12 }),
  fc.constantFrom(
    "$(touch /tmp/x)",
    "`id`",
    "'; exit 1; '",
    "a\nb",
    "--flag",
    "",
    " ",
    "\\",
    "!!",
    ["$", "{HOME}"].join(""),
    "*",
  ),
);
const path = hostile.map((text) => `/p${text.replaceAll("/", "")}`);
const names = fc.constantFrom("A", "B_2", "PATH_X");

const request: fc.Arbitrary<LaunchRequest> = fc
  .record({
    image: fc.constantFrom(
      gpuModes["no GPU"],
      gpuModes.CDI,
      gpuModes["bundled driver"],
      gpuModes["NVIDIA runtime"],
    ),
    args: fc.array(hostile, { maxLength: 3 }),
    program: fc.option(hostile, { nil: undefined, freq: 1 }),
    name: fc.option(hostile, { nil: undefined }),
    env: fc.dictionary(names, hostile, { maxKeys: 2 }),
    mounts: fc.array(fc.record({ source: path, target: path, readOnly: fc.boolean() }), { maxLength: 2 }),
    task: fc.constantFrom("batch" as const, "service" as const),
    options: fc.array(hostile, { maxLength: 1 }),
  })
  .map(({ image, program, name, ...rest }) => ({
    ...image,
    ...rest,
    node: null,
    ...(program === undefined ? {} : { program }),
    ...(name === undefined ? {} : { name }),
  }));

const targets = Object.values(launchTargets).filter(({ formats }) =>
  (formats as readonly string[]).includes("shell"),
);

describe("every printed command survives the shell", { timeout: timeoutMs }, () => {
  let folder = "";

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "imgmatch-shell-"));
    // Prints its name, its arguments and the variables that were set for it, each ended by a zero byte.
    const script = `#!/bin/sh\nprintf '%s\\0' "\${0##*/}" "$@"\nprintf '%s\\0' "A=$A" "B_2=$B_2" "PATH_X=$PATH_X" "NV_GPU=$NV_GPU" "APPTAINERENV_A=$APPTAINERENV_A"\n`;
    for (const name of [
      "docker",
      "nvidia-docker",
      "podman",
      "apptainer",
      "mesos-execute",
      "openstack",
      "sbatch",
      "srun",
    ]) {
      writeFileSync(join(folder, name), script);
      chmodSync(join(folder, name), 0o755);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(targets.map((target) => [target.name, target] as const))("%s", (_name, target: LaunchTarget) => {
    fc.assert(
      fc.property(request, (any) => {
        const wish = { ...any, ...termsOf(target, any) };
        const command = commandOf(target, wish);
        // Another one in its place: most wishes are none that every target can write.
        fc.pre(command !== null);
        if (command === null) return;
        expect(typed(shellCommand(command), folder)).toEqual(expected(command));
        const wrap = command.argv.find((word) => word.startsWith("--wrap="));
        if (wrap === undefined) return;
        // sbatch hands this line to a shell of its own.
        const inner = typed(wrap.slice("--wrap=".length), folder);
        const direct = commandOf(target, {
          ...wish,
          options: [],
          settings: { ...wish.settings, submit: "srun" },
        });
        if (direct === null) throw new Error("sbatch and srun say different things");
        const words = direct.argv.filter((word) => !/^--(job-name|ntasks|gres)=/.test(word));
        expect(inner.slice(0, words.length)).toEqual(words);
      }),
      { numRuns: Math.max(20, Math.ceil(runs / 50)), maxSkipsPerRun: 1000 },
    );
  });
});

/** Options that a target must have, and options that it must not have, before it writes anything. */
function termsOf({ name }: LaunchTarget, { program }: LaunchRequest): Partial<LaunchRequest> {
  if (name === "zun") return { ...gpuModes["no GPU"], mounts: [], settings: { image: "tag" } };
  if (name === "slurm" && program === undefined) return { settings: { entrypoint: "yes" } };
  return { settings: {} };
}

function commandOf(target: LaunchTarget, wish: LaunchRequest): LaunchCommand | null {
  try {
    const output = target.launch(wish, "shell");
    return output.form === "command" ? output.command : null;
  } catch (error) {
    if (error instanceof ImgmatchError) return null;
    throw error;
  }
}

/** The words that a program gets when this line is typed. */
function typed(line: string, folder: string): readonly string[] {
  const shell = spawnSync("/bin/sh", ["-c", line], { env: { PATH: folder }, encoding: "utf8" });
  expect(shell.stderr).toBe("");
  expect(shell.status).toBe(0);
  return shell.stdout.split("\0").slice(0, -1);
}

function expected({ argv, env }: LaunchCommand): readonly string[] {
  const variables = ["A", "B_2", "PATH_X", "NV_GPU", "APPTAINERENV_A"].map(
    (name) => `${name}=${env[name] ?? ""}`,
  );
  return [...argv, ...variables];
}

it.each(["\u001b[2J", "a\u202eb", "\u0007", "a\u200bb", "\r"])(
  "prints no line that is another one on a terminal: %j",
  (word) => {
    const command: LaunchCommand = { argv: ["docker", "run", word], env: {} };
    expect(() => shellCommand(command)).toThrow(expect.objectContaining({ code: "LAUNCH_UNSUPPORTED" }));
    const variable: LaunchCommand = { argv: ["docker"], env: { A: word } };
    expect(() => shellCommand(variable)).toThrow(expect.objectContaining({ code: "LAUNCH_UNSUPPORTED" }));
  },
);
