/** Rule: the image has code for every visible GPU: machine code, or PTX that the driver understands. */

import { type ComputeCapability, formatComputeCapability } from "../../../hardware/compute-capability.ts";
import { cudaFloor, cudaOfDriver, findToolkit, toolkitCompiles } from "../../../hardware/cuda-toolkits.ts";
import { type GpuTarget, targetRunsOn } from "../../../hardware/gpu-target.ts";
import { type CudaCode, cudaOfPtx, parseCudaCode, partsOfCode } from "../../../hardware/ptx-versions.ts";
import {
  compareVersionTexts,
  compareVersions,
  driverBranch,
  minorOf,
  parseVersion,
} from "../../../hardware/driver-version.ts";
import { gpuArchitectures, isDroppedBy } from "../../../hardware/gpu-architectures.ts";
import type { CudaRequirement } from "../../../lock/requirement.ts";
import { compareText } from "../../../io/collections.ts";
import type { GpuView } from "../../nvidia-view.ts";
import { byHand, misfit, withCures } from "../../misfit.ts";
import { codeCures, type GpusOfHost } from "./code-cures.ts";
import { jetPack7Branch, lastDriverBranch } from "./driver-cures.ts";
import { type CodeFit, codeKinds, type Cure, type DriverService, type Misfit } from "../../verdict.ts";

/**
 * One code for each GPU, in their order, or the reason why one has none. An image without GPU code of its own uses the toolkit's libraries at
 * most: it runs none, on GPUs that the toolkit has code for.
 *
 * @param toolkit empty if unknown: then none has dropped a card
 */
export function checkGpuCode(
  { code, toolkit }: Pick<CudaRequirement, "code" | "toolkit">,
  host: GpusOfHost,
  service: DriverService | null,
): readonly CodeFit[] | Misfit {
  const { gpus } = host;
  const targets = code.flatMap((text) => {
    const target = parseCudaCode(text);
    return target === null ? [] : [{ ...target, text }];
  });
  const image = { targets, toolkit };
  const fits: CodeFit[] = [];
  let ptxTooNew: Misfit | null = null;
  const isServed = (gpu: GpuView) =>
    code.length === 0 ? hasLibrariesFor(gpu, toolkit) : runnableCode(image, gpu).length > 0;
  const isUsed = (gpu: GpuView) =>
    code.length === 0 ? isServed(gpu) : usableCode(image, gpu, service).length > 0;
  const curesFor = (has: (gpu: GpuView) => boolean) =>
    codeCures(toolkit, { lacking: gpus.filter((gpu) => !has(gpu)), served: gpus.filter(isUsed) }, host);
  for (const gpu of gpus) {
    const [best] = usableCode(image, gpu, service);
    if (best !== undefined) {
      fits.push(best);
      continue;
    }
    const runnable = runnableCode(image, gpu);
    if (runnable[0] === undefined) {
      if (isServed(gpu)) continue;
      return noCode(code, image, gpu, host, () => curesFor(isServed));
    } else ptxTooNew ??= tooNew(runnable, image, gpu, host, service, () => curesFor(isUsed));
  }
  return ptxTooNew ?? fits;
}

export function compareCodeFits(a: CodeFit, b: CodeFit): number {
  return (
    codeKinds.indexOf(a.kind) - codeKinds.indexOf(b.kind) ||
    a.distance - b.distance ||
    compareText(a.target, b.target)
  );
}

interface ImageCode {
  /** Each with its entry in the image's code. */
  readonly targets: readonly (CudaCode & { readonly text: string })[];
  readonly toolkit: string;
}

/** Without the PTX that the driver does not understand. */
function usableCode(image: ImageCode, gpu: GpuView, service: DriverService | null): readonly CodeFit[] {
  const targets = image.targets.filter(({ kind, isa }) => {
    const cuda = kind === "ptx" ? cudaOfPtx(isa, image.toolkit) : null;
    return cuda === null || service === null || service.understands(cuda);
  });
  return runnableCode({ ...image, targets }, gpu);
}

/** None for a card that the toolkit's major has dropped: the libraries of the toolkit have nothing for the card, whatever other files hold. */
function runnableCode({ targets, toolkit }: ImageCode, { compute }: GpuView): readonly CodeFit[] {
  if (compute === null || isDroppedBy(toolkit, compute)) return [];
  return targets
    .filter((target) => targetRunsOn(target, compute))
    .map(
      (target): CodeFit => ({
        target: target.text,
        kind: target.kind === "ptx" ? "ptx" : kinds[target.suffix],
        distance: minorsBetween(compute, target.compute),
      }),
    )
    .sort(compareCodeFits);
}

