/** Opened layers by their digest: a base that many images share is opened once. */

import { randomUUID } from "node:crypto";
import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import {
  anyText,
  type Check,
  checked,
  ifPresent,
  list,
  oneOf,
  orNull,
  record,
  shape,
  show,
  truth,
  variants,
  wholeNumber,
} from "../../io/checks.ts";
import { makeFolders } from "../../io/folders.ts";
import { parseJson } from "../../io/json.ts";
import { findWritableByOthers } from "../../io/writable-by-others.ts";
import type { Digest } from "../../oci/digest.ts";
import type { AmdCode, AmdTargetCount } from "../amd/amd-inspection.ts";
import type { Checksums } from "../checksums.ts";
import type { CpuCode, FeatureUse } from "../cpu/cpu-code.ts";
import type { LibcNeed } from "../elf/dynamic.ts";
import type { FileInspection, ProgramFacts } from "../file-inspection.ts";
import type { LoaderRecord } from "../loader/loader-record.ts";
import type { PathSetting } from "../loader/shell-path.ts";
import type { GpuCode, TargetCount, ToolkitCount } from "../gpu/gpu-inspection.ts";
import type { PackageRecords } from "../packages/package-records.ts";
import type { LayerChange, LayerInspection } from "./layer.ts";
import type { OpenedFile } from "./opened-file.ts";

/** Grows with every change of what is found: an older answer is not one. */
export const analyserVersion = 12;

export interface LayerCache {
  find(digest: Digest): Promise<LayerInspection | null>;
  /** A cache that cannot be written is none, and no error. */
  keep(digest: Digest, layer: LayerInspection): Promise<void>;
}

export const noCache: LayerCache = { find: async () => null, keep: async () => {} };

/** `XDG_CACHE_HOME/imgmatch`, by default below `~/.cache`. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>>): string {
  return join(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "imgmatch");
}

const maxUnpacked = 512 * 2 ** 20;

/** A folder that others may write is not read: an entry that leaves out a feature would call an image fit for hosts on which it crashes. */
export function folderCache(folder: string): LayerCache {
  const own = join(folder, `layers-${analyserVersion}`);
  const fileOf = (digest: Digest) => join(own, `${digest.slice("sha256:".length)}.json.gz`);
  return {
    async find(digest) {
      const file = fileOf(digest);
      if (findWritableByOthers([file, own, folder]) !== null) return null;
      try {
        const bytes = await promisify(gunzip)(await readFile(file), { maxOutputLength: maxUnpacked });
        const reading = checked(parseJson(bytes), layerCheck, "it");
        return reading.ok ? reading.value : null;
      } catch {
        // Not there, or not readable: the layer is opened again.
        return null;
      }
    },
    async keep(digest, layer) {
      const file = fileOf(digest);
      const draft = `${file}.${randomUUID()}`;
      try {
        // Whatever the umask: what others may write is not read again.
        makeFolders(own, 0o755);
        await writeFile(draft, await promisify(gzip)(JSON.stringify(layer)), { mode: 0o644 });
        await rename(draft, file);
      } catch {
        await rm(draft, { force: true }).catch(() => {});
      }
    },
  };
}

const number: Check<number> = (value, report) => {
  if (typeof value === "number") return value;
  report("", `expected a number, found ${show(value)}`);
  return undefined;
};

const texts = list(anyText);

const targets = list(shape<TargetCount>({ target: anyText, modules: wholeNumber }));

const gpuCode = shape<GpuCode>({
  modules: wholeNumber,
  bytes: wholeNumber,
  targets,
  relocatable: targets,
  lto: targets,
  unknown: list(shape<GpuCode["unknown"][number]>({ kind: wholeNumber, entries: wholeNumber })),
  compression: record(wholeNumber),
  toolkits: list(
    shape<ToolkitCount>({
      code: oneOf("ptx", "sass"),
      minimum: orNull(anyText),
      maximum: orNull(anyText),
      isZstd: truth,
      entries: wholeNumber,
    }),
  ),
  places: record(wholeNumber),
  damage: texts,
});

const amdCode = shape<AmdCode>({
  modules: wholeNumber,
  bytes: wholeNumber,
  targets: list(
    shape<AmdTargetCount>({ target: anyText, version: orNull(wholeNumber), modules: wholeNumber }),
  ),
  unlinked: wholeNumber,
  unknown: record(wholeNumber),
  places: record(wholeNumber),
  damage: texts,
});

const cpuCode = shape<CpuCode>({
  architecture: oneOf("x86_64", "x86", "aarch64"),
  codeBytes: wholeNumber,
  features: record(shape<FeatureUse>({ instructions: wholeNumber, doubtful: wholeNumber })),
  vexOnly: orNull(number),
  unknownInstructions: wholeNumber,
  asks: texts,
});

const inspection = shape<FileInspection>({
  size: wholeNumber,
  checksums: shape<Checksums>({ md5: orNull(anyText), sha1: orNull(anyText), sha256: anyText }),
  program: orNull(
    shape<ProgramFacts>({
      needed: texts,
      soname: orNull(anyText),
      interpreter: orNull(anyText),
      runPath: ifPresent(anyText),
      machine: anyText,
      neededLevel: orNull(anyText),
      kernel: orNull(anyText),
      branches: ifPresent(texts),
      rocm: ifPresent(anyText),
      libc: orNull(shape<LibcNeed>({ name: oneOf("glibc", "musl"), version: orNull(anyText) })),
    }),
  ),
  cpu: orNull(cpuCode),
  gpu: orNull(gpuCode),
  amd: orNull(amdCode),
  sycl: record(wholeNumber),
  unopened: texts,
});

const opened = shape<OpenedFile>({
  files: record(inspection),
  unopened: record(anyText),
  packages: ifPresent(
    shape<PackageRecords>({
      distribution: texts,
      files: record(record(anyText)),
      unread: ifPresent(anyText),
    }),
  ),
  loader: ifPresent(
    variants<LoaderRecord>("kind", {
      conf: shape<Extract<LoaderRecord, { kind: "conf" }>>({ kind: oneOf("conf"), lines: texts }),
      cache: shape<Extract<LoaderRecord, { kind: "cache" }>>({ kind: oneOf("cache"), libcuda: texts }),
      script: shape<Extract<LoaderRecord, { kind: "script" }>>({
        kind: oneOf("script"),
        settings: list(shape<PathSetting>({ value: anyText, isConditional: truth })),
      }),
    }),
  ),
});

const link = { path: anyText, target: anyText };

const layerCheck = shape<LayerInspection>({
  size: wholeNumber,
  changes: list(
    variants<LayerChange>("kind", {
      file: shape<Extract<LayerChange, { kind: "file" }>>({
        kind: oneOf("file"),
        path: anyText,
        opened: ifPresent(opened),
      }),
      hardlink: shape<Link>({ kind: oneOf("hardlink"), ...link }),
      symlink: shape<Link>({ kind: oneOf("symlink"), ...link }),
      removed: shape<Removal>({ kind: oneOf("removed"), path: anyText }),
      opaque: shape<Removal>({ kind: oneOf("opaque"), path: anyText }),
    }),
  ),
});

type Link = Extract<LayerChange, { kind: "hardlink" | "symlink" }>;
type Removal = Extract<LayerChange, { kind: "removed" | "opaque" }>;
