/**
 * What the compilers know about each `-march` (`-mcpu` for Arm and POWER cores), in Linux names.
 *
 * `required`: the compiler may emit it from plain code. `optional`: implied by the option, so that sources may use it behind
 * its macro, but never emitted by itself. `hidden…`: the same for features that Linux 6.12 prints under no name.
 * A row is the union of what gcc and clang say, as an image rarely says which of them built it.
 */

import table from "./cpu-marches.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface MarchRow {
  readonly name: string;
  readonly vendor: string;
  /** x86: the level whose `required` comes in addition. */
  readonly base?: string;
  /** Arm: which option takes the name, and the compiler's own spelling. */
  readonly option?: string;
  readonly compilerName?: string;
  readonly required: string;
  readonly hiddenRequired?: string;
  readonly optional: string;
  readonly hiddenOptional?: string;
  /** First version that accepts it: `0` is every version, null is not known. */
  readonly gcc: string | null;
  readonly clang: string | null;
  /** Point releases of older majors that accept it too. */
  readonly gccBackports?: readonly string[];
  /** The version comes from memory: an older compiler may accept it as well. */
  readonly gccUnverified?: true;
  readonly clangUnverified?: true;
  readonly source: readonly SourceKey[];
  /** x86: `cpu family` and `model` of /proc/cpuinfo. */
  readonly family?: number;
  readonly models?: readonly number[];
  /** Arm: `CPU implementer` and `CPU part` of /proc/cpuinfo. */
  readonly implementer?: string;
  readonly part?: string;
  readonly note?: string;
}

/** The psABI levels first, each after the one it contains, then by name. */
export const x86Rows = readRows<MarchRow>(table.x86);

/** The architecture levels first, then by name. */
export const armRows = readRows<MarchRow>(table.arm);

/**
 * POWER: /proc/cpuinfo has no flags, so generations stand in for features, each of them containing the older ones.
 */
export const powerRows = readRows<MarchRow>(table.power);

/**
 * RISC-V: the names of `isa` in /proc/cpuinfo. Left out are what a longer name contains (`zaamo` of `a`, `zve64d` of `v`), and
 * zicsr and zifencei, which Linux takes for granted and older kernels do not print (arch/riscv/kernel/cpufeature.c, riscv_fill_hwcap).
 */
export const riscvRows = readRows<MarchRow>(table.riscv);
