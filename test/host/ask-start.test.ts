import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { hipFailures } from "../../src/host/amd/hip-start.ts";
import { askStart } from "../../src/host/ask-start.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { HostIo } from "../../src/host/host-io.ts";
import { cudaFailures } from "../../src/host/nvidia/cuda-start.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { diagnose } from "../../src/node/diagnose.ts";
import { problemCodes } from "../../src/problem-codes.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { amdHost, gpu, gpuHost, h100, mi300x } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../resolve/support/locks.ts";
import { bundledInParts } from "../support/bundle.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoCompiler } from "../support/programs.ts";
import { runInProcess } from "../support/run-cli.ts";

const hasKoffi = await import("koffi").then(
  () => true,
  () => false,
);
const whyNot =
  process.platform === "linux"
    ? (whyNoCompiler("cc", "apt-get install gcc libc6-dev") ?? (hasKoffi ? null : "no koffi"))
    : "not Linux";

/** A machine whose device files may or may not be opened. */
const machine = (mayOpen: boolean): HostIo =>
  ({ exists: () => true, mayOpen: () => mayOpen, list: () => [], readText: () => null }) as unknown as HostIo;

const lock = lockOf({
  gpu: gpuImage(cuda("12.8.1", ["sm_90", "sm_121"])),
  amd: rocmImage(["gfx942"]),
  cpu: image(),
});
const nvidia = (change = {}, of = {}) =>
  gpuHost([gpu({ ...h100, mig: null, fabric: "none", ...change })], "580.95.05", "13.0", {
    nvidiaChange: of,
  });

