/** NVIDIA's GPUs on macOS, Windows and other systems, from `systeminformation`. */

import type { FactsPart, NvidiaFacts } from "../../facts/facts.ts";
import type { HostIo, Inventory } from "../host-io.ts";
import { foreignDriver } from "../../facts/host-problems.ts";
import { unknownGpu, unknownNvidia } from "../../facts/no-facts.ts";

/** Only the names are certain: driver numbers of Windows are no Linux driver numbers. */
export function foreignNvidia(io: HostIo, inventory: Inventory): FactsPart<NvidiaFacts | null> {
  const ours = inventory.gpus.filter(({ vendor, name }) => /nvidia/i.test(`${vendor} ${name}`));
  if (ours.length === 0) return { facts: null, problems: [], sources: {} };
  const gpus = ours.map(({ name }, index) => ({ ...unknownGpu(index), name: name === "" ? null : name }));
  return {
    facts: { ...unknownNvidia, gpus },
    problems: [foreignDriver(io.platform === "win32" ? "Windows" : io.platform)],
    sources: { "nvidia.gpus": "systeminformation" },
  };
}
