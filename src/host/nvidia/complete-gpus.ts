/** Fills the unknown facts of GPUs from the tables, by PCI id or name. */

import { classifyGpu } from "../../hardware/gpu-class.ts";
import { findGpuByName, findGpuByPci } from "../../hardware/gpu-products.ts";
import { compareText } from "../../io/collections.ts";
import type { GpuClass, GpuFacts, HostFacts, HostProblem } from "../../facts/facts.ts";
import { fieldUnknown, gpuLabel } from "../../facts/host-problems.ts";
import type { PciGpu } from "../pci.ts";
import { knownSources, unknownGpu } from "../../facts/no-facts.ts";
import { parseTegraName, type Tegra } from "./surroundings.ts";

export interface CompletedGpus {
  readonly gpus: readonly GpuFacts[];
  readonly problems: readonly HostProblem[];
  /** The source of the compute capabilities that the reading lacked. */
  readonly computeSource: string | null;
}

/** GB10 of the DGX Spark shares its memory with the CPU although it is on PCI (10de:2e12). */
const integratedPci: readonly string[] = ["10de:2e12"];

export async function completeGpus(
  raw: readonly GpuFacts[],
  pci: readonly PciGpu[],
  tegra: Tegra | null,
): Promise<CompletedGpus> {
  const completed = await Promise.all(raw.map((gpu) => completeGpu(gpu, pci, tegra)));
  const gpus = completed.map(({ facts }) => facts).sort((a, b) => a.index - b.index);
  const sources = new Set(completed.flatMap(({ source }) => (source === null ? [] : [source])));
  return {
    gpus,
    problems: gpus
      .filter((gpu) => gpu.compute === null)
      .map((gpu) =>
        fieldUnknown(gpuLabel(gpu), ["compute capability", ...(gpu.name === null ? ["name"] : [])]),
      ),
    computeSource: sources.size === 0 ? null : [...sources].sort().join(", "),
  };
}

async function completeGpu(gpu: GpuFacts, pciGpus: readonly PciGpu[], tegra: Tegra | null) {
  const pci = gpu.pci ?? pciGpus.find((device) => device.bus === gpu.bus)?.id ?? null;
  const known = await findProduct(pci, gpu.name);
  const chip = tegra === null ? null : ((gpu.name === null ? null : parseTegraName(gpu.name)) ?? tegra.chip);
  const name = gpu.name ?? known?.product.name ?? chip?.name ?? null;
  const guess =
    known !== null
      ? { compute: known.product.compute, source: known.source }
      : chip !== null
        ? { compute: chip.compute, source: "chip table" }
        : null;
  const facts: GpuFacts = {
    ...gpu,
    name,
    compute: gpu.compute ?? guess?.compute ?? null,
    pci,
    class: tegra === null ? productClass(known?.product.class, name) : "tegra",
    integrated: tegra !== null ? true : pci === null || known === null ? null : integratedPci.includes(pci),
    ...(gpu.mig && { mig: [...gpu.mig].sort((a, b) => compareText(a.uuid, b.uuid)) }),
  };
  return { facts, source: gpu.compute === null ? (guess?.source ?? null) : null };
}

/** Boards of different classes may share a PCI id. Then the name that the driver prints decides. */
function productClass(known: GpuClass | undefined, name: string | null): GpuClass {
  return known !== undefined && known !== "unknown" ? known : classifyGpu(name ?? "");
}

/** A GPU as far as its PCI id or its name tells: product, compute capability and class. */
export async function gpuOfProduct(pci: string | null, name: string | null): Promise<GpuFacts> {
  const { product } = (await findProduct(pci, name)) ?? {};
  return {
    ...unknownGpu(0),
    pci,
    name: product?.name ?? name,
    compute: product?.compute ?? null,
    class: productClass(product?.class, product?.name ?? name),
  };
}

/** The PCI id is exact; a name is the next best. A virtual GPU may bear the name of another card, so the id goes first. */
async function findProduct(pci: string | null, name: string | null) {
  if (pci === null && name === null) return null;
  const byPci = pci === null ? null : await findGpuByPci(pci);
  if (byPci !== null) return { product: byPci, source: "PCI id" };
  const byName = name === null ? null : await findGpuByName(name);
  return byName === null ? null : { product: byName, source: "product name" };
}

/** Fills the unknown compute capabilities and classes of the GPUs in facts that somebody wrote. */
export async function completeFacts(facts: HostFacts): Promise<HostFacts> {
  const { nvidia } = facts;
  if (nvidia == null || nvidia.gpus.every(({ compute }) => compute !== null)) return facts;
  const gpus = await Promise.all(
    nvidia.gpus.map(async (gpu) => {
      const product = await gpuOfProduct(gpu.pci, gpu.name);
      if (gpu.compute !== null || product.compute === null) return gpu;
      const kind = gpu.class === "unknown" ? product.class : gpu.class;
      return { ...gpu, compute: product.compute, class: kind };
    }),
  );
  return { ...facts, nvidia: { ...nvidia, gpus } };
}

/** The sources of the GPUs and of their compute capabilities. */
export function gpuSources(from: string, { computeSource, gpus }: CompletedGpus): HostFacts["sources"] {
  const compute = gpus.length === 0 ? null : computeSource;
  return knownSources({ "nvidia.gpus": from, "nvidia.gpus.compute": compute });
}
