/** GPUs that are on the PCI bus and that the loaded driver does not list: the reason, as far as it can be known. */

import { completeGpus } from "./complete-gpus.ts";
import { unclaimedProblem } from "./driver-support.ts";
import type { HostProblem, NvidiaFacts } from "./facts.ts";
import type { HostIo } from "./io.ts";
import type { PciGpu } from "./pci.ts";
import { missingDevices, noDevices } from "./host-problems.ts";
import { parseProcGpu, procGpusPath } from "./proc-gpus.ts";
import { fromPci } from "./proc-reading.ts";
import type { NvidiaReading } from "./raw-gpu.ts";

export interface UnlistedContext {
  readonly container: boolean;
  readonly wsl: boolean;
  readonly tegra: unknown;
  readonly reading: NvidiaReading;
}

export async function unlistedProblems(
  io: HostIo,
  pci: readonly PciGpu[],
  facts: NvidiaFacts,
  { container, wsl, tegra, reading }: UnlistedContext,
): Promise<readonly HostProblem[]> {
  // A container sees the whole bus and only its own GPUs; Tegra and WSL2 have theirs elsewhere.
  if (container || wsl || tegra !== null) return [];
  const listed = new Set(facts.gpus.map(({ bus }) => bus));
  const unlisted = pci.filter(({ bus }) => !listed.has(bus));
  const unclaimed = await completeGpus(
    unlisted.filter(({ driver }) => driver === null).map(fromPci),
    pci,
    null,
  );
  const reasons = unclaimed.gpus.map((gpu) => unclaimedProblem(gpu, facts));
  // A state that is already named, such as a lost GPU, explains what is missing.
  if (reading.problems.length > 0) return reasons;
  const missing = unlisted
    .filter(({ driver, bus }) => driver === "nvidia" && !isExcluded(io, bus))
    .map(({ bus }) => bus);
  if (facts.gpus.length === 0) {
    return reasons.length > 0 && missing.length === 0
      ? reasons
      : [...reasons, noDevices(facts.driver, missing)];
  }
  return missing.length === 0 || listed.has(null)
    ? reasons
    : [...reasons, missingDevices(facts.gpus.length, missing)];
}

function isExcluded(io: HostIo, bus: string): boolean {
  return io.list(procGpusPath).some((address) => {
    const text = io.readText(`${procGpusPath}/${address}/information`);
    if (typeof text !== "string") return false;
    const gpu = parseProcGpu(text);
    return gpu.excluded && gpu.bus === bus;
  });
}
