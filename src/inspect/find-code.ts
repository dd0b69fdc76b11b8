/** The GPU code of a file, of every vendor that is read, in one pass. */

import type { AmdCode } from "./amd/amd-inspection.ts";
import { amdCodeSearch } from "./amd/find-amd-code.ts";
import type { ByteSource } from "./byte-source.ts";
import { placesOf, searchCode } from "./code-search.ts";
import type { Elf } from "./elf/elf.ts";
import { gpuCodeSearch } from "./gpu/find-gpu-code.ts";
import type { GpuCode } from "./gpu/gpu-inspection.ts";

export interface FoundCode {
  /** NVIDIA's; null for a file without any. */
  readonly gpu: GpuCode | null;
  /** AMD's; null for a file without any. */
  readonly amd: AmdCode | null;
}

export function findCode(source: ByteSource, elf: Elf | null): FoundCode {
  const place = placesOf(elf);
  const [gpu, amd] = [gpuCodeSearch(source, place), amdCodeSearch(source, elf, place)];
  searchCode(source, [...gpu.patterns, ...amd.patterns]);
  return { gpu: gpu.result(), amd: amd.result() };
}
