import { expect, test } from "vitest";
import { launchTargets } from "../../../src/node/launch/launch-targets.ts";
import { throughGuard } from "../../../src/node/launch/through-guard.ts";

const asked = { program: "python", args: ["train.py"], env: { A: "1" } };
const through = { args: ["python", "train.py"], env: { A: "1", IMGMATCH_COMMAND: "1" } };

test.each(Object.values(launchTargets).map((target) => [target.name, target] as const))(
  "%s starts another program behind the guard of an image, or in place of it",
  (name, target) => {
    const skips = ["slurm", "mesos"].includes(name);
    expect(throughGuard(target, { guard: true }, asked)).toEqual(skips ? asked : through);
    expect(throughGuard(target, {}, asked)).toBe(asked);
    expect(throughGuard(target, { guard: true }, { args: ["x"] })).toEqual({ args: ["x"] });
  },
);
