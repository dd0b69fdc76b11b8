/** Rule: every feature that the image's code may use is present on every processor of the host. */

import { hiddenFeatures } from "../../hardware/cpu-hidden-features.ts";
import { findMarch, marchFeatures, unknownWithout } from "../../hardware/cpu-marches.ts";
import type { CpuRequirement } from "../../lock/lock.ts";
import type { HostView } from "../host-view.ts";
import { listSome, misfit } from "../misfit.ts";
import type { Cure } from "../remedy.ts";
import type { Misfit } from "../verdict.ts";

/** `measured`: what its binaries use of what was declared, in words, where `features` is not all of that. */
export function checkCpu(
  { march, features }: CpuRequirement,
  host: HostView,
  measured: () => string | null = () => null,
): Misfit | null {
  const present = host.features;
  if (features.length === 0) return null;
  if (present === null) {
    return misfit(
      "CPU_FEATURES_MISSING",
      `needs ${features.length} CPU features (${measured() ?? march}), this host's CPU features are unknown`,
      "run imgmatch probe on the host itself, where the system tells them",
    );
  }
  const missing = features.filter((feature) => !present.has(feature));
  if (missing.length === 0) return null;
  // Names of x86: an Arm kernel does print its sha512, sm3 and sm4.
  const x86 = host.platform === "linux/amd64";
  // What another system lists is not what Linux would: macOS, for one, has AVX2 on another list.
  const foreign = !host.platform.startsWith("linux/");
  const open = missing.filter((feature) => foreign || host.unknown.has(feature));
  const hidden = missing.filter(
    (feature) => x86 && hiddenFeatures.has(feature) && !host.unknown.has(feature),
  );
  return misfit(
    "CPU_FEATURES_MISSING",
    `needs ${listSome(missing)} (${measured() ?? march}), ${describeLack(missing, hidden, open)}`,
    open.length === missing.length
      ? "run imgmatch probe on the host itself, where the kernel tells them"
      : [
          ...(open.length > 0 ? lowerMarch(host, march) : otherImage(host, march, missing)),
          exposed(
            missing.filter((feature) => !hidden.includes(feature)),
            hidden,
          ),
        ],
    missing.length,
  );
}

/** More than this is another CPU. */
const mostLeftOut = 4;

/** The same march without what is missing, where that leaves more than the host's level; else a cell of that level. */
function otherImage(host: HostView, name: string, missing: readonly string[]): readonly Cure[] {
  const march = findMarch(name);
  const level = host.cpu.level === null ? null : findMarch(host.cpu.level);
  const rest = march === null ? [] : marchFeatures(march, missing);
  const serves =
    march !== null &&
    missing.length <= mostLeftOut &&
    unknownWithout(march, missing).length === 0 &&
    rest.every((feature) => host.features?.has(feature)) &&
    rest.length > (level?.features.length ?? 0);
  if (!serves) return lowerMarch(host, name);
  const text = `list ${listSome(missing)} under the without of march=${name} and build again`;
  return [{ text, remedy: { kind: "without", march: name, features: missing } }];
}

/** The cell that serves this host. */
function lowerMarch({ cpu: { level } }: HostView, march: string): readonly Cure[] {
  if (level === null) return [{ text: "add a cell with a march that this host runs", remedy: null }];
  if (level === march) return [];
  return [{ text: `add a cell with march=${level}`, remedy: { kind: "cell", axes: { march: level } } }];
}

/** What no kernel prints stays unseen in a guest, too: there the image has to do without. */
function exposed(visible: readonly string[], hidden: readonly string[]): Cure {
  const expose =
    visible.length === 0 ? [] : [`in a virtual machine, expose ${listSome(visible, 4)} to the guest`];
  if (hidden.length === 0) return { text: expose.join(), remedy: { kind: "features", features: visible } };
  const without = `list ${listSome(hidden, 4)} under the march's without, where no program uses it`;
  return { text: [...expose, without].join(" and "), remedy: null };
}

function describeLack(
  missing: readonly string[],
  hidden: readonly string[],
  open: readonly string[],
): string {
  const silent = [
    ...(open.length === 0 ? [] : [`${listSome(open, 6)} cannot be proved: these facts do not tell`]),
    ...(hidden.length === 0
      ? []
      : [`${hidden.join(", ")} cannot be proved: no kernel prints ${hidden.length === 1 ? "it" : "them"}`]),
  ];
  if (silent.length === 0) return "which this host's CPU does not have";
  const known = missing.length - hidden.length - open.length;
  return known === 0 ? silent.join("; ") : ["which this host does not show", ...silent].join("; ");
}
