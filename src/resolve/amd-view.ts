/** The AMD side of a host, read once into the values that the rules compare. */

import { type DriverVersion, parseVersion } from "../hardware/driver-version.ts";
import type { AmdFacts, AmdGpuFacts, HostFacts } from "../facts/facts.ts";
import { pciPath } from "../facts/facts.ts";

export interface AmdView {
  /** Version of AMD's own module; null for the kernel's, which has none, and without a driver. */
  readonly driver: DriverVersion | null;
  /** A driver drives the cards. */
  readonly hasDriver: boolean;
  /** The GPUs that programs use. */
  readonly gpus: readonly AmdGpuView[];
  /** GPUs of processors beside a card: programs leave them out. */
  readonly besides: readonly AmdGpuView[];
}

export interface AmdGpuView {
  readonly index: number;
  /** `GPU 0 (AMD Instinct MI300X)` */
  readonly label: string;
  readonly target: string | null;
  readonly sramecc: boolean | null;
  readonly integrated: boolean | null;
  /** The target that a variable names in place of its own. */
  readonly override?: string;
}

export function viewAmd({ amd, problems, sources }: HostFacts): AmdView | null {
  if (amd == null) return null;
  const { judged, besides } = amdGpusOf(amd);
  // The first three numbers are the module's line. What follows names its release.
  const parts = parseVersion(amd.driver?.split(".").slice(0, 3).join(".") ?? "");
  const driver = amd.driver === null || parts === null ? null : { text: amd.driver, parts };
  return {
    driver,
    hasDriver: driver !== null || !isDriverless(amd, { problems, sources }),
    gpus: judged.map((gpu) => ({ ...viewAmdGpu(gpu), ...(amd.override && { override: amd.override }) })),
    besides: besides.map(viewAmdGpu),
  };
}

function viewAmdGpu({ index, name, target, sramecc, integrated }: AmdGpuFacts): AmdGpuView {
  const label = name === null ? `AMD GPU ${index}` : `GPU ${index} (${name})`;
  return { index, label, target, sramecc, integrated };
}

/** Nearly every desktop has the GPU of the processor beside the card. No program uses it, and few images have code for it. Alone it counts. */
export function amdGpusOf({ gpus }: Pick<AmdFacts, "gpus">) {
  const cards = gpus.filter(({ integrated }) => integrated !== true);
  return cards.length === 0
    ? { judged: gpus, besides: [] }
    : { judged: cards, besides: gpus.filter((gpu) => !cards.includes(gpu)) };
}

/** The kernel's own driver has no version, so its absence shows otherwise: a driver gives each GPU its node. */
function isDriverless({ gpus }: AmdFacts, { problems, sources }: Pick<HostFacts, "problems" | "sources">) {
  if (sources["amd.driver"] !== undefined || gpus.some(({ render }) => render !== null)) return false;
  const onBusAlone = gpus.length > 0 && sources["amd.gpus"] === pciPath;
  return onBusAlone || problems.some(({ code }) => code === "HOST_AMD_NO_DRIVER");
}

export function unknownAmdFacts(facts: HostFacts): readonly string[] {
  const { amd } = facts;
  if (amd === undefined) return ["amd"];
  const { unknown = [] } = amd ?? {};
  const view = viewAmd(facts);
  // The place in the facts file.
  const place = (index: number) => amd?.gpus.findIndex((gpu) => gpu.index === index) ?? index;
  const targets = (view?.hasDriver === true ? view.gpus : []).flatMap(({ target, index }) =>
    target === null ? [`gpus[${place(index)}].target`] : [],
  );
  return [...unknown, ...targets].map((fact) => `amd.${fact}`);
}
