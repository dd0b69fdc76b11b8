/** Opens one file: the CPUs and GPUs that the code is for, and the parts that could not be read. */

import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { amdCodeSearch } from "./amd/find-amd-code.ts";
import { readArchiveOfCode } from "./amd/kpack.ts";
import { compilerRelease } from "./amd/rocm-release.ts";
import type { ByteSource } from "./byte-source.ts";
import { checksumsOf } from "./checksums.ts";
import { type CodePattern, placesOf, searchCode } from "./code-search.ts";
import { type ArmRefusals, arm64Refusals } from "./cpu/arm64-refusals.ts";
import { readArm64Code } from "./cpu/arm64-code.ts";
import { answeringExports, askingFunctions, importedFunctions } from "./cpu/asking-links.ts";
import type { CpuCode } from "./cpu/cpu-code.ts";
import { type ChosenCode, chosenCode } from "./cpu/chosen-code.ts";
import { isAtomicsQuestion, isOwnQuestion } from "./cpu/own-questions.ts";
import { readDispatchSigns } from "./cpu/dispatch.ts";
import { fixedPointers } from "./cpu/fixed-pointers.ts";
import { readFunctionRanges } from "./cpu/function-ranges.ts";
import { goRefusals } from "./cpu/go-refusals.ts";
import { goDemands, goSign } from "./cpu/go-runtime.ts";
import { codeRegions } from "./cpu/regions.ts";
import { refusedBy, type Refusals } from "./cpu/refusals.ts";
import { noStart, startCodeOf } from "./cpu/start-code.ts";
import { readX86Code, type X86Code } from "./cpu/x86-code.ts";
import { readDynamic } from "./elf/dynamic.ts";
import {
  codeSegments,
  type Elf,
  elfMachine,
  elfType,
  isGpuMachine,
  offsetOfAddress,
  readElf,
  segmentType,
} from "./elf/elf.ts";
import { hiddenPayloads } from "./elf/hidden-payloads.ts";
import { forwardBranches, readGnuNotes, readNotes } from "./elf/notes.ts";
import {
  codeKeys,
  codesIn,
  type FileInspection,
  type GpuCodes,
  headBytes,
  noCode,
  unreadForCpu,
} from "./file-inspection.ts";
import { gpuCodeSearch } from "./nvidia/find-gpu-code.ts";
import { createGpuTally } from "./nvidia/gpu-inspection.ts";
import { readPtxEntry } from "./nvidia/ptx-text.ts";

const machineNames: Readonly<Record<number, string>> = {
  [elfMachine.x86]: "x86",
  [elfMachine.arm]: "arm",
  [elfMachine.x86_64]: "x86_64",
  [elfMachine.aarch64]: "aarch64",
  [elfMachine.riscv]: "riscv",
};

/**
 * null for a file that no loader and no driver takes: text, pictures, objects without GPU code. A file without a known beginning is
 * searched for GPU code.
 *
 * @param gpuAlone leaves code for CPUs unread: its needs are unknown
 */
export async function inspectFile(
  source: ByteSource,
  mayBePackaged: boolean,
  gpuAlone = false,
): Promise<FileInspection | null> {
  const head = source.read(0, headBytes);
  const elf = readElf(source);
  if (elf !== null && !isGpuMachine(elf.machine)) return inspectElf(source, elf, mayBePackaged, gpuAlone);
  const archive = readArchiveOfCode(source);
  const whole = archive === null ? ptxCode(head, source.size) : { ...noCode, amd: archive };
  return codeAlone(source, elf, mayBePackaged, whole ?? (await findCode(source, elf)));
}

/** A file that has GPU code and is no program; null without GPU code. */
async function codeAlone(
  source: ByteSource,
  elf: Elf | null,
  mayBePackaged: boolean,
  found: GpuCodes,
): Promise<FileInspection | null> {
  if (codesIn(found).length === 0) return null;
  return {
    size: source.size,
    checksums: await checksumsOf(source, mayBePackaged),
    program: null,
    cpu: null,
    ...found,
    sycl: {},
    unopened: [...(elf?.damage ?? []), ...damageOf(found)],
  };
}

