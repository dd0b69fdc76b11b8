/**
 * Rule: NVIDIA's forward-compatibility package in an image serves if it is loaded: a newer libcuda on an older kernel driver. First the image and
 * the host's container toolkit decide which libcuda is loaded. Only then it counts whether that one works.
 */

import { packageCures, type PackageCures } from "../../../facts/toolkit-cures.ts";
import { compatAllowsClass, findCompatPackage } from "../../../hardware/forward-compat.ts";
import {
  type CudaVersion,
  compareDriverVersions,
  compareMinor,
  type DriverVersion,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
} from "../../../hardware/driver-version.ts";
import type { DriverRequirement, Requirement } from "../../../lock/requirement.ts";
import type { NvidiaView } from "../../nvidia-view.ts";
import { byHand, misfit } from "../../misfit.ts";
import type { Cure, DriverService, Fit, Misfit } from "../../verdict.ts";
import { otherDriver, updateDriver, updateJetPack } from "./driver-cures.ts";

type CompatRequirement = Extract<DriverRequirement, { mode: "compat" }>;

/** The libcuda that a program gets; `either` if nobody can say. */
type Loaded = "package" | "host" | "either";

/** The values that the rule compares, read once. */
interface Pair {
  readonly compat: CompatRequirement;
  readonly packaged: DriverVersion;
  readonly packageCuda: CudaVersion;
  readonly driver: DriverVersion;
  readonly toolkit: CudaVersion;
  readonly nvidia: NvidiaView;
}

/** `alone` is the service of the host's driver without the package. */
export function checkCompatPackage(
  compat: CompatRequirement,
  toolkit: CudaVersion,
  nvidia: NvidiaView,
  alone: DriverService | Misfit,
): DriverService | Misfit {
  const { driver } = nvidia;
  const packaged = parseDriverVersion(compat.package);
  const packageCuda = parseCudaVersion(compat.cuda);
  if (driver === null || packaged === null || packageCuda === null) {
    return misfit(
      "COMPAT_NOT_SUPPORTED",
      `its forward-compatibility package ${compat.package} (CUDA ${compat.cuda}) cannot be compared with driver ${nvidia.driverText ?? "unknown"}`,
      "correct requires.cuda.driver in the lock",
    );
  }
  const pair = { compat, packaged, packageCuda, driver, toolkit, nvidia };
  switch (loadedOf(pair)) {
    case "host":
      return alone.ok ? alone : withoutPackage(pair, alone);
    case "package":
      return byPackage(pair, alone);
    case "either":
      return byEither(pair, alone);
  }
}

/**
 * First the library that the image's own search finds, then the changes by the toolkit. `LD_LIBRARY_PATH` comes before all that a runtime adds
 * (ld.so(8)). The toolkit never takes a package that is not newer than the driver (libnvidia-container, `src/cli/compat_mode.c`). Of two in
 * one folder ldconfig takes the newer.
 */
function loadedOf(pair: Pair): Loaded {
  const { onPath } = pair.compat;
  if (onPath === "always") return "package";
  const added = isAdded(pair);
  if (added === true) return "package";
  const own = { cache: pair.nvidia.compat.hostFirst === true ? "host" : "either", never: "host" } as const;
  const found = onPath === undefined ? "either" : own[onPath];
  return added === null ? "either" : found;
}

/** The container toolkit puts the package before the host's library; null if nobody can say. */
function isAdded({ compat, packaged, driver, nvidia, packageCuda }: Pair): boolean | null {
  const { driverScale, cuda } = nvidia;
  const { adds } = nvidia.compat;
  // Elsewhere no toolkit looks into its folder, or takes its number, 1.1, for a newer driver's.
  if (compat.for === "jetson" && !isJetson(nvidia)) return false;
  if (driverScale !== "linux") {
    const isNewer = cuda !== null && compareMinor(cuda, packageCuda) >= 0;
    return isNewer || adds === "never" ? false : null;
  }
  if (compareDriverVersions(driver, packaged) >= 0) return false;
  const branch = driverBranch(driver);
  switch (adds) {
    case "never":
      return false;
    case "newer":
      return driverBranch(packaged) > branch;
    case "listed": {
      // The note lists the package's own branch too.
      if (driverBranch(packaged) === branch) return true;
      const listed = compat.listed ?? findCompatPackage(compat.cuda)?.enforced ?? null;
      return listed?.includes(String(branch)) ?? (compat.branches.includes(String(branch)) ? true : null);
    }
    case null:
      return null;
  }
}

