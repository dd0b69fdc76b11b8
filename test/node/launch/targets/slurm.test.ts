import { describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { slurm } from "../../../../src/node/launch/targets/slurm.ts";
import { everyLaunch, type Options, readOptions, refusal } from "../support/documented.ts";
import { gpuModes, reference } from "../support/requests.ts";

/** Slurm 22.05, sbatch and srun manual pages. */
const job: Options = {
  "--job-name": true,
  "--ntasks": true,
  "--partition": true,
  "--gres": true,
  "--cpus-per-task": true,
  "--mem": true,
  "--constraint": true,
};
const sbatch: Options = { ...job, "--wrap": true };
/** NVIDIA/pyxis 0.24.0, args.c; --container-env since 0.15.0, --container-entrypoint since 0.8.0. */
const srun: Options = {
  ...job,
  "--container-image": true,
  "--container-mounts": true,
  "--container-env": true,
  "--container-entrypoint": false,
  "--no-container-entrypoint": false,
};

const request: LaunchRequest = { ...gpuModes.CDI, args: ["train.py"], program: "python" };
const line = (more: Partial<LaunchRequest>) => {
  const output = slurm.launch({ ...request, ...more });
  if (output.form !== "command") throw new Error("no command");
  return output.command.argv;
};

describe("a Slurm job", () => {
  it("has options of sbatch, srun and pyxis alone", () => {
    const launches = everyLaunch(slurm, [{}, { submit: "srun" }, { submit: "srun", entrypoint: "yes" }]);
    expect(launches.length).toBeGreaterThan(30);
    for (const { title, command } of launches) {
      const [program, ...words] = command?.argv ?? [];
      const { rest } = readOptions(words, program === "sbatch" ? sbatch : srun);
      if (program === "srun") expect(rest, title).not.toEqual([]);
      else expect([program, rest], title).toEqual(["sbatch", []]);
    }
  });

  it("tells its step the CPUs again, which srun of 22.05 to 23.02 does not take over", () => {
    expect(line({ cpus: 8 }).at(-1)).toMatch(/^--wrap=srun --cpus-per-task=8 /);
  });

  it("names the image by its digest where enroot wants the tag", () => {
    const digest = reference.split("@")[1];
    expect(line({ settings: { submit: "srun" } })).toContain(
      `--container-image=registry.example.com#team/cv-tf:${digest}`,
    );
  });

  it("passes nothing to an entrypoint, which pyxis runs beside the task", () => {
    const { program: _, ...plain } = request;
    expect(refusal(slurm, plain)).toMatch(/srun starts a command beside it/);
    expect(refusal(slurm, { ...plain, settings: { entrypoint: "yes" } })).toBeNull();
    // Nobody gave arguments.
    expect(refusal(slurm, { ...plain, args: [] })).toMatch(
      /cannot start the image's entrypoint: srun starts/,
    );
    expect(refusal(slurm, { ...request, settings: { entrypoint: "yes" } })).toMatch(/and the entrypoint too/);
    expect(refusal(slurm, { ...plain, args: [], settings: { entrypoint: "yes" } })).toMatch(
      /without a command/,
    );
    expect(refusal(slurm, { ...request, settings: { entrypoint: "maybe" } })).toMatch(/entrypoint=maybe/);
  });

  it("keeps a command that looks like an option away from srun", () => {
    expect(line({ program: "--help", args: [], settings: { submit: "srun" } }).slice(-2)).toEqual([
      "--",
      "--help",
    ]);
  });

  it.each(["/a b", "/a,b", "/a:b", '/a"b', "/a$b", "/a`b", "/a\\b", "/a\nb"])(
    "mounts no path that pyxis reads as something else: %j",
    (source) => {
      expect(refusal(slurm, { ...request, mounts: [{ source, target: "/x", readOnly: true }] })).toMatch(
        /a path/,
      );
    },
  );

  it("passes no variable of several lines, of which enroot makes several", () => {
    expect(refusal(slurm, { ...request, env: { A: "b\nPATH=/c" } })).toMatch(/several lines in A/);
  });

  it("sets no PATH in which srun would not be found", () => {
    expect(refusal(slurm, { ...request, env: { PATH: "/opt/bin" } })).toMatch(/set PATH/);
  });
});