type CodeSearch = (
  source: ByteSource,
  elf: Elf | null,
  place: (at: number) => string,
) => { readonly patterns: readonly CodePattern[]; readonly result: () => GpuCodes["gpu"] | GpuCodes["amd"] };

/** The search for each vendor's code in a file. */
const searches: Readonly<Record<GpuVendor, CodeSearch>> = {
  nvidia: (source, _, place) => gpuCodeSearch(source, place),
  amd: amdCodeSearch,
};

/** The GPU code of a file, of all vendors, in one pass. */
export async function findCode(source: ByteSource, elf: Elf | null): Promise<GpuCodes> {
  const place = placesOf(elf);
  const all = gpuVendors.map((vendor) => ({
    key: codeKeys[vendor],
    ...searches[vendor](source, elf, place),
  }));
  await searchCode(
    source,
    all.flatMap(({ patterns }) => patterns),
  );
  return { ...noCode, ...Object.fromEntries(all.map(({ key, result }) => [key, result()])) };
}

function damageOf(codes: GpuCodes): readonly string[] {
  return codesIn(codes).flatMap(({ damage }) => damage);
}

async function inspectElf(
  source: ByteSource,
  elf: Elf,
  mayBePackaged: boolean,
  gpuAlone: boolean,
): Promise<FileInspection | null> {
  const isLoaded = elf.type === elfType.executable || elf.type === elfType.shared;
  const code = await findCode(source, elf);
  if (!isLoaded && elf.damage.length === 0) return codeAlone(source, elf, mayBePackaged, code);
  const unopened = [...elf.damage, ...damageOf(code)];
  unopened.push(...hiddenPayloads(source, elf));
  const cpu = gpuAlone || elf.damage.length > 0 ? null : await cpuCode(source, elf);
  if (cpu === null && !gpuAlone && elf.damage.length === 0)
    unopened.push(`code for ${machineName(elf)}${unreadForCpu.machine}`);
  if (cpu !== null && cpu.unknownInstructions > 0)
    unopened.push(`${cpu.unknownInstructions}${unreadForCpu.instructions}`);
  const notes = readNotes(source, elf);
  const branches = forwardBranches(notes);
  const release = compilerRelease(source, elf);
  return {
    size: source.size,
    checksums: await checksumsOf(source, mayBePackaged),
    program: {
      ...{ machine: machineName(elf), ...readDynamic(source, elf), ...readGnuNotes(notes) },
      ...(branches === null ? {} : { branches }),
      ...(release === null ? {} : { rocm: release }),
    },
    cpu,
    ...code,
    sycl: syclCode(elf),
    unopened,
  };
}

const syclSection = "__CLANG_OFFLOAD_BUNDLE__sycl-";

/** The names of the sections tell the kind. */
function syclCode({ sections }: Elf): FileInspection["sycl"] {
  const found = sections.filter(({ name, size }) => name.startsWith(syclSection) && size > 0);
  return Object.fromEntries(found.map(({ name, size }) => [name.slice(syclSection.length), size]));
}

