/** Turns an opened image from elsewhere, and the owner's statement, into the facts of a lock. Pure. */

import { throwProblems, usageError } from "../../errors.ts";
import { findMarch, marchFeatures, unknownWithout } from "../../hardware/cpu-marches.ts";
import { count } from "../../io/table.ts";
import type { LockedAdoption } from "../../lock/lock.ts";
import { type Measured, noGpus, type Requirement } from "../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import type { CompiledFor, UndecidedGpu } from "../../resolve/check-image.ts";
import { hasRocmRuntime } from "../amd/rocm-release.ts";
import { isOwnQuestion } from "../cpu/own-questions.ts";
import { auditImage } from "../audit/audit-image.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { OpenedImage } from "../image/open-layers.ts";
import { type ImageInspection, inspectionOf } from "../inspection.ts";
import { type AdoptedSide, type AskedImage, choiceNote, type SideAdoption } from "./adopted-side.ts";
import type { Statement } from "../../lock/statement.ts";
import { adoptAmd } from "./amd-side.ts";
import { adoptNvidia, isAgainst, isOpen, nvidiaCode } from "./nvidia-side.ts";
import { toldFeature } from "../../hardware/cpu-features.ts";

export interface AdoptedImage {
  readonly platform: string;
  readonly requires: Requirement;
  readonly adopted: LockedAdoption;
  readonly measured?: Measured;
  /** CPU features of `requires` without a proof, each with a file that was compiled for the feature. */
  readonly compiledFor: readonly CompiledFor[];
  /** Unknown needs: it may need more than `requires`. */
  readonly undecided: readonly string[];
  /** Files that could not be opened, and choices to look at: it may need more than `requires`. */
  readonly notes: readonly string[];
}

/** How each vendor's code is adopted. */
const sides: Readonly<Record<GpuVendor, SideAdoption>> = {
  nvidia: { adopt: adoptNvidia, isThere: ({ requires }) => requires.cuda !== null, codeOf: nvidiaCode },
  amd: {
    adopt: adoptAmd,
    isThere: ({ amd, files }, isBeside) => amd !== null && (!isBeside || hasRocmRuntime(files)),
    codeOf: () => null,
  },
};

/** Throws `ADOPT_UNDECIDED` if the files do not tell what a lock needs, and `AUDIT_…` if they contradict the statement. */
export function adoptedImage(
  opened: OpenedImage,
  statement: Statement,
  inspection = inspectionOf(opened),
): AdoptedImage {
  const platform = opened.platform ?? "";
  const kernel = inspection.requires.kernel;
  const adoptedSides = adoptSides({ opened, inspection, statement });
  const requires: Requirement = {
    cpu: cpuOf(inspection, statement, platform),
    ...noGpus,
    ...merged(adoptedSides.map((side) => side.requires)),
    ...(kernel === null ? {} : { kernel }),
  };
  const request = { base: { kind: "none" }, requires, floor: [], platform } as const;
  const audit = auditImage(opened, request, inspection);
  const fix = "state what its files have, or leave --march, --without, --cuda and --rocm out";
  const against = [
    ...audit.lies.filter((lie) => isAgainst(lie, statement)),
    ...audit.notes.filter(({ code }) => code === "AUDIT_CPU_COMPILED_FOR"),
  ];
  throwProblems(against.map((each) => ({ ...each, fix })));
  const unopened = inspection.unopened.length;
  return {
    platform,
    requires,
    adopted: { cpu: statement.march === undefined ? "estimated" : "stated" },
    ...(statement.march === undefined
      ? {}
      : { measured: { ...audit.measured, ...merged(adoptedSides.map((side) => side.measured)) } }),
    compiledFor: statement.march === undefined ? compiledFor(inspection) : [],
    undecided: inspection.requires.undecided.filter((reason) => isOpen(reason, statement)),
    notes: [
      ...adoptedSides.flatMap(({ choices }) => choices),
      ...(requires.cpu.by === undefined ? [] : [choiceNote("CPU variant", inspection.requires.choices.cpu)]),
      ...(unopened === 0
        ? []
        : [`${count(unopened, "file")} could not be opened: imgmatch inspect lists them`]),
      ...adoptedSides.flatMap((side) => side.notes),
      ...audit.notes.map(({ message }) => message),
    ],
  };
}

