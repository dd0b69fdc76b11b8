/** Writes the resolver of a fleet as one POSIX script: the rules as tables, and sh and awk that read them. */

import { InternalError } from "../../errors.ts";
import { cudaOfDriver, driverBranches } from "../../hardware/cuda-toolkits.ts";
import { classRules } from "../../hardware/gpu-class.ts";
import { smiTimeoutMs } from "../../host/nvidia/run-nvidia-smi.ts";
import { formatLock } from "../../lock/format-lock.ts";
import type { GpuVendor } from "../../lock/requirement.ts";
import type { Lock } from "../../lock/lock.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { sortedEntries } from "../../io/collections.ts";
import { isEligible } from "../../resolve/check-fit.ts";
import { brandsByName } from "../../resolve/nvidia-view.ts";
import { orderSteps } from "../../resolve/order-steps.ts";
import { type ResolveImageOptions, wantsCpu, wantsXnack } from "../../resolve/resolve-options.ts";
import { sideOf } from "../../resolve/rules/gpu-side.ts";
import { twoKinds } from "../../resolve/resolve-image.ts";
import { type Pins, plainPins, requireKnownAxes } from "../../resolve/pins.ts";
import { codeNumber, gpuClasses } from "./compile-order.ts";
import { requireSafeText, toEre } from "./safe-text.ts";
import { type FleetNeeds, type FleetRows, fleetRows } from "./image-rows.ts";
import { presenceGrids } from "./gpu-tables.ts";
import { amdTargetRows, pciRowsOf } from "./device-rows.ts";
import { cpuCommon, cpuParts } from "./program-cpu.ts";
import { driverFunctions, driverMain, tegraFunctions } from "./program-driver.ts";
import { judgeFunctions, judgeMain, requireFunctions, runtimeFunctions } from "./program-judge.ts";
import { shellFacts, shellHead, shellStart, type ShellText } from "./program-shell.ts";
import { smiFunctions, visibleFunctions } from "./program-smi.ts";
import { compact, shrinkAwk } from "./program-text.ts";
import { brandSteps } from "./require-tables.ts";
import { ownText } from "./vendor-texts.ts";

export interface ScriptOptions extends Pick<ResolveImageOptions, "pins" | "cpuOnly" | "requireGpu"> {
  /** imgmatch's, for `--version`. */
  readonly version: string;
  /** The time limit of nvidia-smi. */
  readonly smiSeconds?: number;
}

export interface FleetScript {
  readonly text: string;
  /** sha256 of the lock as imgmatch writes it. It is also the file's, unless somebody edited the file. */
  readonly lockDigest: string;
  readonly images: number;
}

/**
 * Writes the script. Equal locks, pins and versions give equal bytes. Throws `PIN_UNKNOWN`, `USAGE` for an unknown preference and
 * `EXPORT_UNSAFE` for a lock with values that a script may not hold.
 *
 * @example
 * const { text } = await fleetScript(lock, { version: "0.1.0", pins: await compilePins({ python: "3.12" }) });
 */
export async function fleetScript(lock: Lock, options: ScriptOptions): Promise<FleetScript> {
  const { cpuOnly = false, requireGpu = false, version, smiSeconds = smiTimeoutMs / 1000 } = options;
  const pins = plainPins(options.pins ?? {});
  if (cpuOnly && requireGpu) throw twoKinds();
  requireKnownAxes(pins, lock.images);
  const images = sortedEntries(lock.images).filter(([, image]) =>
    isEligible(image, { pins, cpuOnly, requireGpu }),
  );
  requireSafeText(lock, images);
  const fleet = fleetRows(images, lock.prefer, wantsXnack({ pins }));
  const lockDigest = digestOf(new TextEncoder().encode(formatLock(lock)));
  const shell = { version, title: `${lock.name} ${lock.version}`, lockDigest };
  // Pins that leave only unjudged images are a choice, like --cpu.
  const chosen = images.length > 0 && images.every(([, { requires }]) => sideOf(requires) === "unjudged");
  const wanted = chosen || wantsCpu({ pins });
  const text = [
    `#!/bin/sh\n${heading(shell, pins, [...(cpuOnly ? ["--cpu"] : []), ...(requireGpu ? ["--require-gpu"] : [])])}`,
    compact(shellHead(shell)),
    ...(cpuOnly ? ['f="$f\ncpu"'] : []),
    compact(shellFacts(fleet.needs, ownText(fleet.needs.vendors))),
    shellStart(program(fleet, lock, wanted, smiSeconds), await rowsOf(fleet)).trimStart(),
  ].join("\n");
  return { text, lockDigest, images: images.length };
}