async function cpuCode(source: ByteSource, elf: Elf): Promise<CpuCode | null> {
  const functions = readFunctionRanges(source, elf);
  const pointers = fixedPointers(source, elf);
  const isX86 = elf.machine === elfMachine.x86_64;
  const chosen = chosenCode(source, elf, functions, pointers, readDispatchSigns(source, elf));
  const found = await decodeCode(source, elf, functions, chosen);
  if (found === null) return null;
  const { code, asksIn } = found;
  const go = goDemands(source, elf);
  // Of AArch64 nobody knows which functions of a static program ask.
  const ofCode = isX86 || chosen.signs.every((sign) => !isOwnQuestion(sign)) ? code.asks : [];
  const signs = [...new Set([...ofCode, ...chosen.signs, ...(go === null ? [] : [goSign])])].sort();
  const arm = isX86
    ? null
    : armStart(elf, signs, code, () => arm64Refusals(source, elf, functions, pointers));
  const asks = arm?.asks ?? signs;
  const hasFeatures = Object.values(code.features).some(({ instructions }) => instructions > 0);
  const asking = askingFunctions(source, elf, functions, pointers, asksIn);
  // A program without features may ask, and refuse.
  const mayHaveStart = hasFeatures || asks.length > 0;
  const start =
    arm === null && mayHaveStart
      ? startCodeOf(source, elf, functions, pointers, asking)
      : (arm?.start ?? null);
  return {
    ...code,
    asks,
    ...(go === null
      ? { start }
      : // Go's compiler writes SSE beside AVX, so that encodings say nothing.
        {
          evidence: isX86 ? null : code.evidence,
          start: goStart(start, go, goRefusals(source, elf, pointers)),
        }),
    answersBy: answeringExports(source, elf, functions, asking),
    calls: asks.every(isOwnQuestion) && hasFeatures ? importedFunctions(source, elf) : [],
  };
}

/** Go's compiler takes nothing for granted but what its runtime demands. */
function goStart(
  start: CpuCode["start"],
  demands: Readonly<Record<string, string>>,
  { refuses, mayRefuse, isWhole }: Refusals,
): CpuCode["start"] {
  const needed = { ...start?.needed, ...refusedBy(refuses), ...demands };
  return { ...noStart, needed, mayRefuse: mayRefuse.filter((name) => !(name in needed)), isWhole };
}

/** A program for AArch64 that asks nothing has nobody who could choose: all of its code may run. Of others, and of libraries, only refusals are told. `asks` has also what the code shows. */
function armStart(
  elf: Elf,
  asks: readonly string[],
  { features }: CpuCode,
  refusals: () => ArmRefusals,
): Pick<CpuCode, "asks" | "start"> {
  const isProgram =
    elf.type === elfType.executable || elf.segments.some(({ type }) => type === segmentType.interpreter);
  if (elf.machine !== elfMachine.aarch64 || (!isProgram && asks.every(isOwnQuestion)))
    return { asks, start: null };
  const { refuses, mayRefuse, isWhole, asks: seen } = refusals();
  const signs = [...new Set([...asks, ...seen])].sort();
  const isAsking = !isProgram || !signs.every(isAtomicsQuestion);
  if (isAsking && isWhole && refuses.length + mayRefuse.length === 0) return { asks: signs, start: null };
  const used = Object.keys(features).filter((name) => (features[name]?.instructions ?? 0) > 0);
  const reached = isAsking ? [] : used;
  const start = { ...noStart, needed: refusedBy(refuses), mayRefuse, reached, unchosen: reached, isWhole };
  return { asks: signs, start };
}

async function decodeCode(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  chosen: ChosenCode,
): Promise<X86Code | null> {
  const regions = () => codeRegions(elf, functions);
  const begin = offsetOfAddress(elf, elf.entry);
  if (elf.machine === elfMachine.x86_64)
    return readX86Code(source, regions(), 64, codeSegments(elf), begin, chosen.has);
  if (elf.machine === elfMachine.x86) return readX86Code(source, regions(), 32, codeSegments(elf), begin);
  if (elf.machine !== elfMachine.aarch64) return null;
  return { code: await readArm64Code(source, regions(), chosen.has), asksIn: [] };
}

/** A file that is PTX as a whole, which nothing else is in. */
function ptxCode(head: Uint8Array, bytes: number): GpuCodes | null {
  const entry = readPtxEntry(head);
  if (entry === null) return null;
  const tally = createGpuTally();
  tally.add({ place: "file", bytes, entries: [entry] });
  return { ...noCode, gpu: tally.result() };
}

function machineName(elf: Elf): string {
  return machineNames[elf.machine] ?? `machine ${elf.machine}`;
}