function adoptSides(asked: AskedImage): readonly AdoptedSide[] {
  const adopted: AdoptedSide[] = [];
  for (const vendor of gpuVendors) {
    const isBeside = adopted.some(({ requires }) => Object.keys(requires).length > 0);
    adopted.push(sides[vendor].adopt(asked, isBeside));
  }
  return adopted;
}

/** What stands under each key. */
function merged<Value>(all: readonly Readonly<Record<string, Value>>[]): Readonly<Record<string, Value>> {
  return Object.fromEntries(all.flatMap((each) => Object.entries(each)));
}

/** For each feature without a proof the file with most instructions of it. */
function compiledFor({ requires, files }: ImageInspection): readonly CompiledFor[] {
  const uses = ({ cpu }: InspectedFile, feature: string) => cpu?.features[feature]?.instructions ?? 0;
  const of = (feature: string, need: "compiledFor" | "undecided") => {
    const holders = files.filter(({ answer }) => answer?.features[feature] === need);
    const [file] = holders.sort((a, b) => uses(b, feature) - uses(a, feature));
    if (file === undefined) return [];
    const asks = !(file.answer?.asks ?? []).every(isOwnQuestion);
    return [{ feature, file: file.path, instructions: uses(file, feature), need, asks }];
  };
  return [
    ...requires.cpu.compiledFor.flatMap((feature) => of(feature, "compiledFor")),
    ...requires.cpu.undecided.flatMap((feature) => of(feature, "undecided")),
  ];
}

/** The needs of an image that {@link adoptedImage} refuses: all but the GPU side, and the vendors: the image needs a GPU of one vendor. */
export function needsBesideGpu(opened: OpenedImage, inspection = inspectionOf(opened)) {
  const { kernel } = inspection.requires;
  const gpus: UndecidedGpu[] = [];
  for (const vendor of gpuVendors) {
    const side = sides[vendor];
    if (side.isThere(inspection, gpus.length > 0)) gpus.push({ vendor, code: side.codeOf(inspection) });
  }
  return {
    requires: {
      cpu: cpuOf(inspection, {}, opened.platform ?? ""),
      ...noGpus,
      ...(kernel === null ? {} : { kernel }),
    },
    compiledFor: compiledFor(inspection),
    gpus,
  };
}

function cpuOf(
  inspection: ImageInspection,
  { march: name, without = [] }: Statement,
  platform: string,
): Requirement["cpu"] {
  const { level, features } = inspection.requires.cpu;
  if (name === undefined) {
    if (without.length > 0)
      throw usageError(
        `--without ${without.join(", ")} needs --march`,
        "state it with --march: its features less these are what the image needs",
      );
    const [first, ...or] = inspection.requires.choices.cpu.map(({ by, level, features }) => ({
      by,
      march: level ?? "estimated",
      features,
    }));
    if (first === undefined) return { march: level ?? "estimated", features };
    return { ...first, ...(or.length > 0 && { or }) };
  }
  const march = findMarch(name);
  if (march === null || `linux/${march.architecture}` !== platform.split("/").slice(0, 2).join("/"))
    throw usageError(
      `${inspection.subject} is for ${platform}, for which there is no march ${name}`,
      "imgmatch hardware cpu lists the marches",
    );
  const unknown = unknownWithout(march, without);
  if (unknown.length > 0)
    throw usageError(
      `--without ${unknown.join(", ")}: ${name} has no such feature`,
      `its features are ${march.features.map(toldFeature).join(" ")}`,
    );
  return { march: name, features: marchFeatures(march, without) };
}
