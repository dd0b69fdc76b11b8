import { execFileSync } from "node:child_process";
import { join, resolve } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { hipFailures } from "../../src/host/amd/hip-start.ts";
import { askOwnStart, askStart, startWords } from "../../src/host/ask-start.ts";
import { withBrokenStates } from "../../src/facts/broken-states.ts";
import type { HostFacts, HostProblem } from "../../src/facts/facts.ts";
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
  ({
    env: {},
    exists: (path: string) => !/(?:docker|container)env$/.test(path),
    mayOpen: () => mayOpen,
    list: () => [],
    readText: () => null,
  }) as unknown as HostIo;

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

  /** The folder stands for those of the loader's cache: the user's LD_LIBRARY_PATH goes before it. */
  const selfWith = (folder: string): readonly [string, ...string[]] => [
    ...(["sh", "-c", 'LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$0" exec "$@"', folder] as const),
    ...[process.execPath, program],
  ];
  const worldOf = (env: Readonly<Record<string, string>>) => ({
    env: { PATH: process.env.PATH, ...env },
    signal: undefined,
  });
  const ask = async (
    host: HostFacts,
    env: Readonly<Record<string, string>>,
    io = machine(true),
    folder = libraries,
  ) => {
    const { facts, answers } = await askStart(host, io, selfWith(folder), worldOf(env), 5000);
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
    const empty = makeFolder({});
    for (const [env, io, folder] of [
      [{}, machine(true), empty],
      [{ FAKE_CUDA_INIT: "34" }, machine(true), libraries],
      [{ FAKE_CUDA_INIT: "805" }, machine(true), libraries],
      [{ FAKE_CUDA_INIT: "999" }, machine(false), libraries],
    ] as const)
      expect(await ask(nvidia(), env, io, folder)).toMatchObject({ facts: { problems: [] }, answer: "gpu" });
    const { facts, answers } = await ask(nvidia(), {}, machine(true), empty);
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
    const env = { LD_LIBRARY_PATH: `${compat}/cuda/compat`, CUDA_VISIBLE_DEVICES: "" };
    expect((await ask(nvidia(), env)).answers).toEqual([
      { vendor: "nvidia", runtime: "CUDA", start: { devices: 3 }, outranked: [] },
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

  it("outranks what other sources say of the start, and no state after it", async () => {
    const told = (code: HostProblem["code"]): HostProblem => ({ code, message: code, fix: "a cure" });
    const before = ["HOST_SMI_FAILED", "HOST_NVML_FAILED", "HOST_NO_LIBCUDA", "HOST_NO_UVM"] as const;
    const facts = nvidia({ fabric: "in-progress", recovery: "reset" }, { uvm: false });
    const said = await ask(withBrokenStates({ ...facts, problems: before.map(told) }), {});
    expect(said.facts.problems.map(({ code }) => code)).toEqual(["HOST_GPU_NOT_READY"]);
    expect(said.answer).toContain("HOST_BROKEN");
    expect(said.answers.flatMap(startWords)).toEqual(
      expect.arrayContaining([
        "CUDA starts although HOST_SMI_FAILED: HOST_SMI_FAILED",
        expect.stringContaining("container engines need NVML"),
      ]),
    );
    const kept = parseHostFacts(formatHostFacts(said.facts), "facts.json");
    expect(kept.problems.map(({ code }) => code)).toEqual(["HOST_GPU_NOT_READY"]);
    // Fewer devices than the bus has prove nothing.
    const buses = Array.from({ length: 4 }, (_, at) => `0000:0${at}:00.0`);
    const io: HostIo = {
      ...machine(true),
      list: (path) => (path === "/proc/driver/nvidia/gpus" ? buses : []),
      readText: (path) => (path.endsWith("/information") ? "Device Minor: 0\n" : null),
    };
    const lost = { ...nvidia(), problems: [told("HOST_NO_DEVICES")] };
    expect((await ask(lost, {}, io)).facts.problems).toEqual(lost.problems);
    expect((await ask({ ...lost, problems: [told("HOST_NO_DEVICES")] }, {})).facts.problems).toEqual([]);
  });

  it("has a cure that fits the place", async () => {
    const inside = { ...machine(true), env: { container: "docker" } };
    const outside = machine(true);
    const cure = async (code: string, io: HostIo) =>
      cureOf(await ask(nvidia(), { FAKE_CUDA_INIT: code }, io)) ?? "";
    for (const [code, { inContainer }] of Object.entries(cudaFailures)) {
      if (inContainer !== undefined) expect(await cure(code, inside)).toBe(inContainer);
      expect(await cure(code, outside)).not.toMatch(/the container|the image/);
    }
    expect(await cure("999", inside)).toMatch(/^start the container anew .*; if CUDA fails on the host too/);
  });

  it("says of a stub in LD_LIBRARY_PATH that it is this process's alone", async () => {
    const stubs = makeFolder({});
    const source = "test/host/nvidia/support/fake-cuda.c";
    execFileSync("cc", ["-shared", "-fPIC", "-DSTUB", "-o", join(stubs, "libcuda.so.1"), source]);
    const env = { LD_LIBRARY_PATH: stubs };
    const io = { ...machine(true), env };
    const own = async (facts: HostFacts, world: Readonly<Record<string, string>>, of: HostIo) =>
      askOwnStart("nvidia", facts, of, selfWith(libraries), worldOf(world));
    const { facts, answer } = await ask(nvidia(), env, io);
    expect([answer, facts.problems, facts.nvidia?.starts]).toEqual(["gpu", [], true]);
    expect(await own(facts, env, io)).toMatchObject({
      code: "HOST_CUDA_FAILED",
      message: expect.stringContaining(`${stubs}/libcuda.so.1 is the toolkit's stub: cuInit fails with 34`),
    });
    expect(await own(facts, {}, machine(true))).toBeNull();
    // An empty file is what the loader finds first, and takes no other.
    const empty = makeFolder({ "libcuda.so.1": "" });
    expect(
      await own(facts, { LD_LIBRARY_PATH: empty }, { ...io, env: { LD_LIBRARY_PATH: empty } }),
    ).toMatchObject({
      message: expect.stringContaining("cannot be loaded"),
    });
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
