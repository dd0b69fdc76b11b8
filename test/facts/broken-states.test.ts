import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { describeHostFacts } from "../../src/cli/probe-lines.ts";
import { withBrokenStates } from "../../src/facts/broken-states.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import type { NvmlDevice, NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";
import { parseSmiCsv } from "../../src/host/nvidia/nvidia-smi.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { readHost } from "../support/read-hosts.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { cpuHost, gpu, gpuHost, h100 } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../resolve/support/locks.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { needs } from "../support/needs.ts";

const lock = lockOf({ gpu: gpuImage(cuda("12.1.1", ["sm_80", "sm_90"])), cpu: image() });
const written = (host: HostFacts) => parseHostFacts(formatHostFacts(host), "facts.json");
const answerTo = (host: HostFacts) => {
  const { match, rejected } = resolveImage(lock, host);
  return match?.cell ?? [...new Set(rejected.map(({ code }) => code))].join();
};
/** As probed, and as a facts file says it again. */
const answer = (host: HostFacts) => {
  expect(answerTo(written(host))).toBe(answerTo(host));
  return answerTo(host);
};

describe("facts that tell a broken state", () => {
  const host = (change: object, of: object = {}) =>
    gpuHost([gpu({ ...h100, ...change })], "580.95.05", "13.0", { nvidiaChange: of });

  it.each([
    ["HOST_MIG_EMPTY", host({ mig: [] }), "nvidia-smi mig -i 0 -cgi PROFILE -C"],
    [
      "HOST_FABRIC_NOT_READY",
      host({ fabric: "in-progress" }),
      "nvidia-fabricmanager of the driver's version, 580.95.05",
    ],
    ["HOST_FABRIC_NOT_READY", host({ fabric: "not-started" }), "start it"],
    ["HOST_FABRIC_NOT_READY", host({ fabric: "failed" }), "start it"],
    ["HOST_NO_UVM", host({}, { uvm: false }), "nvidia-modprobe -u -c=0"],
    ["HOST_GPU_NOT_READY", host({ computeMode: "prohibited" }), "nvidia-smi -i 0 -c DEFAULT"],
    ["HOST_GPU_NOT_READY", host({ recovery: "reset" }), "nvidia-smi -i 0 --gpu-reset"],
    ["HOST_GPU_NOT_READY", host({ recovery: "drain-and-reset" }), "let the programs on the GPU end"],
    ["HOST_GPU_NOT_READY", host({ recovery: "reboot" }), "reboot this machine"],
    ["HOST_GPU_NOT_READY", host({ recovery: "drain-p2p" }), "persistence mode"],
    ["HOST_GPU_NOT_READY", host({ recovery: "other" }), "nvidia-smi -q"],
    ["HOST_GPU_NOT_READY", host({ remapFailed: true }), "have it replaced"],
    ["HOST_GPU_NOT_READY", host({}, { ready: false }), "nvidia-smi conf-compute -srs 1"],
  ])("make %s in a file that names no problem", (code, facts, fix) => {
    const read = written(facts);
    expect(read.problems.map((each) => each.code)).toEqual([code]);
    expect(read.problems[0]?.fix).toContain(fix);
    expect(answer(read)).toBe("HOST_BROKEN");
    expect(written(read)).toEqual(read);
    expect(describeHostFacts(read).join("\n")).toContain(code);
    expect(resolveImage(lock, read, { cpuOnly: true }).match?.cell).toBe("cpu");
  });

  it("say nothing where they are in order or unknown", () => {
    const instance = [{ uuid: "MIG-1", profile: "3g.40gb" }];
    for (const change of [
      ...[{ mig: null }, { mig: instance }, {}, { fabric: "completed" }, { fabric: "none" }],
      ...[{ computeMode: "exclusive" }, { computeMode: "default", recovery: "none", remapFailed: false }],
    ])
      expect(answer(written(host(change, { uvm: true, ready: true })))).toBe("gpu");
    const fabric = parseHostFacts(JSON.stringify({ ...host({}), problems: [] }), "facts.json");
    expect(fabric.nvidia?.gpus[0]).not.toHaveProperty("fabric");
  });

  it("leave a GPU out that takes no programs, where another takes some", () => {
    const shut = gpu({ ...h100, computeMode: "prohibited" });
    const both = (second: object) =>
      gpuHost([shut, gpu({ ...h100, index: 1, ...second })], "580.95.05", "13.0");
    expect(answer(written(both({})))).toBe("gpu");
    expect(answer(written(both({ computeMode: "prohibited" })))).toBe("HOST_BROKEN");
  });

  it("name all reasons of one code", () => {
    const read = written(host({ computeMode: "prohibited", recovery: "reset", remapFailed: true }));
    expect(read.problems.map(({ code }) => code)).toEqual(Array(3).fill("HOST_GPU_NOT_READY"));
    expect(written(read)).toEqual(read);
  });

  it.each(["toolkit", "specification"] as const)(
    "are what a start of CUDA disproves, but those that come after it, as an outdated %s",
    (outdated) => {
      const late = [
        ...Array(3).fill("HOST_GPU_NOT_READY"),
        "HOST_GPU_UNLICENSED",
        "HOST_CONTAINERS_OUTDATED",
      ];
      const ofGpu = { computeMode: "prohibited", recovery: "reset", remapFailed: true, licensed: false };
      const all = host({ ...ofGpu, mig: [], fabric: "failed" }, { uvm: false });
      const codes = (starts: boolean) => {
        const nvidia = all.nvidia && { ...all.nvidia, starts };
        const facts = { ...all, nvidia, runtime: { nvidia: "cdi", outdated } as const };
        return withBrokenStates(facts).problems.map(({ code }) => code);
      };
      expect(codes(true)).toEqual(late);
      expect(codes(false)).toEqual(["HOST_FABRIC_NOT_READY", "HOST_MIG_EMPTY", "HOST_NO_UVM", ...late]);
    },
  );

  it("name the place and the driver where these are known", () => {
    const runtime = { nvidia: "cdi", outdated: "specification" } as const;
    const said = (driver: string | null, place: string | null) =>
      withBrokenStates({
        ...gpuHost([h100], driver, null, { runtime }),
        sources: place === null ? {} : { "runtime.outdated": place },
      }).problems.map(({ message }) => message);
    const rest = "is loaded: containers do not start, or find no libcuda";
    expect(said("580.95.05", "/etc/cdi/nvidia.yaml")).toEqual([
      `/etc/cdi/nvidia.yaml names another driver's libraries, the driver, 580.95.05, ${rest}`,
    ]);
    expect(said(null, null)).toEqual([
      `what hands GPUs to containers names another driver's libraries, the driver ${rest}`,
    ]);
  });

  it("leave a host as it is that is in none", () => {
    for (const facts of [cpuHost(), host({})]) expect(withBrokenStates(facts)).toBe(facts);
  });

  it("are about the GPUs that are visible", async () => {
    const broken = fixtureHostIo(fixture("broken-emeraldrapids-h100_fabric"));
    expect((await probeHost(broken)).problems[0]?.message).toContain("(in progress, failed)");
    expect((await probeHost(broken, { gpus: "1" })).problems[0]?.message).toContain("(failed)");
    expect((await probeHost(broken, { gpus: "none" })).problems).toEqual([]);
  });
});

