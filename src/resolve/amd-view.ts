/** The AMD side of a host, read once into the values that the rules compare. */

import { type DriverVersion, parseDriverVersion } from "../hardware/driver-version.ts";
import type { AmdFacts, AmdGpuFacts, HostFacts } from "../host/facts.ts";
import { pciPath } from "../host/pci.ts";

export interface AmdView {
  /** Of AMD's own module; null for the kernel's, which has no version, and where none is loaded. */
  readonly driver: DriverVersion | null;
  /** false for cards that no driver drives. */
  readonly driven: boolean;
  /** Those that a program is to use. */
  readonly gpus: readonly AmdGpuView[];
  /** GPUs of processors beside a card. */
  readonly besides: readonly AmdGpuView[];
}

export interface AmdGpuView {
  readonly index: number;
  /** `GPU 0 (AMD Instinct MI300X)` */
  readonly label: string;
  readonly target: string | null;
  readonly sramecc: boolean | null;
  readonly integrated: boolean | null;
}

export function viewAmd({ amd, problems, sources }: HostFacts): AmdView | null {
  if (amd == null) return null;
  const { judged, besides } = amdGpusOf(amd);
  const driver = amd.driver === null ? null : parseDriverVersion(amd.driver);
  return {
    driver,
    driven: driver !== null || !isDriverless(amd, { problems, sources }),
    gpus: judged.map(viewAmdGpu),
    besides: besides.map(viewAmdGpu),
  };
}

function viewAmdGpu({ index, name, target, sramecc, integrated }: AmdGpuFacts): AmdGpuView {
  const label = name === null ? `AMD GPU ${index}` : `GPU ${index} (${name})`;
  return { index, label, target, sramecc, integrated };
}

/**
 * The GPU of a processor is on nearly every desktop beside the card: no program means it, and no image has code for it. Alone it is a GPU as
 * others are.
 */
export function amdGpusOf({ gpus }: Pick<AmdFacts, "gpus">) {
  const cards = gpus.filter(({ integrated }) => integrated !== true);
  return cards.length === 0
    ? { judged: gpus, besides: [] }
    : { judged: cards, besides: gpus.filter((gpu) => !cards.includes(gpu)) };
}

/** The kernel's own driver has no version, so it takes more to say that there is none: a driver gives each GPU its node. */
function isDriverless({ gpus }: AmdFacts, { problems, sources }: Pick<HostFacts, "problems" | "sources">) {
  if (sources["amd.driver"] !== undefined || gpus.some(({ render }) => render !== null)) return false;
  const onBusAlone = gpus.length > 0 && sources["amd.gpus"] === pciPath;
  return onBusAlone || problems.some(({ code }) => code === "HOST_AMD_NO_DRIVER");
}

export function untoldOfAmd(facts: HostFacts): readonly string[] {
  const { amd } = facts;
  if (amd === undefined) return ["amd"];
  const { unknown = [] } = amd ?? {};
  const view = viewAmd(facts);
  // Its place in the facts, as it is written there.
  const place = (index: number) => amd?.gpus.findIndex((gpu) => gpu.index === index) ?? index;
  const targets = (view?.driven === true ? view.gpus : []).flatMap(({ target, index }) =>
    target === null ? [`gpus[${place(index)}].target`] : [],
  );
  return [...unknown, ...targets].map((fact) => `amd.${fact}`);
}
