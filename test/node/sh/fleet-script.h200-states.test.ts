/** States of a real H200 that look healthy: facts, answer and script say what its README asks for, by NVML and by nvidia-smi alone. */

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { whyMuteHere } from "../../../src/host/ask-start.ts";
import type { HostProblem } from "../../../src/facts/facts.ts";
import { formatHostFacts } from "../../../src/facts/format-facts.ts";
import type { NvmlReading } from "../../../src/host/nvidia/nvml-reading.ts";
import { parseHostFacts } from "../../../src/facts/parse-facts.ts";
import { probeHost } from "../../../src/host/probe-host.ts";
import { diagnose } from "../../../src/node/diagnose.ts";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../../src/resolve/resolve-image.ts";
import { isOfHost } from "../../../src/resolve/verdict.ts";
import { cuda, gpuImage, image, lockOf } from "../../resolve/support/locks.ts";
import { fixtureHostIo } from "../../support/fixture-host-io.ts";
import { h200Fields, type H200State, libcuda, writeH200 } from "../../support/h200-vm.ts";
import { needs } from "../../support/needs.ts";
import { whyNoSamples } from "../../support/reported-hosts.ts";
import { findDialects, whyNoDialect } from "./support/dialects.ts";
import { fakeSmi, fixtureMachine, writeMachine } from "./support/machine.ts";
import { runScripts } from "./support/run-scripts.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-sh-h200-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const bin = join(folder, "bin");
mkdirSync(bin);
writeFileSync(join(bin, "nvidia-smi"), fakeSmi, { mode: 0o755 });
const dialects = findDialects(join(folder, "awks"));

const lock = lockOf({
  gpu: gpuImage(cuda("13.0.2", ["sm_90"], { driver: { mode: "host", minimum: "580.65.06" } })),
  cpu: image(),
});

const noCards: H200State = {
  nvml: (reading) => ({ ...reading, deviceCount: { value: 0 }, devices: [] }),
  smi: { always: { stdout: "No devices found.\n", status: 0 } },
};
const smiTable = "| NVIDIA-SMI 580.159.04      Driver Version: 580.159.04     CUDA Version: N/A      |\n";
const noCuda: H200State = {
  nvml: (reading): NvmlReading => ({ ...reading, cudaVersion: { code: 6 } }),
  smi: { table: smiTable },
};
const utility: H200State = { gone: ["/dev/nvidia-uvm"], env: { NVIDIA_DRIVER_CAPABILITIES: "utility" } };
const unknownCard = {
  "/sys/bus/pci/devices/0000:00:06.0/device": "0x23ff\n",
  "/proc/driver/nvidia/gpus/0000:00:06.0/information":
    "Model: \t\t NVIDIA Z9000\nBus Location: \t 0000:00:06.0\nDevice Minor: \t 0\n",
};

const device = "/sys/bus/pci/devices/0000:00:06.0";
const noBus = Object.fromEntries(["vendor", "device", "class"].map((name) => [`${device}/${name}`, null]));
const withoutPci = (reading: NvmlReading): NvmlReading => ({
  ...reading,
  devices: reading.devices.map((each) => ({ ...each, pci: { code: 999 } })),
});
const smiWithoutPci = {
  fields: {
    ...(whyNoSamples === null && h200Fields()),
    "pci.device_id": ["[Unknown Error]"],
    "pci.bus_id": ["[Unknown Error]"],
  },
};

interface Expected {
  /** null where nothing is chosen: exit code 4. */
  readonly cell: "gpu" | "cpu" | null;
  readonly said: HostProblem["code"] | null;
  /** Why CUDA of the process itself does not start, as far as nodes tell. */
  readonly mute: HostProblem["code"] | null;
  /** Without NVML a script has nothing to go by. */
  readonly script?: null;
}

