/** Tells what a wheel, a library or a folder needs of its system, and judges a system by that. An image brings its own. */

import { basename } from "node:path";
import { compareVersionTexts } from "../hardware/driver-version.ts";
import type { Libc } from "../host/own-libc.ts";
import { type WheelVariant, wheelVariant } from "./claims/wheel-variant.ts";
import type { ClaimFile } from "./claims/claim-files.ts";
import type { LibcNeed } from "./elf/dynamic.ts";
import type { InspectedFile } from "./file-inspection.ts";

export interface SystemNeeds {
  /** null for anything but a wheel, and for a wheel whose name is not understood. */
  readonly tags: WheelTags | null;
  /** null for anything but a variant wheel, and for the variant of every host. */
  readonly variant: WheelVariant | null;
  /** What nobody knows of its name, in words. */
  readonly unknown: readonly string[];
  /** The C libraries that its files are for, each with the file that needs the newest. A folder may have files for both. */
  readonly libcs: readonly FileLibc[];
}

interface FileLibc extends LibcNeed {
  readonly file: string | null;
}

/** The answer of one system. */
export interface SystemFit {
  readonly reasons: readonly SystemReason[];
  /** Needs of which nobody knows whether they are met: `CPython 3.11`, `glibc >= 2.28`. */
  readonly conditions: readonly string[];
  /** Tags and labels that nobody knows, in words. */
  readonly unknown: readonly string[];
}

export interface SystemReason {
  readonly code: "ARCH_MISMATCH" | typeof libcMismatch | typeof variantMismatch;
  readonly message: string;
  readonly fix: string;
  readonly file: string | null;
}

/** The reasons of `check` that no image of a lock has. */
export const libcMismatch = "LIBC_MISMATCH";
export const variantMismatch = "VARIANT_MISMATCH";

/** True for a root file system, which has a C library of its own. */
export function bringsLibc(files: readonly InspectedFile[]): boolean {
  return files.some(({ path }) => libcFile.test(path));
}

const libcFile = /\/(libc\.so\.6|libc-2\.\d+\.so|ld-musl-[\w-]+\.so\.1)$/;

export function systemNeedsOf(
  subject: string,
  files: readonly InspectedFile[],
  claims: ReadonlyMap<string, ClaimFile>,
): SystemNeeds {
  const { label, ...named } = readWheelName(subject);
  const newest = new Map<string, FileLibc>();
  for (const { path: file, program } of files) {
    if (program?.libc == null) continue;
    const { name, version } = program.libc;
    const known = newest.get(name);
    if (known === undefined || compareVersionTexts(version ?? "0", known.version ?? "0") > 0)
      newest.set(name, { name, version, file });
  }
  return { ...named, variant: wheelVariant(subject, label, claims), libcs: [...newest.values()] };
}

/**
 * @param needs null for an image
 * @param own null for a system whose C library is unknown
 */
export function judgeSystem(needs: SystemNeeds | null, platform: string, own: Libc | null): SystemFit {
  if (needs === null) return { reasons: [], conditions: [], unknown: [] };
  const tagged = needs.tags === null ? null : tagsFor(needs.tags, platform);
  const ways = [...(tagged?.libcs ?? []), ...needs.libcs];
  const libcs = ofEach(ways, -1);
  const python = needs.tags?.python ?? null;
  const judged = judgeLibcs(libcs, own);
  return {
    reasons: [...(tagged?.reasons ?? []), ...judged.reasons],
    conditions: [...(python === null ? [] : [python]), ...judged.conditions],
    unknown: [...(tagged?.unknown ?? []), ...needs.unknown],
  };
}

function tagsFor({ platforms }: WheelTags, platform: string) {
  const own = platforms.filter((tag) => tag.platform === platform || tag.platform === "any");
  const strange = platforms.filter((tag) => tag.platform === null);
  const none = { libcs: [], reasons: [], unknown: [] };
  if (own.length === 0) {
    const tags = [...new Set(platforms.map(({ tag }) => tag))].join(", ");
    if (strange.length > 0) return { ...none, unknown: [`whether its tag ${tags} is for this host`] };
    const named = [...new Set(platforms.map((each) => each.platform))].join(" and ");
    const message = `is tagged for ${named} (${tags}), this host is ${platform}`;
    const fix = `take the wheel for ${platform}`;
    return { ...none, reasons: [{ code: "ARCH_MISMATCH", message, fix, file: null } as const] };
  }
  // One tag is enough: the oldest of each library counts, and none where a tag asks for none.
  const libcs = own.flatMap(({ libc }) => (libc === null ? [] : [{ ...libc, file: null }]));
  return { ...none, libcs: libcs.length < own.length ? [] : ofEach(libcs, 0) };
}

