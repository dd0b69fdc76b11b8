/**
 * Reads a code object for AMD GPUs by its ELF header. Source: LLVM 22.1.8, llvm/docs/AMDGPUUsage.rst, "Code Object" (OS ABI,
 * ABI versions, `e_flags`); every target and feature bit agreed with objects of clang 22.
 */

import { amdArchitectures, amdGenerics } from "../../hardware/amd-architectures.ts";
import { spirvTarget } from "../../hardware/amd-generics.ts";
import { elfMachine, elfType, isElf } from "../elf/elf.ts";
import { u16, u32 } from "../little-endian.ts";

/** One piece of a bundle, or a whole file. */
export type AmdImage =
  /** `gfx90a:sramecc+:xnack-`, or `gfx11-generic` with the version of this generic target; `amdgcnspirv` for SPIR-V. */
  | { readonly kind: "code"; readonly target: string; readonly version: number | null }
  /** LLVM IR and objects for the device linker, which no GPU runs. */
  | { readonly kind: "unlinked" }
  | { readonly kind: "unknown"; readonly what: string };

/** Enough bytes to tell an image. */
export const imageHead = 64;

const hsa = 64;
/** `EI_ABIVERSION` of code object V3 to V6; V2 names its target elsewhere, and no compiler of today writes it. */
const abi = { v3: 1, v6: 4 } as const;

/** The keys are lowest bytes of `e_flags`. */
const processors: ReadonlyMap<number, Processor> = new Map(
  [...amdArchitectures, ...amdGenerics].map((row) => [Number(row.machine), row]),
);

interface Processor {
  readonly name: string;
  readonly xnack?: boolean | null;
  readonly sramecc?: boolean | null;
}

const generics: ReadonlySet<string> = new Set(amdGenerics.map(({ name }) => name));

/** null for a file that is no ELF file for AMD GPUs. A value that no table has is unknown. */
export function readCodeObject(head: Uint8Array): AmdImage | null {
  if (head.length < imageHead || !isElf(head) || head[4] !== 2 || head[5] !== 1) return null;
  if (u16(head, 18) !== elfMachine.amdgpu) return null;
  const [osAbi, version, flags] = [head[7], head[8] ?? 0, u32(head, 48)];
  if (osAbi !== hsa) return { kind: "unknown", what: `OS ABI ${osAbi}` };
  if (u16(head, 16) === elfType.relocatable) return { kind: "unlinked" };
  if (version < abi.v3 || version > abi.v6) return { kind: "unknown", what: `ABI version ${version}` };
  const processor = processors.get(flags & 0xff);
  if (processor === undefined)
    return { kind: "unknown", what: `machine value 0x${(flags & 0xff).toString(16)}` };
  return {
    kind: "code",
    target: [processor.name, ...featuresOf(flags, version, processor)].join(":"),
    version: generics.has(processor.name) ? flags >>> 24 : null,
  };
}

const off = 2;
const on = 3;

/** Sorted, as the compiler writes them. A feature is left out if its state does not matter, or the processor has none. */
function featuresOf(flags: number, version: number, { sramecc, xnack }: Processor): readonly string[] {
  // V3 has one bit for "on". Without it the feature is off, if the processor has it.
  const old = (bit: number, has: boolean | null | undefined) =>
    (flags & bit) !== 0 ? on : has === true ? off : 0;
  const states =
    version === abi.v3
      ? { sramecc: old(0x200, sramecc), xnack: old(0x100, xnack) }
      : { sramecc: (flags >>> 10) & 3, xnack: (flags >>> 8) & 3 };
  return Object.entries(states).flatMap(([name, state]) =>
    state === on ? [`${name}+`] : state === off ? [`${name}-`] : [],
  );
}

/**
 * Reads an image by its first bytes. `name` is its id in the bundle: it tells whose GPUs SPIR-V is for, but never the target of machine
 * code. null for an image that is not for AMD GPUs.
 */
export function readAmdImage(head: Uint8Array, name: string): AmdImage | null {
  const object = readCodeObject(head);
  if (object !== null) return object;
  if (!/(^|-)amd/.test(name)) return null;
  const magic = u32(head, 0);
  if (magic === spirvMagic) return { kind: "code", target: spirvTarget, version: null };
  if (magic === bitcodeMagic) return { kind: "unlinked" };
  return { kind: "unknown", what: `bytes ${Buffer.from(head.subarray(0, 4)).toString("hex")}` };
}

const spirvMagic = 0x07230203;
/** `BC` 0xC0DE. */
const bitcodeMagic = 0xdec04342;
