/** Rule: an image with code for AMD needs a visible AMD GPU under a driver, and every such GPU needs code it runs. */

import { kernelSupport } from "../../../hardware/amd-kernels.ts";
import { genericOf, spirvTarget } from "../../../hardware/amd-generics.ts";
import { compareText } from "../../../io/collections.ts";
import { isLabelled } from "../../../facts/host-problems.ts";
import type { RocmRequirement } from "../../../lock/requirement.ts";
import type { AmdGpuView, AmdView } from "../../amd-view.ts";
import type { HostView } from "../../host-view.ts";
import { byHand, listSome, misfit } from "../../misfit.ts";
import { type FitOptions, wantsXnack } from "../../resolve-options.ts";
import { type CodeFit, type Cure, type GpuFit, isMisfit, type Misfit, type Misfits } from "../../verdict.ts";
import { compareCodeFits } from "../nvidia/gpu-code.ts";
import { hideGpus } from "../shared-cures.ts";
import { because, noGpu, noneVisible } from "../gpu-presence.ts";
import { rule } from "../rule.ts";

export const amdRule = rule({
  image: ({ requires: { rocm }, axes: { compute } }) => (rocm == null ? null : { ...rocm, compute }),
  asks: ["amd", "kernel", "unknownGpuFacts", "broken", "otherProblems"],
  answer: (rocm, host, options) =>
    rocm === null || host.unknownGpuFacts.amd.length > 0 ? null : serve(rocm, host, options),
});

type AmdHost = Pick<HostView, "amd" | "broken" | "otherProblems">;

function serve(
  { release, ...rocm }: Omit<AmdCode, "xnack"> & Pick<RocmRequirement, "release">,
  host: AmdHost & Pick<HostView, "kernel">,
  options: FitOptions,
): GpuFit | Misfits {
  const usable = checkAmdPresence(host);
  if (!usable.ok) return [usable];
  const { gpus } = usable.amd;
  const code = checkAmdCode({ ...rocm, xnack: wantsXnack(options) }, gpus);
  if (isMisfit(code)) return [code];
  // Only newer kernels are certain: a distribution may have put the fixes into an older one.
  const isUnsupported = gpus.map(({ target }) => {
    const found = host.kernel && kernelSupport(target, release, host.kernel.parts);
    return found?.isFrom === true && found.word === "no";
  });
  const judged = code.map((fit, at): CodeFit => (isUnsupported[at] ? { ...fit, unsupported: true } : fit));
  return { ok: true, tier: "native", code: judged };
}

/** The GPUs, if at least one is visible and a driver drives them. */
export function checkAmdPresence({
  amd,
  broken,
  otherProblems,
}: AmdHost): { readonly ok: true; readonly amd: AmdView } | Misfit {
  if (amd === null) return noGpu("amd", isLabelled(otherProblems));
  const problems = [...broken, ...otherProblems];
  if (!amd.hasDriver) {
    const device = amd.gpus[0]?.label ?? "an AMD GPU";
    const found = misfit(
      "NO_AMD_DRIVER",
      `needs the amdgpu driver, this host has ${device} without one`,
      "load the driver (modprobe amdgpu), and see dmesg for lines of amdgpu",
    );
    return because(found, "amd", problems);
  }
  if (amd.gpus.length === 0)
    return noneVisible("amd", amd.driver === null ? "amdgpu" : `amdgpu ${amd.driver.text}`, problems);
  return { ok: true, amd };
}

interface AmdCode extends Pick<RocmRequirement, "code"> {
  /** The image's axis `compute`, which a user can pin. */
  readonly compute: string | undefined;
  /** The programs run with xnack on. */
  readonly xnack: boolean;
}

/** One code for each GPU, in the order of the GPUs, or the reason why a GPU has none. */
export function checkAmdCode(image: AmdCode, gpus: readonly AmdGpuView[]): readonly CodeFit[] | Misfit {
  const found = gpus.map((gpu) => ({ gpu, ...codeOf(image, gpu) }));
  const lacking = found.filter(({ fit }) => fit === null);
  // A certain no comes before a doubt.
  const first = lacking.find(({ against }) => !isDoubtful(against)) ?? lacking[0];
  if (first === undefined) return found.flatMap(({ fit }) => fit ?? []);
  return noCode(
    image,
    first,
    lacking.map(({ gpu }) => gpu),
    gpus,
  );
}

/** Code for the GPU's target does not run for one of these: it was compiled for another state of the GPU or of its processes. */
type Against = "sramecc" | "sramecc unknown" | "xnack" | "unknown feature";

interface Found {
  /** null if no code runs. */
  readonly fit: CodeFit | null;
  readonly against: readonly { readonly target: string; readonly why: Against }[];
}

/**
 * A code object runs on its own target, or on the members of its generic target. HIP chooses SPIR-V last.
 * Sources: ROCm/rocm-systems, commit 1b1610fc: hsa-runtime/core/runtime/isa.cpp, Isa::IsCompatible; LLVM 22.1.8, AMDGPUUsage.rst.
 */
