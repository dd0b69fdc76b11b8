/** Replays outputs of real machines against what their index says, in place; skipped where they are not beside the repository. */

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { cpuLevel } from "../../src/hardware/cpu-levels.ts";
import { findMarch, marchFeatures } from "../../src/hardware/cpu-marches.ts";
import { findGpuByName, findGpuByPci } from "../../src/hardware/gpu-products.ts";
import { parseCpuinfo } from "../../src/host/cpu/cpuinfo.ts";
import {
  parseSmiComplaint,
  parseSmiCsv,
  parseSmiHeader,
  parseSmiList,
  unknownField,
} from "../../src/host/nvidia/nvidia-smi.ts";
import { parseProcDriver, parseProcGpu } from "../../src/host/nvidia/proc-reading.ts";
import { parseTegraName, parseTegraRelease } from "../../src/host/nvidia/surroundings.ts";
import { needs } from "../support/needs.ts";

const folder = fileURLToPath(new URL("../../../shared/samples", import.meta.url));

interface Sample {
  readonly file: string | null;
  readonly kind: string;
  readonly expect?: Readonly<Record<string, string | number | boolean | null>>;
}

const present = existsSync(join(folder, "index.yaml"));
const samples: readonly Sample[] = present
  ? (parse(readFileSync(join(folder, "index.yaml"), "utf8")) as { samples: Sample[] }).samples
  : [];
const stored = samples.flatMap(({ file, ...rest }) => (file === null ? [] : [{ file, ...rest }]));
const read = (file: string) => readFileSync(join(folder, file), "utf8");
const ofKind = (kind: string) => stored.filter((sample) => sample.kind.startsWith(kind));
/** `546.80 (Windows numbering)` → `546.80`. */
const first = (value: unknown) => String(value).split(" ")[0];

