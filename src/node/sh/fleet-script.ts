/** Writes the resolver of a fleet as one POSIX script: the rules as tables, and sh and awk that read them. */

import { InternalError } from "../../errors.ts";
import { cudaOfDriver, driverBranches } from "../../hardware/cuda-toolkits.ts";
import { classRules, gpuClasses } from "../../hardware/gpu-class.ts";
import { kfdPath } from "../../host/amd/kfd.ts";
import {
  cdiFolders,
  enginePrograms,
  runtimePrograms,
  wslDrivers,
  wslFiles,
  wslLibraries,
} from "../../host/container-runtime.ts";
import { newBranch, newFields, queryFields, vitalFields } from "../../host/nvidia/nvidia-smi.ts";
import { smiTimeoutMs } from "../../host/nvidia/run-nvidia-smi.ts";
import { libraryFolders, tegraChips } from "../../host/nvidia/surroundings.ts";
import { formatLock } from "../../lock/format-lock.ts";
import { byVendor, type GpuVendor } from "../../hardware/gpu-vendors.ts";
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
import { codeNumber } from "./compile-order.ts";
import { requireSafeText, toEre } from "./safe-text.ts";
import { type FleetNeeds, type FleetRows, fleetRows } from "./image-rows.ts";
import { presenceGrids } from "./gpu-tables.ts";
import { amdTargetRows, pciRowsOf } from "./device-rows.ts";
import { compact, partsFor, shrinkAwk } from "./program-text.ts";
import { programTexts } from "./program-texts.ts";
import { brandSteps } from "./require-tables.ts";
import { stateChecks } from "./state-checks.ts";

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
  const title = `${lock.name} ${lock.version}`;
  // Pins that leave only unjudged images are a choice, like --cpu.
  const chosen = images.length > 0 && images.every(([, { requires }]) => sideOf(requires) === "unjudged");
  const wanted = chosen || wantsCpu({ pins });
  const words = { version, title, lockdigest: lockDigest, seconds: String(smiSeconds) };
  const parts = { cpuonly: cpuOnly, script: true, guard: false };
  const { awk, part } = programOf(fleet, lock.repository, { words, parts, pinned: wanted });
  const flags = [...(cpuOnly ? ["--cpu"] : []), ...(requireGpu ? ["--require-gpu"] : [])];
  // The tables are a here-document: an argument has at most 128 KiB, and a string of some awks less.
  const text = [
    `#!/bin/sh\n${heading(version, title, pins, flags)}`,
    compact(part("start.sh")),
    `IMGMATCH_ROOT=$R IMGMATCH_FACTS=$f exec awk '\n${awk}\n' <<'IMGMATCH_TABLES'`,
    ...(await rowsOf(fleet)),
    "IMGMATCH_TABLES\n",
  ].join("\n");
  return { text, lockDigest, images: images.length };
}

interface Purpose {
  /** Values of the program's text besides those of the tables. */
  readonly words: Readonly<Record<string, string>>;
  /** Names of parts that it has or not. */
  readonly parts: Readonly<Record<string, boolean>>;
  readonly pinned: boolean;
}

/** The awk for some images, and the function that gives a file of `program/` as these images need it. */
export function programOf(fleet: FleetRows, repository: string, { words, parts, pinned }: Purpose) {
  const { unasked: _, ...checks } = stateChecks();
  const { vendors, ...own } = fleet.needs;
  const needs = {
    ...own,
    ...byVendor((vendor) => vendors.includes(vendor)),
    ...architecturesOf(fleet),
    ...parts,
  };
  const values = { ...hostWords(), ...checks, ...words };
  const part = (name: string, more: Readonly<Record<string, string>> = {}) =>
    partsFor(programTexts[name] ?? "", needs, { ...values, ...more });
  const files = Object.keys(programTexts).filter((name) => name.endsWith(".awk"));
  const begin = `BEGIN { repository = "${repository}"; steps = "${fleet.order}"; cpucode = ${codeNumber(orderSteps.code.key(null))}; pinned = ${Number(pinned)}; runtime = 4; branches = ",${branches()}," }`;
  const named = files.sort().map((name) => part(name));
  const awk = shrinkAwk([begin, ...nameFunctions(fleet.needs), ...named].join("\n"));
  if (awk.includes("'")) throw new InternalError("the program would end at its own quote");
  return { awk, part };
}

function heading(version: string, title: string, pins: Pins, flags: readonly string[]): string {
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

/** The reader of CPU features has a part for each of these. */
function architecturesOf({ architectures }: FleetRows): Readonly<Record<string, boolean>> {
  const known = ["amd64", "arm64", "ppc64le", "riscv64"];
  return Object.fromEntries(known.map((each) => [each, architectures.has(each)]));
}

/** The words that the readers of the host in awk and sh share with those in TypeScript. */
function hostWords(): Readonly<Record<string, string>> {
  const chips = Object.entries(tegraChips).map(([chip, { compute, name }]) => ({
    chip,
    name,
    number: compute.replace(".", ""),
  }));
  return {
    folders: libraryFolders.map((folder) => folder.slice(1)).join(" "),
    wsl: wslLibraries,
    kfd: kfdPath,
    queryfields: queryFields.join(","),
    newbranch: String(newBranch),
    newfields: newFields.join(","),
    vitalfields: vitalFields.join("|"),
    wsldrivers: wslDrivers,
    wslfiles: wslFiles.join(" "),
    programs: runtimePrograms.join(" "),
    engines: enginePrograms.join(" "),
    cdi: cdiFolders.map((folder) => `"$R"${folder}/*`).join(" "),
    chips: chips
      .map(
        ({ chip, number, name }) =>
          `if (index("\\n" t, "\\nnvidia,${chip}\\n")) { chip = ${number}; chipname = "${name}" }`,
      )
      .join("\n"),
    chipnames: chips
      .map(
        ({ number, name }) =>
          `if (tolower(name) ~ /(^|[^a-z0-9_])${name.toLowerCase()}([^a-z0-9_]|$)/ && tolower(name) ~ /\\(nvgpu\\)|^nvidia thor$|^(nvidia )?tegra/) return ${number}`,
      )
      .join("\n"),
  };
}

/** `535=12.2,…`: the CUDA version of each driver branch. */
function branches(): string {
  return driverBranches
    .flatMap(({ branch }) => {
      const version = cudaOfDriver(String(branch));
      return version === null ? [] : [`${branch}=${version}`];
    })
    .join(",");
}

/** The functions that read class and brand from a product's name, for fleets with such needs. */
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

/** The tables behind the program. */
export async function rowsOf(fleet: FleetRows): Promise<readonly string[]> {
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
