/** Opened images as data: files with the code that a test says they have. */

import { createHash } from "node:crypto";
import type { Requirement } from "../../../src/lock/requirement.ts";
import { findMarch } from "../../../src/hardware/cpu-marches.ts";
import { auditImage, type AuditRequest } from "../../../src/inspect/audit/audit-image.ts";
import type { AmdCode } from "../../../src/inspect/amd/amd-inspection.ts";
import { withoutLinks } from "../../../src/inspect/cpu/cpu-code.ts";
import type { LibcNeed } from "../../../src/inspect/elf/dynamic.ts";
import type { GpuCode, TargetCount, ToolkitCount } from "../../../src/inspect/nvidia/gpu-inspection.ts";
import type { LayerChange } from "../../../src/inspect/image/layer.ts";
import type { OpenedImage } from "../../../src/inspect/image/open-layers.ts";
import type { FileInspection } from "../../../src/inspect/file-inspection.ts";
import type { PackageRecords } from "../../../src/inspect/packages/unchanged-files.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";

export interface MadeProgram {
  readonly path: string;
  /** Linux names of the features that its instructions are of. */
  readonly uses?: readonly string[];
  /** The same among bytes that may be data. */
  readonly doubtful?: readonly string[];
  readonly asks?: readonly string[];
  readonly targets?: readonly string[];
  readonly relocatable?: readonly TargetCount[];
  readonly toolkit?: string;
  readonly isZstd?: boolean;
  readonly unknownKind?: number;
  readonly unopened?: readonly string[];
  readonly machine?: string;
  readonly neededLevel?: string;
  readonly needed?: readonly string[];
  readonly libc?: LibcNeed;
  readonly gpuBytes?: number;
  /** Bytes of its GPU code by target. */
  readonly sizes?: GpuCode["sizes"];
  readonly size?: number;
  /** false: its GPU code is data that the file loads itself. */
  readonly registers?: boolean;
  /** Code beside the registered one, that the file loads itself. */
  readonly carried?: readonly string[];
  readonly amd?: Partial<AmdCode>;
  /** Release of the AMD compiler that made it. */
  readonly rocm?: string;
  readonly sycl?: FileInspection["sycl"];
  /** Its code for CPUs was left out, as where the GPU alone is asked for. */
  readonly isUnread?: boolean;
  /** Tells it from another file of the same path. */
  readonly content?: string;
}

export function madeFile(program: MadeProgram): LayerChange {
  const path = program.path.replace(/^\//, "");
  return { kind: "file", path, opened: { files: { "": inspectionOf(program) }, unopened: {} } };
}

export function databaseFile(path: string, packages: PackageRecords): LayerChange {
  return { kind: "file", path, opened: { files: {}, unopened: {}, packages } };
}

export const sitePackages = "/usr/lib/python3.12/site-packages";

/** A package of Python with these files, their paths within `sitePackages`, and its `RECORD`. */
export function madePackage(name: string, ...programs: readonly MadeProgram[]): readonly LayerChange[] {
  const installed = {
    name,
    version: "1",
    folder: sitePackages.slice(1),
    files: programs.map(({ path }) => path),
  };
  return [
    ...programs.map((program) => madeFile({ ...program, path: `${sitePackages}/${program.path}` })),
    databaseFile(`${installed.folder}/${name}-1.dist-info/RECORD`, {
      distribution: [],
      files: {},
      installed,
    }),
  ];
}

/** `/etc/ld.so.conf` with these lines. */
export function ldConf(...lines: readonly string[]): LayerChange {
  const loader = { kind: "conf", lines } as const;
  return { kind: "file", path: "etc/ld.so.conf", opened: { files: {}, unopened: {}, loader } };
}

export function unopenedFile(path: string, reason = "encrypted"): LayerChange {
  return { kind: "file", path, opened: { files: {}, unopened: { "": reason } } };
}

export function md5Of(content: string): string {
  return createHash("md5").update(content).digest("hex");
}

function inspectionOf(program: MadeProgram): FileInspection {
  const {
    uses = [],
    doubtful = [],
    asks = [],
    unopened = [],
    machine = "x86_64",
    content = program.path,
  } = program;
  return {
    size: program.size ?? 1000,
    checksums: {
      md5: md5Of(content),
      sha1: createHash("sha1").update(content).digest("hex"),
      sha256: createHash("sha256").update(content).digest("hex"),
    },
    program: {
      machine,
      needed: program.needed ?? [],
      soname: null,
      interpreter: null,
      neededLevel: program.neededLevel ?? null,
      kernel: null,
      libc: program.libc ?? null,
      ...(program.rocm === undefined ? {} : { rocm: program.rocm }),
    },
    cpu:
      program.isUnread || (machine !== "x86_64" && machine !== "aarch64")
        ? null
        : {
            architecture: machine,
            codeBytes: 1000,
            features: Object.fromEntries([
              ...[...uses].sort().map((name) => [name, { instructions: 3, doubtful: 0 }]),
              ...doubtful.map((name) => [name, { instructions: 0, doubtful: 3 }]),
            ]),
            evidence: null,
            unknownInstructions: 0,
            asks,
            ...withoutLinks,
          },
    gpu: program.targets === undefined && program.unknownKind === undefined ? null : gpuCode(program),
    amd: program.amd === undefined ? null : { ...noAmdCode, ...program.amd },
    sycl: program.sycl ?? {},
    unopened,
  };
}

const noAmdCode: AmdCode = {
  modules: 1,
  bytes: 1000,
  sizes: {},
  targets: [],
  unlinked: 0,
  unknown: {},
  places: {},
  damage: [],
};

function gpuCode({
  targets = [],
  relocatable = [],
  toolkit,
  isZstd = false,
  unknownKind,
  gpuBytes = 1000,
  sizes = {},
  registers = true,
  carried = [],
}: MadeProgram): GpuCode {
  const made: ToolkitCount[] =
    toolkit === undefined ? [] : [{ code: "sass", minimum: toolkit, maximum: toolkit, isZstd, entries: 1 }];
  return {
    modules: 1 + relocatable.reduce((sum, { modules }) => sum + modules, 0),
    bytes: gpuBytes,
    sizes,
    targets: targets.map((target) => ({ target, modules: 1 })),
    registers,
    embedded: carried.map((target) => ({ target, modules: 1 })),
    relocatable,
    lto: [],
    unknown: unknownKind === undefined ? [] : [{ kind: unknownKind, entries: 1 }],
    compression: {},
    toolkits: made,
    places: {},
    damage: [],
  };
}

export function madeImage(...layers: readonly (readonly LayerChange[])[]): OpenedImage {
  return {
    source: "engine",
    name: "app:1",
    digest: null,
    platform: "linux/amd64",
    layers: layers.map((changes) => ({ changes, size: 0, digest: null })),
    diffIds: layers.map((_, index) => digestOf(Buffer.from(String(index)))),
  };
}

export function declared(march: string, cuda: Requirement["cuda"] = null): Requirement {
  return { cpu: { march, features: findMarch(march)?.features ?? [] }, cuda };
}

export const cuda12 = (code: readonly string[], more: Partial<NonNullable<Requirement["cuda"]>> = {}) => ({
  toolkit: "12.8.1",
  code,
  driver: { mode: "host", minimum: "525.60.13" } as const,
  ...more,
});

export function audit(image: OpenedImage, requires: Requirement, more: Partial<AuditRequest> = {}) {
  return auditImage(image, { base: { kind: "none" }, requires, floor: [], platform: "linux/amd64", ...more });
}