describe(
  "samples of real machines (../shared/samples)",
  needs(
    present
      ? null
      : "no samples of real machines in ../shared/samples, beside the checkout (they are not published)",
  ),
  () => {
    const replayed = new Set<string>();
    const replay = (
      title: string,
      list: readonly (typeof stored)[number][],
      check: (sample: (typeof stored)[number]) => unknown,
    ) => {
      for (const sample of list) {
        replayed.add(sample.file);
        it(`${title}: ${sample.file}`, async () => {
          await check(sample);
        });
      }
    };

    replay(
      "driver and CUDA of the version list",
      ofKind("nvidia-smi version"),
      ({ file, expect: wanted }) => {
        expect(parseSmiHeader(read(file))).toMatchObject({ driver: wanted?.driver, cuda: wanted?.cuda });
      },
    );

    replay("head of the table", ofKind("nvidia-smi table"), ({ file, expect: wanted }) => {
      const header = parseSmiHeader(read(file));
      expect(header?.driver).toBe(first(wanted?.driver));
      expect(header?.cuda).toBe(wanted?.cuda === "ERR!" ? null : wanted?.cuda);
      if (wanted?.smi_binary !== undefined) expect(header?.program).toBe(wanted.smi_binary);
      if (file.includes("old_binary")) expect(unknownField(read(file))).toBe("compute_cap");
      if (wanted?.name === "Orin (nvgpu)") expect(parseTegraName(wanted.name)?.compute).toBe("8.7");
    });

    replay("head of -q", ofKind("nvidia-smi query-q"), ({ file }) => {
      const wanted = file.includes("610")
        ? { driver: "610.57.04", cuda: "13.3" }
        : { driver: "590.48.01", cuda: "13.1" };
      expect(parseSmiHeader(read(file))).toMatchObject(wanted);
    });

    replay("list", ofKind("nvidia-smi list"), ({ file }) => {
      const lines = read(file)
        .split("\n")
        .filter((line) => line.trim() !== "");
      const entries = parseSmiList(read(file));
      expect(entries).toHaveLength(lines.filter((line) => line.startsWith("GPU ")).length);
      expect(entries.flatMap(({ mig }) => mig)).toHaveLength(
        lines.filter((line) => line.startsWith("  MIG ")).length,
      );
      if (file.includes("mig")) {
        expect(entries[0]?.mig.map(({ profile }) => profile)).toEqual([
          "3g.40gb",
          "2g.20gb",
          "1g.10gb",
          "1g.10gb",
        ]);
      }
    });

    replay("whole query", ofKind("nvidia-smi query-gpu.csv"), async ({ file, expect: wanted }) => {
      const table = parseSmiCsv(read(file));
      expect(read(file).split("\n")[0]?.split(",")).toHaveLength(Number(wanted?.columns));
      expect(table?.strays).toEqual([]);
      const [gpu] = table?.gpus ?? [];
      expect(gpu).toMatchObject({ driver: wanted?.driver, name: wanted?.name, compute: wanted?.compute_cap });
      expect(gpu?.mig).toBe({ Enabled: true, Disabled: false }[String(wanted?.mig)] ?? null);
      const id = String(wanted?.pci_device_id).toLowerCase();
      expect(gpu?.pci).toBe(`10de:${id.slice(2, 6)}`);
      // The tables must agree with the machine: they stand in for it elsewhere.
      expect((await findGpuByPci(gpu?.pci ?? ""))?.compute).toBe(wanted?.compute_cap);
      expect((await findGpuByName(gpu?.name ?? ""))?.compute ?? wanted?.compute_cap).toBe(
        wanted?.compute_cap,
      );
    });

    replay("short queries", ofKind("nvidia-smi --query-gpu csv"), ({ file, expect: wanted }) => {
      const table = parseSmiCsv(read(file));
      if (wanted?.ccs === undefined) return expect(table).toBeNull();
      return expect(table?.gpus.map(({ compute }) => compute).join(", ")).toBe(wanted.ccs);
    });

    replay("field names", ofKind("nvidia-smi help-query-gpu"), ({ file }) => {
      expect(parseSmiCsv(read(file))).toBeNull();
      expect(read(file)).toContain('"compute_cap"');
    });

    // The probe never asks for XML; its names and versions still have to be what the tables and parsers understand.
    replay("XML", ofKind("nvidia-smi -q -x"), async ({ file, expect: wanted }) => {
      const text = read(file);
      const element = (name: string) => new RegExp(`<${name}>([^<]*)</${name}>`).exec(text)?.[1] ?? null;
      expect(element("driver_version")).toBe(wanted?.driver_version);
      expect(element("cuda_version")).toBe(wanted?.cuda_version);
      expect(text).not.toContain("compute_cap");
      const device = /<pci_device_id>([0-9A-F]{4})10DE</i.exec(text)?.[1];
      if (device !== undefined) expect(await findGpuByPci(`10de:${device}`)).not.toBeNull();
    });

    replay("/proc/cpuinfo", ofKind("/proc/cpuinfo"), ({ file, expect: wanted }) => {
      const target = String(wanted?.archspec_target);
      const [architecture, text] = [architectureOf(target), read(file)];
      const info = parseCpuinfo(text, architecture);
      const line = /^(?:flags|Features)\s*:\s*(.*)$/m.exec(text)?.[1];
      if (line !== undefined) expect(info.features).toEqual(line.trim().split(/\s+/).sort());
      const name = marchOf(target);
      const march = findMarch(name);
      if (march === null) return expect(info.features).toContain(target);
      const missing = marchFeatures(march).filter((feature) => !info.features?.includes(feature));
      expect(missing).toEqual(hiddenHere[file] ?? []);
      return expect(cpuLevel(architecture, info.features ?? [])).not.toBeNull();
    });

    replay("kernel module", ofKind("/proc/driver/nvidia/version"), ({ file, expect: wanted }) => {
      expect(parseProcDriver(read(file))).toEqual({
        version: wanted?.driver,
        flavor: wanted?.flavor,
        l4t: null,
      });
    });

    replay("GPU of the kernel module", ofKind("/proc/driver/nvidia/gpus"), ({ file, expect: wanted }) => {
      const gpu = parseProcGpu(read(file));
      expect(gpu).toMatchObject({
        name: wanted?.name,
        excluded: false,
        bus: expect.stringMatching(/^0{8}:/),
      });
      expect(gpu.uuid).toMatch(/^GPU-/);
      expect(gpu.minor).not.toBeNull();
    });

    replay("GPU of a 2008 driver", ofKind("/proc/driver/nvidia/cards"), ({ file }) => {
      expect(parseProcGpu(read(file))).toMatchObject({
        name: "GeForce 6150SE nForce 430",
        bus: null,
        uuid: null,
      });
    });

    replay("L4T release", ofKind("/etc/nv_tegra_release"), ({ file, expect: wanted }) => {
      expect(parseTegraRelease(read(file))).toBe(wanted?.l4t);
    });

    replay("broken state", ofKind("broken state"), ({ file, expect: wanted }) => {
      const text = read(file);
      const meaning = complaints[file];
      const problem = parseSmiComplaint(text, "999.10", false);
      expect(meaning, "every broken state has its meaning").toBeDefined();
      expect(problem === null ? null : `${problem.code}: ${problem.message}`.slice(0, meaning?.length)).toBe(
        meaning,
      );
      if (wanted?.nvml !== undefined) expect(problem?.message).toContain(`driver library ${wanted.nvml} `);
      if (wanted?.driver !== undefined) expect(parseProcDriver(text)?.version).toBe(wanted.driver);
    });

    it("leaves no sample out", () => {
      expect(stored.map(({ file }) => file).filter((file) => !replayed.has(file))).toEqual([]);
    });
  },
);

