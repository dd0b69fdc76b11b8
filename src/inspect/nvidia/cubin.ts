/**
 * Reads cubins, NVIDIA's machine code for one GPU target: ELF files of machine 190. Sources: LLVM BinaryFormat/ELF.h and openxla/xla
 * (`EF_CUDA_…`); extended by measuring ptxas 10.2 to 13.5, with cuobjdump as the other witness.
 */

import { type ByteSource, memorySource } from "../byte-source.ts";
import { type Elf, elfMachine, readElf } from "../elf/elf.ts";
import { readNotes } from "../elf/notes.ts";
import { u16 } from "../little-endian.ts";

export interface CubinHeader {
  /** The file's format: 7 up to CUDA 12.9, then 8; for sm_100 and later 8 since CUDA 12.8. */
  readonly abi: 7 | 8;
  /** 90 for sm_90. */
  readonly arch: number;
  /** null if the header does not tell; {@link readCubin} does. */
  readonly isSpecific: boolean | null;
  /** `12.9`; null if the header does not tell. */
  readonly toolkit: string | null;
  /** Input of the device linker, which no driver loads. */
  readonly isRelocatable: boolean;
}

export interface Cubin extends CubinHeader {
  readonly isSpecific: boolean;
  readonly suffix: "" | "a" | "f";
  /** No section is beyond its end. */
  readonly isWhole: boolean;
}

const osAbi = { 7: 0x33, 8: 0x41 } as const;
/** sm_100 and later came with ABI 8, where CUDA 12.8 and 12.9 still wrote `a` into the flags. */
const specificFlag = { 7: 0x800, 8: 0x8 } as const;
/** `.nv.compat`: CUDA_ACCELERATOR_TARGET, 1 = `a` (name by cuobjdump -elf). */
const acceleratorTarget = 9;

/** Reads the first 64 bytes. null for other files, and for an unknown format. */
export function readCubinHeader(head: Uint8Array): CubinHeader | null {
  if (head.length < 64) return null;
  const elf = readElf(memorySource(head));
  return elf === null ? null : headerOf(elf);
}

/** Reads the whole file, with its sections and notes. */
export function readCubin(source: ByteSource): Cubin | null {
  const elf = readElf(source);
  const header = elf === null ? null : headerOf(elf);
  if (elf === null || header === null) return null;
  const notes = readNotes(source, elf).filter(({ owner }) => owner === "NVIDIA Corp");
  const info = notes.find(({ type, content }) => type === 1000 && content.length >= 6);
  const command = notes
    .filter(({ type }) => type === 2000)
    .map(({ content }) => Buffer.from(content).toString("latin1"))
    .join(" ");
  const isSpecific = header.isSpecific ?? compatSays(source, elf, acceleratorTarget) === 1;
  // sm_100 and sm_100f differ only in the command that ptxas notes down.
  const isFamily = new RegExp(`-arch[ =]sm_${header.arch}f\\b`).test(command);
  return {
    ...header,
    isSpecific,
    isWhole: elf.damage.length === 0,
    suffix: isSpecific ? "a" : isFamily ? "f" : "",
    toolkit: header.toolkit ?? (info === undefined ? null : toolkitOf(u16(info.content, 4))),
  };
}

function headerOf(elf: Elf): CubinHeader | null {
  if (elf.machine !== elfMachine.cuda) return null;
  const abi = elf.abiVersion;
  if ((abi !== 7 && abi !== 8) || elf.osAbi !== osAbi[abi]) return null;
  const arch = (abi === 7 ? elf.flags : elf.flags >>> 8) & 0xff;
  const isFlagged = (elf.flags & specificFlag[abi]) !== 0;
  return {
    abi,
    arch,
    // CUDA 13 notes `a` in another section: a missing flag proves nothing.
    isSpecific: abi === 7 || isFlagged ? isFlagged : null,
    toolkit: abi === 7 ? toolkitOf(elf.version) : null,
    isRelocatable: elf.type === 1,
  };
}

/** `129` is 12.9. */
function toolkitOf(number: number): string | null {
  return number >= 50 && number < 1000 ? `${Math.floor(number / 10)}.${number % 10}` : null;
}

/** An attribute of `.nv.compat`. Its records have four bytes, and more if the first byte is 4. */
function compatSays(source: ByteSource, elf: Elf, wanted: number): number | null {
  const section = elf.sections.find(({ name }) => name === ".nv.compat");
  if (section === undefined) return null;
  const bytes = source.read(section.offset, Math.min(section.size, 4096));
  for (let at = 0; at + 4 <= bytes.length; ) {
    if (bytes[at + 1] === wanted) return u16(bytes, at + 2);
    at += 4 + (bytes[at] === 4 ? u16(bytes, at + 2) : 0);
  }
  return null;
}
