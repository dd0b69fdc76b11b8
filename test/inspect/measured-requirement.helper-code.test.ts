/** Helper code of NVIDIA's own packages from PyPI, beside an application of another CUDA major; cuobjdump is the other witness. */

import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { MeasuredRequirement } from "../../src/inspect/measured-requirement.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { gpu, gpuHost } from "../resolve/support/hosts.ts";
import { gpuImage } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { inspectOne } from "./support/inspect-one.ts";

/** A library that registers code of CUDA 13, its runtime, and the profiler of CUDA 12, which loads helpers for sm_50 and sm_70. */
const packages = [
  "nvidia-nvjpeg==13.3.2.43",
  "nvidia-cuda-runtime==13.2.86",
  "nvidia-cuda-cupti-cu12==12.8.90",
];
const witness = "nvidia-cuda-cuobjdump==13.5.37";
const folder = makeFolder({}, "imgmatch-helper-code-");

function install(target: string, names: readonly string[]): string | null {
  const platforms = ["manylinux2014_x86_64", "manylinux_2_17_x86_64"].flatMap((each) => ["--platform", each]);
  const { status } = spawnSync(
    "python3",
    [
      "-m",
      "pip",
      "install",
      "-q",
      "--no-deps",
      "--only-binary=:all:",
      ...platforms,
      "--target",
      target,
      ...names,
    ],
    { stdio: "pipe", timeout: 300_000 },
  );
  return status === 0 ? null : "no packages of PyPI (python3 -m pip, and a network)";
}

const missing = install(join(folder, "app"), packages) ?? install(join(folder, "tools"), [witness]);

describe("an image with a profiler of another CUDA major", needs(missing), () => {
  let requires: MeasuredRequirement;

  beforeAll(async () => {
    const options = { platform: "linux/amd64", cache: false };
    requires = (await inspectOne(join(folder, "app"), options, { env: {} })).requires;
  }, 240_000);

  it("is of CUDA 13, with the targets that cuobjdump lists", () => {
    const cuobjdump = join(folder, "tools/nvidia/cu13/bin/cuobjdump");
    chmodSync(cuobjdump, 0o755);
    const listed = (path: string) =>
      execFileSync(cuobjdump, ["--list-elf", join(folder, "app", path)], { encoding: "utf8", stdio: "pipe" });
    const found = listed("nvidia/cu13/lib/libnvjpeg.so.13").matchAll(/\.(sm_\w+)\.cubin/g);
    const targets = [...new Set([...found].map(([, target]) => target))].sort();
    const { toolkit, code = [], driver } = requires.cuda ?? {};
    expect(code.filter((target) => target.startsWith("sm_")).sort()).toEqual(targets);
    expect(() => listed("nvidia/cuda_cupti/lib/libcupti.so.12")).toThrow("does not contain device code");
    expect([toolkit?.split(".")[0], driver]).toEqual(["13", { mode: "host", minimum: "580.65.06" }]);
    expect(requires.undecided).toEqual([]);
  });

  it("runs on a T4 under driver 580, and not on a V100, which CUDA 13 has dropped", () => {
    const { toolkit, code = [] } = requires.cuda ?? {};
    const driver = { mode: "host", minimum: "580.65.06" } as const;
    const on = (compute: string) => {
      const image = gpuImage({ toolkit: toolkit ?? "", code: [...code, "sm_70"], driver });
      const verdict = checkFit(image, gpuHost([gpu({ compute })], "580.95.05", "13.0"));
      return verdict.ok ? "fits" : verdict.code;
    };
    expect([on("7.5"), on("7.0")]).toEqual(["fits", "NO_GPU_CODE"]);
  });
});