describe("nvidia-smi's words of a fabric", () => {
  it.each([
    ["In Progress", "N/A", "in-progress"],
    ["Not Started", "N/A", "not-started"],
    ["Completed", "Success", "completed"],
    ["state  Completed", "status Success", "completed"],
    ["Completed", "N/A", "completed"],
    ["Completed", "Unknown Error", "failed"],
    ["N/A", "N/A", "none"],
    ["[N/A]", "[N/A]", "none"],
    ["Recovering", "N/A", null],
  ])("%s, %s", (state, status, fabric) => {
    const table = parseSmiCsv(`name, fabric.state, fabric.status\nNVIDIA H200, ${state}, ${status}\n`);
    expect(table?.gpus[0]).toMatchObject({
      fabric,
      broken: [],
    });
  });
});

describe("nvidia-smi's words of states", () => {
  it.each([
    ["Default", "None", "No", "default", "none", false],
    ["Exclusive_Process", "Drain and Reset", "Yes", "exclusive", "drain-and-reset", true],
    ["Prohibited", "Drain P2P", "[N/A]", "prohibited", "drain-p2p", null],
    ["[N/A]", "[N/A]", "N/A", null, null, null],
    ["Exclusive_Thread", "Reboot", "No", "exclusive", "reboot", false],
    ["Default", "Recover IMEX Domain", "No", "default", "other", false],
  ])("%s, %s, %s", (mode, action, failure, computeMode, recovery, remapFailed) => {
    const head = "name, compute_mode, gpu_recovery_action, remapped_rows.failure";
    const table = parseSmiCsv(`${head}\nNVIDIA H200, ${mode}, ${action}, ${failure}\n`);
    expect(table?.gpus[0]).toMatchObject({ computeMode, recovery, remapFailed, broken: [] });
  });
});

