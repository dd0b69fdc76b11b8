/**
 * A host whose nvidia-smi answers with an error, or hangs, gets no image in any way, also where nothing can call NVML: a program prints
 * what was captured on broken machines.
 */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { HostFacts } from "../../src/facts/facts.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { runProgram } from "../../src/io/run-program.ts";
import { createLabeller } from "../../src/node/launch/labels/image-labels.ts";
import { nodeLabels, presentLabels } from "../../src/node/launch/labels/node-labels.ts";
import { createChooser } from "../../src/node/mirror/answer-request.ts";
import { fleetScript } from "../../src/node/sh/fleet-script.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { devices, node } from "../host/amd/support/amd-host.ts";
import { byIndex } from "../oci/registry/support/index-of-lock.ts";
import { amdHost, levelV3, mi300x } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../resolve/support/locks.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";
import { needs } from "../support/needs.ts";
import { findDialects, missingForDialects } from "./sh/support/dialects.ts";
import { fakeSmi, fixtureMachine, type SmiAnswers, writeMachine } from "./sh/support/machine.ts";
import { runScripts } from "./sh/support/run-scripts.ts";

const samples = fileURLToPath(new URL("../../../shared/samples", import.meta.url));
const present = existsSync(join(samples, "index.yaml"));
const missing =
  "no samples of real machines in ../shared/samples, beside the checkout (they are not published)";
/** Healthy in `/proc`, and without a library for NVML. */
const healthy = fileURLToPath(new URL("../fixtures/hosts/rhel8-icelake-a100_no_nvml", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "imgmatch-ways-"));
chmodSync(folder, 0o755);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
mkdirSync(join(folder, "bin"));
writeFileSync(join(folder, "bin/nvidia-smi"), fakeSmi, { mode: 0o755 });

const lock = lockOf({
  cpu: image(),
  gpu: gpuImage(cuda("11.8.0", ["sm_80"], { driver: { mode: "host", minimum: "450.80.02" } })),
});

interface Capture {
  readonly name: string;
  readonly smi: SmiAnswers;
}

function printed(name: string, stdout: string): Capture {
  return { name, smi: { always: { stdout, status: 15 } } };
}

const stated: readonly Capture[] = [
  printed("GPU is lost", "Unable to determine the device handle for GPU 0000:3B:00.0: GPU is lost.\n"),
  printed("blanks without end", `Unable to determine the device handle for GPU${" ".repeat(900_000)}`),
  { name: "no answer", smi: { always: { timedOut: true } } },
];

const captured: readonly Capture[] = present
  ? (
      parse(readFileSync(join(samples, "index.yaml"), "utf8")) as {
        samples: readonly { file: string | null; kind: string; command?: string }[];
      }
    ).samples.flatMap(({ file, kind, command }) =>
      file === null || kind !== "broken state" || command !== "nvidia-smi"
        ? []
        : [printed(file, readFileSync(join(samples, file), "utf8"))],
    )
  : [];

function machineOf({ name, smi }: Capture): string {
  const root = mkdtempSync(join(folder, `${name.replace(/\W/g, "_")}-`));
  chmodSync(root, 0o755);
  writeMachine(root, { ...fixtureMachine(healthy), smi });
  return root;
}

/** As the one-file program does it: it carries nothing that calls NVML. */
function factsOf(root: string): Promise<HostFacts> {
  const env = { PATH: process.env.PATH, IMGMATCH_ROOT: root };
  return probeHost({
    ...fixtureHostIo(healthy),
    readNvml: () => Promise.resolve(null),
    run: (command, args, limits) =>
      runProgram(join(folder, "bin", command), args, { ...limits, timeoutMs: 3000, env }),
  });
}

const [dialect] = findDialects(join(folder, "awks"));

async function runScript(root: string, fleet: Lock = lock) {
  if (dialect === undefined) return {};
  const script = join(root, "fleet.sh");
  writeFileSync(script, (await fleetScript(fleet, { version: "1.0.0", cpuOnly: false, smiSeconds: 3 })).text);
  const out = mkdtempSync(join(folder, "out-"));
  const smi = join(folder, "bin");
  return runScripts(out, dialect, [{ script, root, env: {}, smi }])[0] ?? {};
}