const gpu = { cell: "gpu", said: null, mute: null } as const;
const shut = { cell: "gpu", said: "HOST_NO_PERMISSION", mute: "HOST_NO_PERMISSION" } as const;
const broken = { cell: null, said: "HOST_NO_LIBCUDA", mute: null } as const;

const states: readonly (readonly [name: string, state: H200State, expected: Expected])[] = [
  ["the machine as it is", {}, gpu],
  ["4: /dev/nvidia-uvm may not be opened", { denied: ["/dev/nvidia-uvm"] }, shut],
  [
    "5: /dev/nvidiactl may not be opened",
    {
      denied: ["/dev/nvidiactl"],
      nvml: (reading) => ({ ...reading, init: 4, devices: [] }),
      smi: { always: { stdout: "Failed to initialize NVML: Insufficient Permissions\n", status: 4 } },
    },
    shut,
  ],
  ["6: /dev/nvidia0 may not be opened", { ...noCards, denied: ["/dev/nvidia0"] }, shut],
  [
    "6: /dev/nvidia0 may not be opened, and the tables do not have the card",
    { ...noCards, denied: ["/dev/nvidia0"], files: unknownCard },
    { cell: null, said: "HOST_NO_PERMISSION", mute: "HOST_NO_PERMISSION" },
  ],
  [
    "7: a container without /dev/nvidia0",
    { ...noCards, gone: ["/dev/nvidia0"] },
    { cell: "cpu", said: "HOST_CONTAINER_WITHOUT_DEVICES", mute: null },
  ],
  ["9: libcuda.so.1 is empty", { ...noCuda, files: { [libcuda]: "" } }, broken],
  ["9: libcuda.so.1 is gone", { ...noCuda, files: { [libcuda]: null } }, broken],
  [
    "17: the capability utility alone",
    utility,
    { cell: "gpu", said: null, mute: "HOST_CONTAINER_WITHOUT_DEVICES" },
  ],
  [
    "17 and 9: the capability utility alone, without libcuda",
    { ...noCuda, ...utility, files: { [libcuda]: null } },
    { cell: "gpu", said: null, mute: "HOST_CONTAINER_WITHOUT_DEVICES" },
  ],
  [
    "12: nvidia-smi cannot be started",
    { smi: { always: { stdout: "", status: 126 } } },
    { ...gpu, script: null },
  ],
  ["13: /sys/bus/pci is empty", { files: noBus, nvml: withoutPci, smi: smiWithoutPci }, gpu],
  ...["-1", "", "NoDevFiles"].map(
    (value) =>
      [
        `15: CUDA_VISIBLE_DEVICES=${value}`,
        { env: { CUDA_VISIBLE_DEVICES: value } },
        { cell: "cpu", said: "HOST_GPUS_HIDDEN", mute: null },
      ] as const,
  ),
  ["libcuda is in a folder that nobody knows", { files: { [libcuda]: null } }, gpu],
];