describe("a driver that is asked to start", needs(whyNot), () => {
  const libraries = makeFolder({});
  let program = "";

  beforeAll(async () => {
    for (const [name, source] of [
      ["libcuda.so.1", "nvidia/support/fake-cuda.c"],
      ["libamdhip64.so.7", "amd/support/fake-hip.c"],
    ] as const)
      execFileSync("cc", ["-shared", "-fPIC", "-o", join(libraries, name), `test/host/${source}`]);
    program = await bundledInParts(resolve("src/cli/bin.ts"), "ask-start-cli");
  }, 60_000);

  const ask = async (host: HostFacts, env: Readonly<Record<string, string>>, io = machine(true)) => {
    const world = { env: { PATH: process.env.PATH, LD_LIBRARY_PATH: libraries, ...env }, signal: undefined };
    const { facts, answers } = await askStart(host, io, [process.execPath, program], world, 5000);
    const { match, rejected } = resolveImage(lock, facts);
    return { facts, answers, answer: match?.cell ?? [...new Set(rejected.map(({ code }) => code))].join() };
  };
  const cureOf = ({ facts }: Awaited<ReturnType<typeof ask>>) => facts.problems[0]?.fix;

  it.each(Object.entries(cudaFailures))(
    "has the code %s of cuInit, and no image fits",
    async (code, { name }) => {
      const told = await ask(nvidia(), { FAKE_CUDA_INIT: code });
      expect(told.facts.problems).toEqual([
        {
          code: "HOST_CUDA_FAILED",
          message: expect.stringContaining(`cuInit fails with ${code} ${name}: `),
          fix: expect.any(String),
        },
      ]);
      expect(told.answer).toContain("HOST_BROKEN");
      expect(resolveImage(lock, told.facts, { cpuOnly: true }).match?.cell).toBe("cpu");
    },
  );

  it.each<readonly [code: string, facts: HostFacts, cure: RegExp]>([
    ["802", nvidia({ fabric: "completed" }), /^set the GPUs ready .*conf-compute -srs 1$/],
    ["802", nvidia({ fabric: undefined }), /^start nvidia-fabricmanager/],
    ["100", nvidia({ mig: undefined }), /^see whether MIG mode is on/],
    ["100", nvidia(), /Xid 78: a vGPU guest/],
    ["803", nvidia({}, { library: "580.95.05" }), /^find the other libcuda/],
    ["803", nvidia({}, { library: "570.124.06" }), /^reboot/],
  ])("narrows the cure of %s by the facts", async (code, facts, cure) => {
    expect(cureOf(await ask(facts, { FAKE_CUDA_INIT: code }))).toMatch(cure);
  });

  it("adds nothing where the facts name the cause", async () => {
    const named = { code: "HOST_MIG_EMPTY", message: "MIG", fix: "make instances" } as const;
    const { facts } = await ask({ ...nvidia(), problems: [named] }, { FAKE_CUDA_INIT: "100" });
    expect(facts.problems).toEqual([named]);
  });

  it("may find no device, crash or hang", { timeout: 60_000 }, async () => {
    const messageOf = async (env: Readonly<Record<string, string>>) =>
      (await ask(nvidia(), env)).facts.problems.map(({ message }) => message);
    expect(await messageOf({ FAKE_CUDA: "none" })).toEqual(["cuDeviceGetCount finds none of 1 GPUs"]);
    expect(await messageOf({ FAKE_CUDA_INIT: "crash" })).toEqual(["cuInit ends its process"]);
    expect(await messageOf({ FAKE_CUDA_INIT: "hang" })).toEqual(["cuInit gives no answer"]);
  });

  it("says nothing where it is not asked: no library, a stub, closed devices, a daemon of this process", async () => {
    const empty = { LD_LIBRARY_PATH: makeFolder({}) };
    for (const [env, io] of [
      [empty, machine(true)],
      [{ FAKE_CUDA_INIT: "34" }, machine(true)],
      [{ FAKE_CUDA_INIT: "805" }, machine(true)],
      [{ FAKE_CUDA_INIT: "999" }, machine(false)],
    ] as const)
      expect(await ask(nvidia(), env, io)).toMatchObject({ facts: { problems: [] }, answer: "gpu" });
    const { facts, answers } = await ask(nvidia(), empty);
    const engine = {
      answer: { ok: false, problem: { code: "ENGINE_NOT_FOUND", message: "" } },
      configured: false,
      command: null,
    } as const;
    const logins = { registries: [], missingHelpers: [], store: null, path: "", problem: null };
    expect(diagnose(facts, engine, logins, [], answers)).toContainEqual(
      expect.objectContaining({ state: "unknown", message: expect.stringContaining("CUDA was not asked") }),
    );
  });

  it("does not ask what an image brings, nor about hidden GPUs", async () => {
    const compat = makeFolder({ "cuda/compat/libcuda.so.1": "no library" });
    const path = `${compat}/cuda/compat:${libraries}`;
    const env = { LD_LIBRARY_PATH: path, CUDA_VISIBLE_DEVICES: "" };
    expect((await ask(nvidia(), env)).answers).toEqual([
      { vendor: "nvidia", runtime: "CUDA", start: { devices: 3 } },
    ]);
  });

  it("beats the tables, in a facts file too", async () => {
    const gb10 = gpu({ ...h100, name: "NVIDIA GB10", compute: "12.1" });
    const problem = {
      code: "HOST_GPU_UNSUPPORTED_BY_DRIVER",
      message: "table",
      fix: "another module",
    } as const;
    const host = {
      ...gpuHost([gb10], "580.95.05", "13.0", { nvidiaChange: { module: "proprietary" } }),
      problems: [problem],
    };
    expect(resolveImage(lock, host).match?.cell).not.toBe("gpu");
    const { facts, answer } = await ask(host, {});
    expect(facts.problems).toEqual([]);
    expect(answer).toBe("gpu");
    expect(resolveImage(lock, parseHostFacts(formatHostFacts(facts), "facts.json")).match?.cell).toBe("gpu");
  });

  it.each(Object.entries(hipFailures))("has the code %s of hipInit", async (code, { name }) => {
    const host = amdHost([mi300x]);
    const { facts, answer } = await ask(host, { FAKE_HIP_INIT: code });
    expect(facts.problems).toMatchObject([
      { code: "HOST_AMD_HIP_FAILED", message: expect.stringContaining(`hipInit fails with ${code} ${name}`) },
    ]);
    expect(answer).toContain("HOST_BROKEN");
    const crashed = await ask(host, { FAKE_HIP_INIT: "crash" });
    expect(crashed.facts.problems).toMatchObject([{ message: "hipInit ends its process" }]);
    expect(await ask(host, { HIP_VISIBLE_DEVICES: "" })).toMatchObject({
      answer: "amd",
      answers: [{ vendor: "amd", start: { devices: 1 } }],
    });
  });

  it("is not asked about another host", async () => {
    const { exit, err } = await runInProcess(["resolve", "--ask-driver", "--host", "facts.json"]);
    expect(err).toContain("--ask-driver asks the driver of this machine");
    expect(exit).toBe(problemCodes.USAGE);
  });
});