/** The toolkit compiles code that the card runs, so the toolkit's libraries have some too. */
function hasLibrariesFor({ compute }: GpuView, toolkit: string): boolean {
  if (compute === null || isDroppedBy(toolkit, compute)) return false;
  return gpuArchitectures.some((built) => {
    const target = { kind: "sass", compute: built.compute, suffix: "" } as const;
    return targetRunsOn(target, compute) && toolkitCompiles({ minor: minorOf(toolkit) }, target) === true;
  });
}

const kinds = { a: "specific", f: "family", "": "sass" } as const satisfies Record<
  GpuTarget["suffix"],
  CodeFit["kind"]
>;

function noCode(
  code: readonly string[],
  { targets, toolkit }: ImageCode,
  { label, compute }: GpuView,
  { driver, driverScale }: GpusOfHost,
  cures: () => readonly Cure[],
): Misfit {
  const has = code.length === 0 ? "no GPU code" : code.join(", ");
  if (compute === null) {
    return misfit(
      "NO_GPU_CODE",
      `has ${has}, the compute capability of ${label} is unknown`,
      "probe the host with a driver that tells the compute capability, or write gpus[].compute into the facts",
    );
  }
  const number = formatComputeCapability(compute);
  const card = `${label}, compute capability ${number}`;
  const why = isDroppedBy(toolkit, compute)
    ? `is of CUDA ${toolkit}, which has dropped ${card}`
    : code.length === 0
      ? `is of CUDA ${toolkit}, whose libraries have no code for ${card}`
      : `has ${has}, none of which runs on ${card}`;
  // nvlink 13.0 refuses sm_80 for both, nvlink 13.3 and 13.5 link it, and reports of JetPack 7.2 differ.
  const isJetPack7 = driverScale === "l4t" && driver != null && driverBranch(driver) >= jetPack7Branch;
  if (isJetPack7 && code.includes("sm_80") && (number === "8.7" || number === "8.8"))
    return withCures(
      misfit(
        "FACT_UNKNOWN",
        `has ${has}: whether sm_80 runs on ${card} under JetPack 7 is not known, as reports differ`,
        [],
      ),
      () => [byHand("try the image there"), ...cures()],
    );
  const away = targets.map((target) => Math.abs(minorsBetween(compute, target.compute)));
  const distance = away.length === 0 ? undefined : Math.min(...away);
  const short = `no code for compute capability ${number}`;
  return withCures({ ...misfit("NO_GPU_CODE", why, [], distance), short }, cures);
}

/** A major counts as ten. */
function minorsBetween(a: ComputeCapability, b: ComputeCapability): number {
  return 10 * (a.major - b.major) + a.minor - b.minor;
}

/** @param runnable PTX alone, of which the oldest asks least of a driver */
function tooNew(
  runnable: readonly CodeFit[],
  image: ImageCode,
  { label, compute }: GpuView,
  { gpus, driver, driverScale }: GpusOfHost,
  service: DriverService | null,
  cures: () => readonly Cure[],
): Misfit {
  const { toolkit } = image;
  const [best = { text: "PTX", cuda: toolkit }] = runnable
    .map((fit) => {
      const { target, isa } = partsOfCode(fit.target);
      const cuda = cudaOfPtx(isa, toolkit) ?? toolkit;
      return {
        text: `${target} of ${isa === null ? `CUDA ${cuda}` : `PTX ISA ${isa} (CUDA ${cuda})`}`,
        cuda,
      };
    })
    .sort((a, b) => compareVersionTexts(minorOf(a.cuda), minorOf(b.cuda)));
  const least = driverScale === "linux" && driver ? cudaFloor(driver.text) : null;
  const byFloor = least === null ? null : `${least}, by the floor: its branch is unlisted`;
  const offered = service?.cuda?.text ?? byFloor ?? "an unknown version";
  const number = compute === null ? "unknown" : formatComputeCapability(compute);
  return misfit(
    "PTX_TOO_NEW",
    `${label}, compute capability ${number}, would run ${best.text}, this host's driver understands PTX up to CUDA ${offered}`,
    () => [
      ...(someDriverOffers(minorOf(best.cuda), gpus) ? [driverOffering(best.cuda, offered)] : []),
      ...(compute === null ? [] : cures()),
    ],
  );
}

/** Some driver offers this CUDA version and still drives every GPU, as far as the tables know. */
function someDriverOffers(cuda: string, gpus: readonly GpuView[]): boolean {
  const last = lastDriverBranch(gpus);
  const offered = parseVersion(last === null ? "" : (cudaOfDriver(String(last.branch)) ?? ""));
  const wanted = parseVersion(cuda);
  return offered === null || wanted === null || compareVersions(offered, wanted) >= 0;
}

function driverOffering(toolkit: string, offered: string): Cure {
  const text = `update the driver to one that offers CUDA: ${offered} → >= ${minorOf(toolkit)}`;
  const version = findToolkit(toolkit)?.minimumDriver ?? null;
  return { text, remedy: version === null ? null : { kind: "driver", version, atLeast: true } };
}