/** Of each library the oldest, at 0, or the newest, at -1. */
function ofEach(libcs: readonly FileLibc[], place: 0 | -1): readonly FileLibc[] {
  const sorted = [...libcs].sort((a, b) => compareVersionTexts(a.version ?? "0", b.version ?? "0"));
  return ["glibc", "musl"].flatMap((wanted) => sorted.filter(({ name }) => name === wanted).at(place) ?? []);
}

/** Of files for both libraries a system takes its own. */
function judgeLibcs(libcs: readonly FileLibc[], own: Libc | null): Omit<SystemFit, "unknown"> {
  const need = libcs.find(({ name }) => name === own?.name) ?? libcs[0];
  if (need === undefined) return { reasons: [], conditions: [] };
  const text = [need.name, ...(need.version === null ? [] : [">=", need.version])].join(" ");
  if (own === null || (own.name === need.name && own.version === null))
    return { reasons: [], conditions: own !== null && need.version === null ? [] : [text] };
  const isMet = own.name === need.name && compareVersionTexts(need.version ?? "0", own.version ?? "0") <= 0;
  if (isMet) return { reasons: [], conditions: [] };
  const has = [own.name, own.version].filter(Boolean).join(" ");
  const message = `needs ${text}, this system has ${has}`;
  const fix = `run it on a system with ${text}, or in an image with ${text}`;
  return { reasons: [{ code: libcMismatch, message, fix, file: need.file }], conditions: [] };
}

export interface WheelTags {
  /** The Python that it is for: `CPython 3.11`, `CPython >= 3.8`; null for one that any Python 3 takes, and for other Pythons. */
  readonly python: string | null;
  /** One of them is enough. */
  readonly platforms: readonly PlatformTag[];
}

interface PlatformTag {
  readonly tag: string;
  /** `linux/amd64`, `any`; null for an unknown tag. */
  readonly platform: string | null;
  readonly libc: LibcNeed | null;
}

/**
 * Name, version, build, Python, ABI, platforms, label (PyPA specifications, "Binary distribution format"; PEP 825). Only the tag of a build
 * begins with a digit.
 */
const wheelName = /^[^-]+-[^-]+(?:-\d[^-]*)?-([a-z][^-]*)-([^-]+)-([^-]+?)(?:-([0-9a-z_.]+))?\.whl$/;

/** The tags in the name of a wheel (PyPA specifications, "Platform compatibility tags"). */
export function readWheelName(
  path: string,
): Pick<SystemNeeds, "tags" | "unknown"> & { readonly label: string | null } {
  const name = basename(path);
  const none = { tags: null, label: null };
  if (!name.endsWith(".whl")) return { ...none, unknown: [] };
  const [whole, pythons = "", abis = "", platforms = "", label = null] = wheelName.exec(name) ?? [];
  if (whole === undefined)
    return { ...none, unknown: ["whether it is for this host: its name is no wheel's"] };
  return {
    tags: { python: pythonOf(pythons, abis), platforms: platforms.split(".").flatMap(platformsOf) },
    label,
    unknown: [],
  };
}

function pythonOf(pythons: string, abis: string): string | null {
  const version = /^cp(3)(\d+)$/.exec(pythons);
  if (version === null || abis === "none") return null;
  return `CPython ${abis.split(".").includes("abi3") ? ">= " : ""}${version[1]}.${version[2]}`;
}

const architectures: Readonly<Record<string, readonly string[]>> = {
  x86_64: ["amd64"],
  amd64: ["amd64"],
  i386: ["386"],
  i686: ["386"],
  "32": ["386"],
  aarch64: ["arm64"],
  arm64: ["arm64"],
  armv7l: ["arm/v7"],
  ppc64le: ["ppc64le"],
  s390x: ["s390x"],
  riscv64: ["riscv64"],
  universal2: ["amd64", "arm64"],
};

/** The glibc of the names before `manylinux_2_28` (PEP 513, 571, 599). */
const oldNames: Readonly<Record<string, string>> = { "1": "2.5", "2010": "2.12", "2014": "2.17" };

function platformsOf(tag: string): readonly PlatformTag[] {
  if (tag === "any") return [{ tag, platform: "any", libc: null }];
  const [, system = "", before = "", architecture = ""] =
    /^(manylinux|musllinux|linux|macosx|win)(|\d+|(?:_\d+){2})_?(x86_64|[a-z][a-z0-9]*|32)$/.exec(tag) ?? [];
  const version = oldNames[before] ?? before.split("_").filter(Boolean).join(".");
  const os = { macosx: "darwin", win: "windows" }[system] ?? "linux";
  const found = architectures[architecture]?.map((each) => ({
    tag,
    platform: `${os}/${each}`,
    libc: libcOf(system, version),
  }));
  return found ?? [{ tag, platform: null, libc: null }];
}

function libcOf(system: string, version: string): LibcNeed | null {
  if (system === "manylinux") return { name: "glibc", version };
  return system === "musllinux" ? { name: "musl", version } : null;
}