describe("a real H200 (../shared/samples/hosts/h200-vm)", needs(whyNoSamples), () => {
  const made = (state: H200State) => {
    const at = mkdtempSync(join(folder, "host-"));
    writeH200(at, state);
    return at;
  };

  it.each(
    states.flatMap(([name, state, expected]) => [
      [`${name}, by NVML`, state, expected] as const,
      [`${name}, by nvidia-smi`, { ...state, koffi: false }, expected] as const,
    ]),
  )("%s", async (_, state, { cell, said, mute }) => {
    const io = fixtureHostIo(made(state));
    const facts = await probeHost(io);
    for (const host of [facts, parseHostFacts(formatHostFacts(facts), "facts.json")]) {
      const { match, rejected } = resolveImage(lock, host);
      expect(match?.cell ?? null, JSON.stringify(host.problems)).toBe(cell);
      expect(match === null && rejected.every(({ code }) => isOfHost(code))).toBe(cell === null);
      expect(
        host.problems.map(({ code }) => code).filter((code) => code !== "HOST_GPU_FIELD_UNKNOWN"),
      ).toEqual(said === null ? [] : [said]);
    }
    expect(whyMuteHere("nvidia", io)?.code ?? null).toBe(mute);
    const engine = { ok: false, problem: { code: "ENGINE_NOT_FOUND", message: "" } } as const;
    const logins = { registries: [], missingHelpers: [], store: null, path: "", problem: null };
    const found = diagnose(facts, { answer: engine, configured: false, command: null }, logins);
    const codes = found.filter(({ state: each }) => each === "problem").map(({ code }) => code);
    expect(codes.includes(said)).toBe(said !== null);
  });

  it("names the variable that hides the GPU, where only an image with GPU code is there", async () => {
    const host = await probeHost(fixtureHostIo(made({ env: { CUDA_VISIBLE_DEVICES: "-1" } })));
    const { cpu, ...gpus } = lock.images;
    const { rejected } = resolveImage({ ...lock, images: gpus }, host);
    expect(rejected).toMatchObject([
      {
        code: "NO_GPU",
        message: expect.stringMatching(/no visible GPU: CUDA_VISIBLE_DEVICES=-1 hides the GPU of this host$/),
        fix: "unset the variable, name GPUs in it, or give --gpus all",
      },
    ]);
  });

  it("names the nodes, and counts the cards of the machine", async () => {
    const messagesOf = async (state: H200State) =>
      (await probeHost(fixtureHostIo(made(state)))).problems.map(({ message }) => message);
    const both = { ...noCards, denied: ["/dev/nvidia0", "/dev/nvidia-uvm"] };
    expect(await messagesOf(both)).toEqual([
      "no permission for /dev/nvidia0",
      "no permission for /dev/nvidia-uvm",
    ]);
    expect(await messagesOf({ ...noCards, gone: ["/dev/nvidia0"] })).toEqual([
      "1 GPU in the machine, none given to this container",
    ]);
    // For the containers that others start there.
    const node = await probeHost(fixtureHostIo(made({ denied: ["/dev/nvidia-uvm"] })), { ofNode: true });
    expect(node.problems).toEqual([]);
  });

  it("is not broken where NVML lies where the loader does not look, beside its libcuda", async () => {
    const library = "/usr/local/nvidia/lib64/libnvidia-ml.so.1";
    const state: H200State = { nvml: (reading) => ({ ...reading, library, cudaVersion: { code: 6 } }) };
    expect((await probeHost(fixtureHostIo(made(state)))).problems).toEqual([]);
  });

  it("is answered so by the script in every shell and awk", {
    ...needs(whyNoDialect(dialects)),
    timeout: 120_000,
  }, async () => {
    const script = join(folder, "fleet.sh");
    writeFileSync(script, (await fleetScript(lock, { version: "1.0.0" })).text);
    const cases = states.map(([, state]) => {
      const { env, smi, denied, ...machine } = fixtureMachine(made(state));
      const root = mkdtempSync(join(folder, "root-"));
      chmodSync(root, 0o755);
      writeMachine(root, { ...machine, env, smi, denied });
      return { script, root, env, smi: bin, unprivileged: true };
    });
    for (const dialect of dialects) {
      const results = runScripts(mkdtempSync(join(folder, "out-")), dialect, cases);
      for (const [at, [name, , { cell: chosen, said, script: unasked }]] of states.entries()) {
        const cell = unasked === null ? null : chosen;
        const { status, stdout, stderr } = results[at] ?? { status: -1, stdout: "", stderr: "" };
        const where = `${dialect.name}, ${name}: ${stderr}`;
        expect(status, where).toBe(cell === null ? 4 : 0);
        expect(stdout, where).toMatch(cell === null ? /^$/ : new RegExp(`:${cell}@`));
        if (cell === null) expect(stderr, where).toMatch(/HOST_BROKEN: HOST_NO_LIBCUDA|FACT_UNKNOWN/);
        else expect(stderr, where).toMatch(said === null ? /^$/ : new RegExp(said));
      }
    }
  });
});
