/** Rule: every processor of the host has every feature that the image's code may use. */

import { hiddenFeatures, mayBeUnprinted } from "../../hardware/cpu-hidden-features.ts";
import { findMarch, marchFeatures, unknownWithout } from "../../hardware/cpu-marches.ts";
import type { LockedAdoption } from "../../lock/lock.ts";
import { neededRequirement } from "../../lock/needed-requirement.ts";
import { describeMeasured } from "../describe-measured.ts";
import type { HostView } from "../host-view.ts";
import { byHand, listSome, misfit } from "../misfit.ts";
import type { Cure, Misfit } from "../verdict.ts";
import { type ImageToFit, rule } from "./rule.ts";
import { toldFeature } from "../../hardware/cpu-features.ts";

type CpuImage = Pick<ImageToFit, "platform" | "requires" | "measured" | "adopted">;
type CpuView = Pick<HostView, "platform" | "kernel" | "cpu" | "features" | "unknownFeatures">;

export const cpuRule = rule({
  image: (image): CpuImage => image,
  imageKey: ({ platform, requires, measured, adopted }) => [platform, requires.cpu, measured, adopted],
  asks: ["platform", "cpu", "features", "unknownFeatures"],
  answer: checkCpu,
});

function checkCpu(image: CpuImage, host: CpuView): Misfit | null {
  // Features of another architecture are no lack of this CPU.
  if (image.platform.split("/")[1] !== host.platform.split("/")[1]) return null;
  const { march, features } = neededRequirement(image).cpu;
  const { adopted } = image;
  const present = host.features;
  if (features.length === 0) return null;
  if (present === null) {
    return misfit(
      "CPU_FEATURES_MISSING",
      `needs ${features.length} CPU features (${describeMeasured(image) ?? march}), this host's CPU features are unknown`,
      "run imgmatch probe on the host itself, where the system tells them",
    );
  }
  const missing = features.filter((feature) => !present.has(feature));
  if (missing.length === 0) return null;
  // These are names of x86: an Arm kernel prints its sha512, sm3 and sm4.
  const x86 = host.platform === "linux/amd64";
  // Another system lists other names: macOS has AVX2 on another list.
  const foreign = !host.platform.startsWith("linux/");
  const untold = missing.filter((feature) => foreign || host.unknownFeatures.has(feature));
  const hidden = missing.filter(
    (feature) => x86 && hiddenFeatures.has(feature) && !host.unknownFeatures.has(feature),
  );
  return misfit(
    "CPU_FEATURES_MISSING",
    `needs ${listTold(missing)} (${describeMeasured(image) ?? march}), ${describeLack(host, missing, hidden, untold)}`,
    () => {
      if (untold.length === missing.length)
        return [byHand("run imgmatch probe on the host itself, where the kernel tells them")];
      const shown = missing.filter((feature) => !hidden.includes(feature));
      return [
        ...(untold.length > 0 ? lowerMarch(host, march) : otherImage(host, march, missing, adopted)),
        ...(adopted?.cpu === "estimated" ? [stateMarch] : []),
        ...exposed(shown, hidden, adopted),
      ];
    },
    missing.length,
  );
}

/** A CPU that lacks more features is another CPU. */
const mostLeftOut = 4;

/** The owner of an image may know better than the estimate. `adopt` checks what the owner states. */
export const stateMarch = byHand(
  "state what it was built for, where it runs with less (imgmatch adopt --march)",
);

/** The same march without the missing features, if that leaves more than the host's level; else a cell of that level. */
function otherImage(
  host: CpuView,
  name: string,
  missing: readonly string[],
  adopted: LockedAdoption | undefined,
): readonly Cure[] {
  const march = findMarch(name);
  const level = host.cpu.level === null ? null : findMarch(host.cpu.level);
  const rest = march === null ? [] : marchFeatures(march, missing);
  const serves =
    march !== null &&
    missing.length <= mostLeftOut &&
    unknownWithout(march, missing).length === 0 &&
    rest.every((feature) => host.features?.has(feature)) &&
    rest.length > (level?.features.length ?? 0);
  // An estimate is no march: there is nothing to leave out of it.
  if (!serves || adopted?.cpu === "estimated") return lowerMarch(host, name);
  return [
    {
      text: `list ${listSome(missing)} under the without of march=${name} and build again`,
      remedy: { kind: "without", march: name, features: missing },
      adopted: adoptWithout(missing),
    },
  ];
}

/** A cell of the host's level. */
function lowerMarch({ cpu: { level } }: CpuView, march: string): readonly Cure[] {
  if (level === null)
    return [
      byHand("add a cell with a march that this host runs", "adopt an image that this host's CPU runs"),
    ];
  if (level === march) return [];
  return [
    {
      text: `add a cell with march=${level}`,
      remedy: { kind: "cell", axes: { march: level } },
      adopted: `adopt an image for CPUs of ${level}`,
    },
  ];
}

function adoptWithout(features: readonly string[]): string {
  return `adopt it again with ${features.map((feature) => `--without ${feature}`).join(" ")}, where no program uses ${features.length === 1 ? "it" : "them"}`;
}

/** Exposes features to the guest. A feature that no kernel prints stays invisible there too, so the image must do without it. */
function exposed(
  visible: readonly string[],
  hidden: readonly string[],
  adopted: LockedAdoption | undefined,
): readonly Cure[] {
  const expose =
    visible.length === 0 ? [] : [`in a virtual machine, expose ${listTold(visible, 4)} to the guest`];
  if (hidden.length === 0) return [{ text: expose.join(), remedy: { kind: "features", features: visible } }];
  // Its files need the hidden features: to expose the others is not enough.
  if (adopted?.cpu === "estimated") return [];
  const without = `list ${listSome(hidden, 4)} under the march's without, where no program uses it`;
  return [byHand([...expose, without].join(" and "), [...expose, adoptWithout(hidden)].join(" and "))];
}

function describeLack(
  { kernel }: CpuView,
  missing: readonly string[],
  hidden: readonly string[],
  untold: readonly string[],
): string {
  const silent = [
    ...(untold.length === 0 ? [] : [`${listTold(untold, 6)} cannot be proved: these facts do not tell`]),
    ...(hidden.length === 0
      ? []
      : [`${hidden.join(", ")} cannot be proved: no kernel prints ${hidden.length === 1 ? "it" : "them"}`]),
  ];
  if (kernel !== null && missing.every((feature) => mayBeUnprinted(feature, kernel.parts)))
    return `of which this host's kernel, ${kernel.text}, prints nothing`;
  if (silent.length === 0) return "which this host's CPU does not have";
  const known = missing.length - hidden.length - untold.length;
  return known === 0 ? silent.join("; ") : ["which this host does not show", ...silent].join("; ");
}

function listTold(features: readonly string[], most?: number): string {
  return listSome(features.map(toldFeature), most);
}