function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/hosts/${name}`, import.meta.url));
}

const samples = fileURLToPath(new URL("../../../shared/samples/hosts", import.meta.url));
const whyNoSamples = existsSync(samples)
  ? null
  : "no reported hosts in ../shared/samples/hosts, beside the checkout (they are not published)";

/** Their NVML has an empty list for MIG that is off too, and no word of a fabric. */
function reported(name: string, change: Partial<NvmlDevice> = {}) {
  const io = fixtureHostIo(join(samples, name));
  const withChange = (nvml: NvmlReading | null) =>
    nvml && { ...nvml, devices: nvml.devices.map((device) => ({ ...device, ...change })) };
  return { ...io, readNvml: async (paths: readonly string[]) => withChange(await io.readNvml(paths)) };
}

describe("hosts of public reports (../shared/samples/hosts)", needs(whyNoSamples), () => {
  const off = { mig: { value: null } } as const;

  it("02: an H200 whose fabric is in progress is broken, and one whose fabric is up is not", async () => {
    const fabric = (state: number) => ({ ...off, fabric: { value: { state, status: 0 } } });
    const waiting = await probeHost(reported("02-h200-fabricmanager-802", fabric(2)));
    expect(answer(waiting)).toBe("HOST_BROKEN");
    expect(waiting.problems[0]).toMatchObject({
      code: "HOST_FABRIC_NOT_READY",
      fix: expect.stringContaining("nvidia-fabricmanager of the driver's version, 580.126.09"),
    });
    expect(answer(await probeHost(reported("02-h200-fabricmanager-802", fabric(3))))).toBe("gpu");
  });

  it("03: an A100 in MIG mode without an instance is broken, and one out of the mode is not", async () => {
    const undivided = await probeHost(reported("03-mig-enabled-no-instances"));
    expect(answer(undivided)).toBe("HOST_BROKEN");
    expect(undivided.problems[0]?.fix).toMatch(
      /nvidia-smi mig -i 0 -cgi .* or turn MIG off: nvidia-smi -i 0 -mig 0/,
    );
    expect(answer(await probeHost(reported("03-mig-enabled-no-instances", off)))).toBe("gpu");
  });

  it("06: a node whose product is MIG-INVALID is unknown", async () => {
    const text = readFileSync(join(samples, "06-gfd-mig-invalid/node.json"), "utf8");
    const host = await readHost(text, "node.json");
    expect(host.nvidia).toMatchObject({ driver: "535.104.12", gpus: [], unknown: ["gpus"] });
    const march = { march: "x86-64", features: [] };
    const plain = { ...image(), requires: { cpu: march, cuda: null } };
    const both = lockOf({
      cpu: plain,
      gpu: { ...plain, requires: { cpu: march, cuda: cuda("12.1.1", ["sm_80"]) } },
    });
    for (const each of [host, written(host)]) {
      const { match, rejected } = resolveImage(both, each);
      expect(match).toBeNull();
      expect(rejected.map(({ code, message }) => [code, message.includes("nvidia.gpus")])).toEqual([
        ["FACT_UNKNOWN", true],
        ["FACT_UNKNOWN", true],
      ]);
    }
  });

  it("17b: a container without /dev/nvidia-uvm is broken, and a bare host without is not", async () => {
    const inside = reported("17b-lxc-no-uvm", off);
    const host = await probeHost(inside);
    expect(host.problems.map(({ code }) => code)).toEqual(["HOST_NO_UVM"]);
    expect(written(host).problems.map(({ code }) => code)).toEqual(["HOST_NO_UVM"]);
    const marks = ["/run/systemd/container", "/proc/1/environ"];
    const readText = (path: string) => (marks.includes(path) ? null : inside.readText(path));
    expect((await probeHost({ ...inside, readText })).problems).toEqual([]);
  });
});