/** The package's libcuda is loaded. */
function byPackage(pair: Pair, alone: DriverService | Misfit): DriverService | Misfit {
  const { packaged, packageCuda, driver, nvidia } = pair;
  if (nvidia.driverScale === "linux" && compareDriverVersions(driver, packaged) === 0) return alone;
  const refused = refuseCompat(pair, alone);
  if (refused !== null) return refused;
  // "Unlike minor-version compatibility, restrictions on PTX do not apply": the package brings its own PTX compiler.
  const understands = (wanted: string) => {
    const parsed = parseCudaVersion(wanted);
    return parsed !== null && compareMinor(packageCuda, parsed) >= 0;
  };
  return { ok: true, tier: "forward", understands, cuda: packageCuda };
}

/** Nobody can say which libcuda is loaded: only what both serve is sure. */
function byEither(pair: Pair, alone: DriverService | Misfit): DriverService | Misfit {
  const packaged = byPackage(pair, alone);
  if (alone.ok && packaged.ok)
    return {
      ok: true,
      tier: packaged.tier,
      understands: (wanted) => alone.understands(wanted) && packaged.understands(wanted),
      cuda: alone.cuda,
    };
  const { compat, driver, nvidia } = pair;
  // CDI writes the host's folders into ld.so.conf.d: names and older files decide which come first.
  const isKept = compat.onPath === "cache" && nvidia.compat.hostFirst === false;
  if (!packaged.ok && (!alone.ok || isKept)) return packaged;
  const isHosts =
    compat.onPath !== undefined && (nvidia.compat.adds === null || nvidia.compat.hostFirst === null);
  const works = alone.ok ? "without" : "with";
  const message = `runs on driver ${driver.text} only ${works} its forward-compatibility package ${compat.package}`;
  const adopted = "adopt the image again, so that imgmatch looks at its loader's path";
  if (!isHosts)
    return misfit("COMPAT_NOT_SUPPORTED", `${message}, and whether it is loaded is not known`, [
      alone.ok ? leaveOut : toolkitCure(pair, "load"),
      ...(compat.onPath === undefined ? [byHand("build the image again", adopted)] : []),
    ]);
  return misfit(
    "FACT_UNKNOWN",
    `${message}, and whether this host's container toolkit loads it is not known`,
    [
      byHand("run imgmatch probe --json on the host and pass its output"),
      byHand("add runtime.toolkit and runtime.compat to its facts"),
      alone.ok ? leaveOut : toolkitCure(pair, "load"),
    ],
  );
}

const leaveOut = byHand(
  "take the package out of the image, or its folder off the path of its loader",
  "adopt an image that leaves the package off the path of its loader",
);

function toolkitCure({ nvidia }: Pair, what: keyof PackageCures): Cure {
  const { [what]: how } = nvidia.compat.cures ?? packageCures({ nvidia: null });
  return byHand(`have the container toolkit ${what} it: ${how}`);
}

/** The host's driver does not serve, and the package is not loaded. */
function withoutPackage(pair: Pair, alone: Misfit): Misfit {
  const { compat } = pair;
  if (refuseCompat(pair, alone) !== null) return alone;
  const message = `${alone.message}, and nothing loads its forward-compatibility package ${compat.package}`;
  return misfit(alone.code, message, [toolkitCure(pair, "load"), ...alone.cures], alone.distance);
}