function codeOf({ code, xnack }: AmdCode, gpu: AmdGpuView): Found {
  const generic = gpu.target === null ? undefined : genericOf(gpu.target);
  const near = code.flatMap((target) => {
    const [processor = "", ...features] = target.split(":");
    const kind =
      processor === gpu.target
        ? "specific"
        : processor === generic
          ? "family"
          : processor === spirvTarget && generic !== undefined
            ? "spirv"
            : null;
    return kind === null ? [] : [{ target, kind, why: findAgainst(features, gpu, xnack) } as const];
  });
  const fits = near
    .filter(({ why }) => why === null)
    .map(({ target, kind }): CodeFit => ({ target, kind, distance: 0 }))
    .sort(compareCodeFits);
  return {
    fit: fits[0] ?? null,
    against: near
      .flatMap(({ target, why }) => (why === null ? [] : [{ target, why }]))
      .sort((a, b) => compareText(a.target, b.target)),
  };
}

function isDoubtful(against: Found["against"]): boolean {
  return against.some(({ why }) => why === "sramecc unknown");
}

function findAgainst(features: readonly string[], gpu: AmdGpuView, xnack: boolean): Against | null {
  const found = features.map((feature): Against | null => {
    const wanted = feature.endsWith("+");
    switch (feature.slice(0, -1)) {
      case "sramecc":
        return gpu.sramecc === null ? "sramecc unknown" : gpu.sramecc === wanted ? null : "sramecc";
      case "xnack":
        return wanted === (xnack || xnackByItself.has(gpu.target ?? "")) ? null : "xnack";
      default:
        return "unknown feature";
    }
  });
  const against = found.filter((why) => why !== null);
  return against.find((why) => why !== "sramecc unknown") ?? against[0] ?? null;
}

/** On these targets every process has xnack on. On others it must ask (HSA_XNACK=1). Source: rocm-bootstrap 0.3.0. */
const xnackByItself: ReadonlySet<string> = new Set(["gfx1250"]);

function noCode(
  image: AmdCode,
  { gpu, against }: Found & { readonly gpu: AmdGpuView },
  lacking: readonly AmdGpuView[],
  gpus: readonly AmdGpuView[],
): Misfit {
  const { code, compute, xnack } = image;
  const has = code.length === 0 ? "no GPU code" : listSome(code);
  const { label, target } = gpu;
  if (target === null) {
    return misfit(
      "NO_GPU_CODE",
      `has ${has}, the target of ${label} is unknown`,
      "probe the host with a kernel that tells the target, or write gpus[].target into the facts",
    );
  }
  const undecided = against.find(({ why }) => why === "sramecc unknown");
  if (undecided !== undefined) {
    const fact = `amd.gpus[].sramecc of ${label}`;
    return misfit(
      "FACT_UNKNOWN",
      `needs to know ${fact} for its ${undecided.target}: the facts do not have it`,
      [byHand(`add ${fact} to the facts of the host`), addTargets(lacking)],
    );
  }
  const [own] = against;
  const reason = own === undefined ? "" : `; ${own.target} is for ${states[own.why](own.target)}`;
  const pin: readonly Cure[] =
    compute?.includes("xnack+") === true && !xnack && !isMisfit(checkAmdCode({ ...image, xnack: true }, gpus))
      ? [
          {
            text: `pin compute=${compute} where its programs run with HSA_XNACK=1`,
            remedy: { kind: "pins", set: { compute }, drop: [] },
          },
        ]
      : [];
  const named = gpu.override;
  const ignored = named !== undefined && codeOf(image, { ...gpu, target: named }).fit !== null;
  const generic = genericOf(target);
  const cures = [
    ...pin,
    ...(ignored && generic ? [addTarget(generic)] : []),
    addTargets(lacking),
    ...hideGpus(lacking, gpus),
  ];
  const aside = ignored ? `; HSA_OVERRIDE_GFX_VERSION, which names ${named}, is ignored` : "";
  const why = `has ${has}, none of which runs on ${label}, ${target}${reason}${aside}`;
  return { ...misfit("NO_GPU_CODE", why, cures), short: `no code for ${target}` };
}

const states = {
  sramecc: (target) => `cards with sramecc ${stateIn(target, "sramecc")}`,
  "sramecc unknown": (target) => `cards with sramecc ${stateIn(target, "sramecc")}`,
  xnack: (target) => `processes with xnack ${stateIn(target, "xnack")}`,
  "unknown feature": () => "a state that this imgmatch does not know",
} as const satisfies Record<Against, (target: string) => string>;

function stateIn(target: string, feature: string): "on" | "off" {
  return target.includes(`${feature}+`) ? "on" : "off";
}

/** Names every GPU without code: code for one of them would not be enough. */
function addTargets(lacking: readonly AmdGpuView[]): Cure {
  const targets = [...new Set(lacking.flatMap(({ target }) => target ?? []))];
  const [only] = targets;
  if (only !== undefined && targets.length === 1) return addTarget(only);
  const adopted = `adopt an image with code for ${targets.join(" and ")}`;
  return byHand(`add compute=[${targets.join(", ")}] to the image's cell`, adopted);
}

function addTarget(target: string): Cure {
  return {
    text: `add compute=${target} to the image's cell`,
    remedy: { kind: "cell", axes: { compute: target } },
    adopted: `adopt an image with code for ${target}`,
  };
}
