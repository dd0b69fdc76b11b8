import { describe, expect, it } from "vitest";
import type { HostIo } from "../../../src/host/host-io.ts";
import { parseSmiProcesses } from "../../../src/host/nvidia/smi-processes.ts";
import { readNvidiaSmi } from "../../../src/host/nvidia/run-nvidia-smi.ts";
import { useOf } from "../../../src/node/launch/gpu-units.ts";

const uuid = "GPU-8d2a7e3c-1f0b-4c55-9a3e-2b7d9f1c0a11";
const table = [
  "index, uuid, name, driver_version, pci.bus_id, memory.total [MiB], memory.used [MiB], compute_mode, mig.mode.current",
  `0, ${uuid}, Tesla M60, 396.44, 00000000:00:1E.0, 7618 MiB, 34 MiB, Default, [N/A]`,
].join("\n");

/** The use of an M60 with 34 MiB, where nvidia-smi lists these processes. */
async function useWith(apps: string | null, around: { container?: boolean; wsl?: boolean } = {}) {
  const io = {
    exists: () => false,
    readLink: () => null,
    readText: () => null,
    list: () => [],
    env: {},
    run: async (_: string, [query = ""]: readonly string[]) => {
      const stdout = query.startsWith("--query-gpu")
        ? table
        : query.startsWith("--query-compute-apps")
          ? apps
          : "";
      return stdout === null
        ? { status: 2, stdout: "", stderr: "Field is not a valid field to query.", timedOut: false }
        : { status: 0, stdout, stderr: "", timedOut: false };
    },
  } as unknown as HostIo;
  const surroundings = { module: { version: "396.44" }, container: false, wsl: false, ...around };
  const reading = await readNvidiaSmi(io, surroundings as unknown as Parameters<typeof readNvidiaSmi>[1]);
  const [gpu] = reading?.gpus ?? [];
  if (gpu === undefined) throw new Error(JSON.stringify(reading));
  return useOf({ vendor: "nvidia", gpu, mig: null, name: "0" });
}

describe("a GPU that nvidia-smi tells of", () => {
  it("is idle without a process, whatever its memory holds", async () => {
    expect(await useWith("")).toBe("idle");
    expect(await useWith("No running processes found\n")).toBe("idle");
    expect(await useWith(`${uuid}, 4711\n`)).toBe("busy");
  });

  it("is judged by its memory where the list is not known, or is none of the host's", async () => {
    expect(await useWith(null)).toBe("busy");
    expect(await useWith("Unable to determine the device handle")).toBe("busy");
    expect(await useWith(`${uuid}, [Not Supported]`)).toBe("busy");
    expect(await useWith("", { container: true })).toBe("busy");
    expect(await useWith("", { wsl: true })).toBe("busy");
  });

  it("has as many processes as lines", () => {
    expect(parseSmiProcesses(`${uuid}, 1\n${uuid}, 2\n`)?.get(uuid)).toEqual(2);
    expect(parseSmiProcesses(`${uuid}, [N/A]\n${uuid}, 2\n`)?.get(uuid)).toEqual(null);
  });
});