/** Error 803 or 804 of libcuda. Source: CUDA Compatibility, "Forward Compatibility". */
function refuseCompat(pair: Pair, alone: DriverService | Misfit): Misfit | null {
  const { compat, packaged, packageCuda, driver, toolkit, nvidia } = pair;
  const no = (why: string, fix: string | readonly Cure[]) =>
    misfit("COMPAT_NOT_SUPPORTED", `its forward-compatibility package ${compat.package} ${why}`, fix);
  const isOwn = compat.onPath === "always" || compat.onPath === "cache";
  // The cheapest cure first: without the package the host's own driver may serve.
  const without = alone.ok ? [isOwn ? leaveOut : toolkitCure(pair, "leave")] : [];
  if (compat.for === "jetson" || isJetson(nvidia)) {
    const why = whyNotOnJetson(pair);
    const jetPack = byHand(updateJetPack(nvidia, `CUDA >= ${toolkit.text}`));
    const cures = alone.ok ? without : isJetson(nvidia) ? [jetPack] : alone.cures;
    return why === null ? null : no(why, cures);
  }
  const update = isOwn
    ? [otherDriver(`install that driver: ${driver.text} → ${compat.package}`, compat.package)]
    : updateDriver(compat.package, nvidia, ", which needs no package");
  if (nvidia.driverScale === "wsl") {
    return no(
      `works on Linux drivers only, this host is WSL with driver ${driver.text}`,
      alone.ok
        ? without
        : `update the Windows driver until it offers CUDA: ${nvidia.cuda?.text ?? "unknown"} → >= ${packageCuda.text}`,
    );
  }
  if (nvidia.driverScale === "linux" && compareDriverVersions(driver, packaged) > 0) {
    return no(
      `is loaded before the newer driver ${driver.text} of this host, which then fails with error 803`,
      [leaveOut],
    );
  }
  const branch = String(driverBranch(driver));
  const isListed = compat.branches.includes(branch) || driverBranch(driver) === driverBranch(packaged);
  if (!isListed) {
    return no(
      `works on driver branches ${compat.branches.join(", ")}, this host has ${driver.text} (branch ${branch})`,
      [...without, ...update],
    );
  }
  if ((packageCuda.parts[0] ?? 0) < (toolkit.parts[0] ?? 0)) {
    return no(
      `brings CUDA ${packageCuda.text}, which is too old for toolkit ${toolkit.text}`,
      "rebuild the image with the package of its own toolkit",
    );
  }
  const refused = nvidia.gpus.find((gpu) => compatAllowsClass(gpu.class) !== true);
  if (refused === undefined) return null;
  const kind = refused.class === "unknown" ? "of an unknown class" : `a ${refused.class} product`;
  return no(`works on data-center and workstation GPUs, ${refused.label} is ${kind}`, [
    ...without,
    ...update,
  ]);
}

/** A Jetson whose GPU is not seen is one too. */
function isJetson({ driverScale, gpus }: NvidiaView): boolean {
  return driverScale === "l4t" && gpus.every((gpu) => gpu.class === "tegra");
}

/** A package for Jetson calls its drivers, and serves the toolkits up to its own. Source: CUDA for Tegra application note. */
function whyNotOnJetson({ compat, driver, packageCuda, toolkit, nvidia }: Pair): string | null {
  if (!isJetson(nvidia)) return "is one for Jetson, and this host is none";
  if (compat.for === undefined) return "is one for servers, and this host is a Jetson";
  if (!compat.branches.includes(String(driverBranch(driver))))
    return `works with driver ${compat.branches.join(", ") || "unknown"} of JetPack, this host has ${driver.text}`;
  return compareMinor(packageCuda, toolkit) < 0
    ? `brings CUDA ${packageCuda.text}, which is too old for toolkit ${toolkit.text}`
    : null;
}

/** The version of the package that may be what serves a fit, as the driver is older; null if the driver serves. */
export function packageOf({ tier }: Pick<Fit, "tier">, { cuda }: Requirement): string | null {
  return tier === "forward" && cuda?.driver.mode === "compat" ? cuda.driver.package : null;
}
