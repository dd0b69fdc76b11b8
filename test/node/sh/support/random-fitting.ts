/**
 * Machines with NVIDIA's cards that an image fits, as CPU, driver and cards suit one: only a state keeps CUDA from starting on some. Every
 * other fact varies with every other.
 */

import { findMarch, marchFeatures } from "../../../../src/hardware/cpu-marches.ts";
import type { NvmlDevice, NvmlReading } from "../../../../src/host/nvidia/nvml-reading.ts";
import { type Chance, pick } from "./chance.ts";
import { cudas, products, type RandomMachine } from "./random-machine.ts";
import { harms, randomState } from "./random-state.ts";
import { smiOfNvml } from "./smi-of-nvml.ts";

const drivers = ["570.124.06", "580.95.05", "590.48.01", "590.48.01", "610.43.02", "610.43.02"];
const cards = products.filter(([, , [major]]) => major >= 8 && major < 13);

export function fittingMachine(chance: Chance): RandomMachine {
  const some = (share: number) => chance() < share;
  const driver = pick(chance, drivers);
  const count = pick(chance, [1, 1, 2, 3]);
  const harm = some(0.6) ? pick(chance, [...harms, "recovery", "recovery", "uvm", "ready"] as const) : null;
  const harmed = some(0.4) ? 0 : null;
  const isAlike = some(0.5);
  const [id, name, compute] = pick(chance, cards);

  const march = findMarch("x86-64-v4");
  const flags = march === null ? "" : marchFeatures(march).join(" ");
  const files = new Map([
    ["/proc/cpuinfo", `processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: ${flags}\n`],
    ["/proc/sys/kernel/osrelease", "6.8.0-45-generic\n"],
    [
      "/proc/driver/nvidia/version",
      `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${driver}  Release Build  (dvs-builder@U16)  Tue Mar\n`,
    ],
  ]);
  const nodes = ["/dev/nvidiactl"];
  const links: Record<string, string> = {};
  const isContainer = harm === "uvm" || some(0.3);
  if (isContainer) nodes.push("/.dockerenv");
  const capabilities = pick(chance, [null, "all", "utility,compute", "utility"]);
  const env: Record<string, string> =
    harm !== "uvm" && capabilities !== null ? { NVIDIA_DRIVER_CAPABILITIES: capabilities } : {};
  if (harm !== "uvm" && (some(0.7) || (isContainer && capabilities !== "utility")))
    nodes.push("/dev/nvidia-uvm");

  const first = randomState(chance, { index: 0, compute, driver, harm: null });
  const devices = Array.from({ length: count }, (_, index): NvmlDevice => {
    const address = `0000:${(index * 32 + 23).toString(16)}:00.0`;
    const sys = `/sys/bus/pci/devices/${address}`;
    const uuid = `GPU-${(index + 1) * 11111111}-1111-4222-8333-00000000000${index}`;
    files.set(`${sys}/vendor`, "0x10de\n");
    files.set(`${sys}/device`, `0x${id}\n`);
    files.set(`${sys}/class`, "0x030200\n");
    links[`${sys}/driver`] = "../../../../bus/pci/drivers/nvidia";
    files.set(
      `/proc/driver/nvidia/gpus/${address}/information`,
      `Model: \t\t ${name}\nGPU UUID: \t ${uuid}\nBus Location: \t ${address}\nDevice Minor: \t ${index}\nGPU Excluded:\t No\n`,
    );
    nodes.push(`/dev/nvidia${index}`);
    const own = harms.find((each) => each === harm && (harmed ?? index) === index) ?? null;
    const state = randomState(chance, { index, compute, driver, harm: own });
    return {
      handle: 0,
      uuid: { value: uuid },
      name: { value: name },
      compute: { value: compute },
      pci: {
        value: { id: (Number.parseInt(id, 16) * 65536 + 0x10de) >>> 0, bus: `0000${address.toUpperCase()}` },
      },
      ...state,
      ...(isAlike && { ...first, mig: state.mig, ...(own !== null && { [own]: state[own] }) }),
    };
  });
  const ready = harm === "ready" ? false : pick(chance, [null, null, true]);
  const nvml: NvmlReading = {
    library: "libnvidia-ml.so.1",
    init: 0,
    driverVersion: { value: driver },
    nvmlVersion: { value: `12.${driver}` },
    cudaVersion: { value: cudas[driver.split(".")[0] ?? ""] ?? 13000 },
    deviceCount: { value: devices.length },
    devices,
    ...(ready !== null && { ready: { value: ready } }),
  };
  const machine = { arch: "x64", env, files, nodes, links, denied: [], smi: smiOfNvml(nvml) };
  return { machine, nvml };
}
