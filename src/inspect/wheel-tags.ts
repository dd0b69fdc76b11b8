/** Reads the tags in the name of a wheel (PyPA specifications, "Binary distribution format", "Platform compatibility tags"). */

import { basename } from "node:path";
import type { LibcNeed } from "./elf/dynamic.ts";

export interface WheelTags {
  /** The Python that it is for: `CPython 3.11`, `CPython >= 3.8`; null for one that any Python 3 takes, and for other Pythons. */
  readonly python: string | null;
  /** One of them is enough. */
  readonly platforms: readonly PlatformTag[];
}

export interface PlatformTag {
  readonly tag: string;
  /** `linux/amd64`, `any`; null for an unknown tag. */
  readonly platform: string | null;
  readonly libc: LibcNeed | null;
}

/** null for a file that is no wheel by its name. */
export function wheelTagsOf(path: string): WheelTags | null {
  const parts = /^(.+)\.whl$/.exec(basename(path))?.[1]?.split("-") ?? [];
  if (parts.length !== 5 && parts.length !== 6) return null;
  const [pythons = "", abis = "", platforms = ""] = parts.slice(-3);
  return { python: pythonOf(pythons, abis), platforms: platforms.split(".").flatMap(platformsOf) };
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
