/**
 * Reads what Go's runtime demands of the CPU. A program for GOAMD64=v2 or more, or for GOARM64 with LSE, refuses to start below, and has the
 * sentence with which it refuses (Go 1.26, `src/runtime/asm_amd64.s`, `asm_arm64.s`). The record in `.go.buildinfo` may be stripped.
 */

import { findMarch } from "../../hardware/cpu-marches.ts";
import { type ByteSource, windowBytes, withWindow } from "../byte-source.ts";
import type { Elf, ElfSection } from "../elf/elf.ts";

const sentences =
  /This program can only (?:be run on AMD64 processors with (v[234])|run on ARM64 processors with (LSE))/;
const beginning = Buffer.from("This program can only ");
const longestSentence = 128;

/** Go's runtime asks the CPU at every start. */
export const goSign = "Go's runtime";

/** Features by what demands them; null for a program without Go's runtime. */
export function goDemands(source: ByteSource, elf: Elf): Readonly<Record<string, string>> | null {
  if (!elf.sections.some(({ name }) => name === ".gopclntab" || name === ".go.buildinfo")) return null;
  const data = elf.sections.find(({ name }) => name === ".rodata");
  const [, level, hasLse] = (data && withWindow((window) => sentenceIn(source, data, window))) ?? [];
  const march = level === undefined ? null : findMarch(`x86-64-${level}`);
  const features = hasLse === undefined ? (march?.features ?? []) : ["atomics"];
  const proof = level === undefined ? "Go's runtime for LSE" : `Go's runtime for GOAMD64=${level}`;
  return Object.fromEntries(features.map((feature) => [feature, proof]));
}

function sentenceIn(
  source: ByteSource,
  { offset, size }: ElfSection,
  window: Uint8Array,
): RegExpExecArray | null {
  for (let start = 0; start < size; start += windowBytes - longestSentence) {
    const read = source.readOver(offset + start, window.subarray(0, Math.min(windowBytes, size - start)));
    const bytes = Buffer.from(read.buffer, read.byteOffset, read.length);
    for (let at = bytes.indexOf(beginning); at >= 0; at = bytes.indexOf(beginning, at + 1)) {
      const found = sentences.exec(bytes.toString("latin1", at, at + longestSentence));
      if (found !== null) return found;
    }
  }
  return null;
}