async function expectRefusal(capture: Capture): Promise<void> {
  const root = machineOf(capture);
  const host = await factsOf(root);
  const resolution = resolveImage(lock, host);
  expect(resolution.match).toBeNull();
  expect(resolution.rejected.map(({ code }) => code)).toEqual(["HOST_BROKEN", "HOST_BROKEN"]);
  expect(resolveImage(byIndex(lock), host).match).toBeNull();
  expect(presentLabels(createLabeller(lock)(host).labels)).toEqual({});
  expect(nodeLabels(host)).toMatchObject({ broken: "true" });
  expect(createChooser({})(lock, host)).toMatchObject({ ok: false, broken: true });
  if (dialect !== undefined) expect(await runScript(root)).toMatchObject({ status: 4 });
}

describe("an nvidia-smi that answers with an error: no image from lock, index, labels, mirror and script", () => {
  test.each(stated)("$name", { timeout: 30_000 }, expectRefusal);

  test("the captures of broken machines", needs(present ? null : missing), () => {
    expect(captured.length).toBeGreaterThan(5);
  });

  test.each(captured)("$name", { timeout: 30_000 }, expectRefusal);

  test("the script", needs(dialect === undefined ? (missingForDialects()[0] ?? "no shell") : null), () => {});
});

test("the same machine with an nvidia-smi that answers has its image", async () => {
  const buses = ["17", "3D", "65", "CA"];
  const each = (value: string) => buses.map(() => value);
  const fields = {
    ...{
      index: ["0", "1", "2", "3"],
      uuid: buses.map((bus) => `GPU-${bus}`),
      name: each("NVIDIA A100-SXM4-80GB"),
    },
    ...{ "pci.bus_id": buses.map((bus) => `00000000:${bus}:00.0`), "pci.device_id": each("0x20B210DE") },
    ...{
      "memory.total": each("81920 MiB"),
      "memory.used": each("0 MiB"),
      "mig.mode.current": each("Disabled"),
    },
    ...{ driver_version: each("535.104.05"), compute_cap: each("8.0") },
  };
  const host = await factsOf(machineOf({ name: "well", smi: { fields } }));
  expect(resolveImage(lock, host).match?.cell).toBe("gpu");
});

describe("a host with an AMD GPU and a fleet that has its image", () => {
  const rocm = rocmImage(["gfx942"]);
  const fleet = lockOf({ cpu: image({ axes: { accel: "none" } }), rocm });
  const host = amdHost([mi300x], "6.14.14", { nvidia: null });

  test("get it from lock, index, labels and mirror", () => {
    const { reference } = resolveImage(fleet, host).match ?? {};
    expect(reference).toContain(":rocm@");
    expect(resolveImage(byIndex(fleet), host).match?.reference).toBe(reference);
    expect(createLabeller(fleet)(host).labels).toMatchObject({ "image.cv-tf": "rocm" });
    expect(createChooser({})(fleet, host)).toMatchObject({ ok: true });
  });

  test(
    "get it from the script",
    needs(dialect === undefined ? (missingForDialects()[0] ?? "no shell") : null),
    async () => {
      const root = mkdtempSync(join(folder, "amd-"));
      const files = new Map([
        [
          "/proc/cpuinfo",
          `processor: 0\nvendor_id: AuthenticAMD\nflags: ${levelV3.join(" ")} cx8 fpu fxsr mmx syscall sse2 lm cmov sse sse4_1 sse4_2 ssse3\n`,
        ],
        ["/proc/sys/kernel/osrelease", "6.8.0\n"],
        ...Object.entries(node(1, { gfx_target_version: 90402, drm_render_minor: 128 })),
        ...devices(1).map((device) => [device, ""] as const),
      ]);
      writeMachine(root, { arch: "x64", env: {}, files, nodes: [], links: {}, denied: [], smi: null });
      expect(await runScript(root, fleet)).toMatchObject({
        status: 0,
        stdout: expect.stringContaining(":rocm@"),
      });
      const alone = lockOf({ cpu: image({ axes: { accel: "none" } }) });
      expect(await runScript(root, alone)).toMatchObject({ status: 0 });
    },
  );
});
