/** Collects GPU modules to load into a driver: one for each target, out of an image's files or made here. */

import { cudaToolkits, supportedTargets, toolkitCompiles } from "../../hardware/cuda-toolkits.ts";
import { formatGpuTarget, type GpuTarget, parseGpuTarget } from "../../hardware/gpu-target.ts";
import type { ByteSource } from "../byte-source.ts";
import { placesOf, searchCode } from "../code-search.ts";
import { readElf } from "../elf/elf.ts";
import { headBytes } from "../file-inspection.ts";
import { closeSpooled, type SpooledFile, sourceOf } from "../image/spool.ts";
import { alone, type FileInspector } from "../workers/file-inspector.ts";
import { type FoundPiece, gpuCodeSearch } from "./find-gpu-code.ts";
import { createGpuTally, relocatablePlace, type ToolkitCount } from "./gpu-inspection.ts";
import { compareTargets } from "../../hardware/gpu-target.ts";
import { ptxOfToolkit } from "../../hardware/ptx-versions.ts";
import { readPtxEntry } from "./ptx-text.ts";

/** The part of a module that a verdict reads. */
export interface ModuleFacts {
  /** `sm_90a`, `compute_90` */
  readonly target: string;
  /** The PTX ISA; of machine code its format, 1.7 or 1.8. */
  readonly version: string;
  /** The toolkit that made it; null if it is unknown. */
  readonly made: Omit<ToolkitCount, "entries"> | null;
}

export interface LoadableModule extends ModuleFacts {
  readonly bytes: Uint8Array;
}

/** The smallest module of each target is enough: the driver's verdict does not depend on what it computes. */
const maxModule = 4 * 2 ** 20;
/** Real images have some dozen, of some kilobytes each. */
const maxModules = 256;
const maxBytes = 128 * 2 ** 20;

/** One module for each target and version. */
export function collectModules() {
  const found = new Map<string, LoadableModule>();
  const targets = new Set<string>();
  let bytes = 0;
  const onPiece = ({ place, entry, size, read }: FoundPiece) => {
    const facts = factsOf(entry);
    if (facts === null || place === relocatablePlace) return;
    targets.add(facts.target);
    const key = `${facts.target} ${facts.version}`;
    const before = found.get(key)?.bytes.length;
    if (read === null || size === 0 || size >= (before ?? maxModule)) return;
    if (before === undefined && (found.size === maxModules || bytes + size > maxBytes)) return;
    const module = { ...facts, bytes: Uint8Array.from(read()) };
    bytes += module.bytes.length - (before ?? 0);
    found.set(key, module);
  };
  const open = async (file: SpooledFile) => {
    try {
      await searchFile(sourceOf(file), onPiece);
    } finally {
      closeSpooled(file);
    }
    return null;
  };
  const modules = (): readonly LoadableModule[] =>
    [...found.values()].sort((a, b) => compareTargets(a.target, b.target));
  return {
    /** Takes the place of the inspector of files, and finds only modules. */
    inspector: { inspect: (file) => alone(open(file)) } satisfies FileInspector,
    modules,
    /** Targets whose code is too large, or never stands by itself. */
    leftOut: () => {
      const taken = new Set(modules().map(({ target }) => target));
      return [...targets].filter((target) => !taken.has(target)).sort(compareTargets);
    },
  };
}

async function searchFile(source: ByteSource, onPiece: (piece: FoundPiece) => void): Promise<void> {
  const entry = readPtxEntry(source.read(0, headBytes));
  if (entry === null)
    await searchCode(source, gpuCodeSearch(source, placesOf(readElf(source)), onPiece).patterns);
  else onPiece({ place: "file", entry, size: source.size, read: () => source.read(0, source.size) });
}

/** null for code that no driver loads. */
function factsOf(entry: FoundPiece["entry"]): ModuleFacts | null {
  const tally = createGpuTally();
  tally.add({ place: "", bytes: 0, entries: [entry] });
  const { targets = [], toolkits = [] } = tally.result() ?? {};
  const [target] = targets;
  if (target === undefined) return null;
  const [made = null] = toolkits.map(({ entries: _, ...each }) => each);
  return { target: target.target, version: `${entry.version.major}.${entry.version.minor}`, made };
}

/** Empty kernels in PTX: one for each target, by the target's first toolkit, and one for each PTX ISA, for the toolkit's oldest target. */
export function carriedModules(): readonly LoadableModule[] {
  const modules = new Map<string, LoadableModule>();
  const targets = new Set<string>();
  for (const toolkit of cudaToolkits) {
    const isa = ptxOfToolkit(toolkit.minor);
    const { sm = [], specific = [] } = supportedTargets(toolkit.minor) ?? {};
    const compiled = [...sm, ...specific]
      .flatMap((name) => parseGpuTarget(`compute_${name}`) ?? [])
      .filter((target) => isa !== null && toolkitCompiles(toolkit, target) === true);
    for (const target of compiled) {
      const name = formatGpuTarget(target);
      const module = targets.has(name) && target !== compiled[0] ? null : emptyKernel(isa ?? "", target);
      targets.add(name);
      if (module !== null) modules.set(`${name} ${isa}`, module);
    }
  }
  return [...modules.values()].sort((a, b) => compareTargets(a.target, b.target));
}

function emptyKernel(isa: string, target: GpuTarget): LoadableModule | null {
  const name = formatGpuTarget({ ...target, kind: "sass" });
  const bytes = Buffer.from(
    `.version ${isa}\n.target ${name}\n.address_size 64\n\n.visible .entry imgmatch()\n{\n\tret;\n}\n`,
  );
  const entry = readPtxEntry(bytes);
  const facts = entry && factsOf(entry);
  return facts && { ...facts, bytes };
}