/** The broken state of each file; null for texts of the kernel log, which the probe does not read. */
const complaints: Readonly<Record<string, string | null>> = {
  "broken_mismatch_580.178.txt": "HOST_DRIVER_LIBRARY_MISMATCH: kernel module 999.10",
  "broken_mismatch_465_one_line.txt": "HOST_DRIVER_LIBRARY_MISMATCH: kernel module 999.10",
  "broken_cannot_communicate.txt": "HOST_NVML_FAILED: NVML cannot be used: nvidia-smi cannot communicate",
  "broken_no_devices.txt": "HOST_NO_DEVICES",
  "broken_no_devices_dmesg_789.txt": null,
  "broken_handle_not_found_515.43.04.txt": "HOST_NVML_FAILED: GPU ",
  "broken_gpu_is_lost.txt": "HOST_GPU_LOST",
  "broken_handle_unknown_error_dcgm.txt": "HOST_NVML_FAILED: GPU ",
  "broken_xid79_dmesg.txt": "HOST_GPU_LOST",
  "broken_nvml_unknown_error_proc_ok.txt": "HOST_NVML_FAILED: NVML cannot be used: Unknown Error",
  "broken_nouveau_dmesg.txt": null,
  "broken_open_module_on_v100_dmesg.txt": null,
};

/** Features of the march that the kernel or hypervisor of that machine hides: pointer authentication and the random numbers. */
const hiddenHere: Readonly<Record<string, readonly string[]>> = {
  "cpuinfo_linux-rhel8-neoverse_v1.txt": ["paca", "pacg"],
  "cpuinfo_linux-rhel9-neoverse_n2.txt": ["paca", "pacg", "rng"],
  "cpuinfo_linux-ubuntu22.04-neoverse_v2.txt": ["rng"],
};

function architectureOf(target: string): string {
  if (target.startsWith("power")) return "ppc64le";
  return /^(?:neoverse|cortex|a64fx|thunderx|ampere|m1)/.test(target) ? "arm64" : "amd64";
}

/** archspec's names → the compilers'. */
function marchOf(target: string): string {
  const names: Readonly<Record<string, string>> = {
    zen: "znver1",
    zen3: "znver3",
    zen4: "znver4",
    piledriver: "bdver2",
    k10: "amdfam10",
    x86_64_v3: "x86-64-v3",
    m1: "apple-m1",
    power8le: "power8",
  };
  return names[target] ?? target.replaceAll("_", "-");
}