function heading({ version, title }: ShellText, pins: Pins, flags: readonly string[]): string {
  const wishes = [...Object.entries(pins).map(([axis, { text }]) => `${axis}=${text}`), ...flags];
  return [
    `# Prints the image of ${title} that was built for this host. Made by imgmatch ${version}: imgmatch export sh`,
    ...(wishes.length === 0
      ? []
      : [`# pinned: ${wishes.map((wish) => wish.replace(/[^ -~]/g, "?")).join(", ")}`]),
    "# exit code 0: one line on standard output, 3: no image fits, 4: the host is broken, 2: wrong usage",
    "# Compares /proc, /sys and nvidia-smi with the tables at its end; imgmatch's docs/node.md says how to read them.",
  ].join("\n");
}

function program(fleet: FleetRows, lock: Lock, wanted: boolean, smiSeconds: number): string {
  const { needs } = fleet;
  const own = ownText(needs.vendors);
  const parts = Object.entries(cpuParts).filter(([architecture]) => fleet.architectures.has(architecture));
  const text = shrinkAwk(
    [
      `BEGIN { repository = "${lock.repository}"; steps = "${fleet.order}"; cpucode = ${codeNumber(orderSteps.code.key(null))}; pinned = ${Number(wanted)}; runtime = 4; branches = ",${branches()}," }`,
      readRows,
      cpuCommon,
      driverFunctions(needs),
      ...(needs.arm ? [tegraFunctions] : []),
      driverMain(needs),
      smiFunctions(smiSeconds),
      visibleFunctions,
      ...nameFunctions(needs),
      judgeFunctions(needs, own),
      ...(needs.brands ? [requireFunctions, runtimeFunctions] : []),
      own("functions"),
      judgeMain(needs, own).replace("CPU_PARTS", () => parts.map(([, part]) => part(needs)).join("\n")),
    ].join("\n"),
  );
  if (text.includes("'")) throw new InternalError("the program would end at its own quote");
  return text;
}

/** Reads the tables: an image with the `I` row above it, and every other row by letter and number. */
const readRows = String.raw`
  NF == 3 && $1 ~ /^[0-9]/ { n++; plat[n] = plat_; set[n] = set_; ker[n] = ker_; req[n] = req_; rank[n] = rank_ $1; tag[n] = $2; dig[n] = $3; next }
  $1 == "I" { plat_ = $2; set_ = $3; ker_ = $4; req_ = $5; rank_ = $6 }
  { row[$1, ++rows[$1]] = substr($0, 3) }
`;

/** `535=12.2,…`: the CUDA version of each driver branch. */
function branches(): string {
  return driverBranches
    .flatMap(({ branch }) => {
      const version = cudaOfDriver(String(branch));
      return version === null ? [] : [`${branch}=${version}`];
    })
    .join(",");
}

/** The functions that read class and brand from a product's name, for fleets that need them. */
function nameFunctions({ classes, brands }: FleetNeeds): readonly string[] {
  const classOf = [
    'function classof(s) { s = tolower(s); sub(/^nvidia /, "", s); s = trim(s)',
    ...classRules.map(([name, pattern]) => `if (s ~ /${toEre(pattern)}/) return ${gpuClasses.indexOf(name)}`),
    `return ${gpuClasses.indexOf("unknown")} }`,
  ];
  const brandOf = [
    'function brandof(s) { s = tolower(s); sub(/^nvidia[ \\t]+/, "", s)',
    ...brandsByName.map(([pattern, brand]) => `if (s ~ /${toEre(pattern)}/) return "${brand}"`),
    "}",
  ];
  return [...(classes ? classOf : []), ...(brands ? brandOf : [])];
}

/** The meaning of the vendor's device ids. */
const deviceRows: Readonly<Record<GpuVendor, (needs: FleetNeeds) => Promise<readonly string[]>>> = {
  nvidia: async (needs) => (await pciRowsOf(needs)).map((row) => `V ${row}`),
  amd: async () => (await amdTargetRows()).map((row) => `T ${row}`),
};

async function rowsOf(fleet: FleetRows): Promise<readonly string[]> {
  const first = fleet.rows.filter((row) => row.startsWith("D ")).length;
  const more = new Map<string, number>();
  const presence = fleet.hasGpuImages
    ? presenceGrids().map(({ computes, grids: list }) => {
        const numbers = list.map((grid) => {
          if (!more.has(grid)) more.set(grid, first + more.size + 1);
          return more.get(grid);
        });
        return `P ${computes} ${numbers.join(",")}`;
      })
    : [];
  return [
    ...fleet.rows,
    ...[...more.keys()].map((grid) => `D ${grid}`),
    ...presence,
    ...fleet.hidden,
    ...(fleet.needs.brands
      ? brandSteps().map(
          ({ class: name, branch, brand }) => `Y ${gpuClasses.indexOf(name)} ${branch} ${brand ?? "-"}`,
        )
      : []),
    ...(await Promise.all(fleet.needs.vendors.map((vendor) => deviceRows[vendor](fleet.needs)))).flat(),
  ];
}
