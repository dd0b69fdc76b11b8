/** Tells what a wheel, a library or a folder needs of the system that runs it, and judges a system by that. An image brings its own. */

import { compareVersionTexts } from "../hardware/driver-version.ts";
import type { Libc } from "../host/own-libc.ts";
import type { LibcNeed } from "./elf/dynamic.ts";
import type { InspectedFile } from "./file-inspection.ts";
import { type WheelTags, wheelTagsOf } from "./wheel-tags.ts";

export interface SystemNeeds {
  /** null for anything but a wheel. */
  readonly tags: WheelTags | null;
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
  /** Tags that nobody knows, in words. */
  readonly unknown: readonly string[];
}

export interface SystemReason {
  readonly code: "ARCH_MISMATCH" | typeof libcMismatch;
  readonly message: string;
  readonly fix: string;
  readonly file: string | null;
}

/** The one reason of `check` that no image of a lock has. */
export const libcMismatch = "LIBC_MISMATCH";

const libcFile = /\/(libc\.so\.6|libc-2\.\d+\.so|ld-musl-[\w-]+\.so\.1)$/;

export function systemNeedsOf(subject: string, files: readonly InspectedFile[]): SystemNeeds {
  const tags = wheelTagsOf(subject);
  // A root file system has its own.
  if (files.some(({ path }) => libcFile.test(path))) return { tags, libcs: [] };
  const newest = new Map<string, FileLibc>();
  for (const { path: file, program } of files) {
    if (program?.libc == null) continue;
    const { name, version } = program.libc;
    const known = newest.get(name);
    if (known === undefined || compareVersionTexts(version ?? "0", known.version ?? "0") > 0)
      newest.set(name, { name, version, file });
  }
  return { tags, libcs: [...newest.values()] };
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
    unknown: tagged?.unknown ?? [],
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
