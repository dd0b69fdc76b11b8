import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { HostIo } from "../../src/host/host-io.ts";
import { nvmlCodes, type NvmlDevice, type NvmlReading } from "../../src/host/nvidia/nvml-reading.ts";
import { probeHost } from "../../src/host/probe-host.ts";
import { fixtureHostIo } from "../support/fixture-host-io.ts";

const machine = (name: string) =>
  fixtureHostIo(fileURLToPath(new URL(`../fixtures/hosts/${name}`, import.meta.url)));
const visible = async (io: HostIo, gpus?: string) =>
  (await probeHost(io, gpus === undefined ? {} : { gpus })).nvidia?.gpus.map(({ index }) => index);

describe("options.gpus", () => {
  it("narrows, and takes the place of the environment", async () => {
    const io = machine("rocky8-zen2-a100_slurm");
    expect(await visible(io)).toEqual([1, 2]);
    expect(await visible(io, "0,3")).toEqual([0, 3]);
    expect(await visible(io, "all")).toEqual([0, 1, 2, 3]);
    expect((await probeHost(io, { gpus: "0" })).sources["nvidia.visible"]).toBe("--gpus 0");
  });

  it("refuses a GPU that this machine has not", async () => {
    await expect(probeHost(machine("ubuntu2404-zen4-rtx4090"), { gpus: "1" })).rejects.toMatchObject({
      code: "SELECTION_INVALID",
    });
  });
});

it("counts no virtual function of a vGPU host as a GPU that the driver has lost", async () => {
  const io = machine("ubuntu2404-sapphirerapids-h100");
  const [card = ""] = io.list("/sys/bus/pci/devices").filter((address) => {
    const text = io.readText(`/sys/bus/pci/devices/${address}/class`);
    return typeof text === "string" && text.startsWith("0x0302");
  });
  const of = (path: string) => path.replace("/0000:fe:00.4/", `/${card}/`);
  const withFunction = (physfn: string | null): HostIo => ({
    ...io,
    list: (path) => [...io.list(path), ...(path === "/sys/bus/pci/devices" ? ["0000:fe:00.4"] : [])],
    readText: (path) => io.readText(of(path)),
    readLink: (path) => (path.endsWith("/0000:fe:00.4/physfn") ? physfn : io.readLink(of(path))),
  });
  const codes = async (physfn: string | null) =>
    (await probeHost(withFunction(physfn))).problems.map(({ code }) => code);
  expect(await codes(`../${card}`)).toEqual([]);
  expect(await codes(null)).toEqual(["HOST_NO_DEVICES"]);
});

describe("environment", () => {
  it("both variables narrow together, and an empty CUDA_VISIBLE_DEVICES hides all", async () => {
    const io = machine("ubuntu2204-icelake-a100_nvd");
    const withEnv = (env: Record<string, string>) => visible({ ...io, env });
    expect(await withEnv({ NVIDIA_VISIBLE_DEVICES: "0,1,2", CUDA_VISIBLE_DEVICES: "1,2,3" })).toEqual([1, 2]);
    expect(await withEnv({ CUDA_VISIBLE_DEVICES: "" })).toEqual([]);
    expect(await withEnv({ NVIDIA_VISIBLE_DEVICES: "" })).toEqual([0, 1, 2, 3]);
    expect(await withEnv({ NVIDIA_VISIBLE_DEVICES: "none" })).toEqual([]);
  });

  it("in a container the runtime has applied NVIDIA_VISIBLE_DEVICES already", async () => {
    const io = machine("kubernetes-sapphirerapids_vm-h100_cdi");
    expect(io.env.NVIDIA_VISIBLE_DEVICES).toBe("void");
    expect(await visible(io)).toEqual([0]);
  });
});

describe("GPUs that were not given to this user or container", () => {
  const code = { code: nvmlCodes.noPermission };
  const withheld: NvmlDevice = {
    handle: nvmlCodes.noPermission,
    uuid: code,
    name: code,
    compute: code,
    pci: code,
    memory: code,
    processes: code,
    mig: code,
  };
  const io = machine("docker-icelake-a100_compat_library");
  const withDevices = (change: (devices: readonly NvmlDevice[]) => readonly NvmlDevice[]): HostIo => ({
    ...io,
    readNvml: async (libraries) => {
      const reading = (await io.readNvml(libraries)) as NvmlReading;
      return { ...reading, devices: change(reading.devices) };
    },
  });

  it("are not visible, and no problem", async () => {
    const { nvidia, problems } = await probeHost(withDevices((devices) => [withheld, ...devices]));
    expect(nvidia?.gpus.map(({ index }) => index)).toEqual([1]);
    expect(problems).toEqual([]);
  });

  it("are a problem when they are all there is", async () => {
    const { nvidia, problems } = await probeHost(withDevices(() => [withheld, withheld]));
    expect(nvidia?.gpus).toEqual([]);
    expect(problems.map(({ code: found }) => found)).toEqual(["HOST_NO_PERMISSION"]);
  });
});

it("asks nothing more of nvidia-smi once it hangs", async () => {
  const io = machine("broken-zen2-a100_smi_timeout");
  await probeHost(io);
  expect(io.spawned).toHaveLength(1);
});

it("goes on to /proc when NVML cannot be loaded and nvidia-smi is not there", async () => {
  const io = machine("ubuntu2404-sapphirerapids-h100");
  const facts = await probeHost({ ...io, readNvml: async () => null });
  expect(io.spawned).toEqual([]);
  expect(facts.nvidia?.gpus.map(({ compute }) => compute)).toEqual(["9.0", "9.0"]);
  expect(facts.nvidia?.cuda).toBe("12.8");
  expect(facts.sources["nvidia.gpus"]).toBe("/proc/driver/nvidia/gpus");
});

it("puts GPUs in the order of their index whatever order nvidia-smi prints", async () => {
  const io = machine("rhel8-icelake-a100_mig_smi");
  const row = (index: number) =>
    `${index}, GPU-0000000${index}-1, NVIDIA L40S, 550.127.05, 00000000:0${index}:00.0, 0x26B910DE, 46068 MiB, 1 MiB, [N/A], 8.9`;
  const header =
    "index, uuid, name, driver_version, pci.bus_id, pci.device_id, memory.total [MiB], memory.used [MiB], mig.mode.current, compute_cap";
  const stdout = [header, row(2), row(0), row(1)].join("\n");
  const facts = await probeHost({
    ...io,
    run: async () => ({ status: 0, stdout, stderr: "", timedOut: false }),
  });
  expect(facts.nvidia?.gpus.map(({ index, bus }) => [index, bus])).toEqual([
    [0, "00000000:00:00.0"],
    [1, "00000000:01:00.0"],
    [2, "00000000:02:00.0"],
  ]);
});
