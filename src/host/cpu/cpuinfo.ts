/** Parses `/proc/cpuinfo` of four architectures: vendor, model, and the features that every processor has. */

import { remember } from "../../io/collections.ts";
import type { CpuFacts } from "../../facts/facts.ts";
import armParts from "./arm-parts.json" with { type: "json" };

export interface CpuInfo extends Pick<CpuFacts, "vendor" | "model" | "features"> {
  /** x86 only, and only when all processors agree. */
  readonly family: { readonly family: number; readonly model: number } | null;
}

/** A CPU of which nothing is known. */
export const noCpu: CpuInfo = { vendor: null, model: null, features: null, family: null };

/** Reads the text of `/proc/cpuinfo` as the given architecture prints it; a text of another architecture gives nulls. */
export function parseCpuinfo(text: string, architecture: string): CpuInfo {
  return readers.get(architecture)?.(fields(text)) ?? noCpu;
}

const readers = new Map([
  ["amd64", x86],
  ["arm64", arm64],
  ["ppc64le", power],
  ["riscv64", riscv],
]);

type Fields = ReadonlyMap<string, readonly string[]>;

/** Key → its distinct values, in order. Equal lines of 256 processors are kept once, which also keeps this linear. */
function fields(text: string): Fields {
  const values = new Map<string, Set<string>>();
  for (const line of text.split("\n")) {
    const colon = line.indexOf(":");
    if (colon < 1) continue;
    remember(values, line.slice(0, colon).trim(), () => new Set()).add(line.slice(colon + 1).trim());
  }
  return new Map([...values].map(([key, set]) => [key, [...set]]));
}

function x86(lines: Fields): CpuInfo {
  const features = common(lines.get("flags")?.map(words));
  if (features === null) return noCpu;
  return {
    vendor: single(lines.get("vendor_id")),
    model: joined(lines.get("model name")),
    features,
    family: family(lines),
  };
}

function family(lines: Fields): CpuInfo["family"] {
  const family = single(lines.get("cpu family"));
  const model = single(lines.get("model"));
  if (family === null || model === null || !/^\d+$/.test(family) || !/^\d+$/.test(model)) return null;
  return { family: Number(family), model: Number(model) };
}

/** Kernels before 3.19 print `Features` once for all processors, later ones once each: the intersection serves both. */
function arm64(lines: Fields): CpuInfo {
  const printed = common(lines.get("Features")?.map(words));
  if (printed === null) return noCpu;
  // On a CPU without SVE some kernels print sve2 and other extensions of SVE (guests on Apple's M4).
  const features = printed.includes("sve") ? printed : printed.filter((name) => !name.startsWith("sve"));
  const implementers = lines.get("CPU implementer") ?? [];
  const implementer = single(implementers);
  const parts = lines.get("CPU part") ?? [];
  const known = implementer === null ? undefined : rowOf(armImplementers, implementer);
  const names =
    implementer === null ? [] : parts.map((part) => rowOf(known?.parts ?? {}, part) ?? part).sort();
  return {
    vendor: known?.vendor ?? implementer,
    model: joined(names),
    features,
    family: null,
  };
}

/** `CPU implementer` → the implementer's name, and the names of cores by `CPU part`. */
const armImplementers: Readonly<
  Record<string, { readonly vendor: string; readonly parts?: Readonly<Record<string, string>> }>
> = armParts.implementers;

function rowOf<T>(table: Readonly<Record<string, T>>, printed: string): T | undefined {
  const key = printed.toLowerCase();
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** `cpu : POWER9, altivec supported`: no list of features, so the generations stand for them. */
function power(lines: Fields): CpuInfo {
  const cpus = lines.get("cpu");
  if (cpus === undefined) return noCpu;
  const features = common(cpus.map(powerFeatures));
  return { vendor: "IBM", model: joined(cpus.map(powerModel)), features, family: null };
}

/** Every generation up to the host's own, from POWER7 on: each runs the code of those before it. */
function powerFeatures(cpu: string): readonly string[] {
  const generation = Number(/^POWER(\d{1,2})/.exec(cpu)?.[1] ?? 0);
  return powerGenerations(generation, /\baltivec supported\b/.test(cpu));
}

export function powerGenerations(newest: number, altivec: boolean): readonly string[] {
  const generations = Array.from({ length: Math.max(0, newest - 6) }, (_, index) => `power${index + 7}`);
  return [...generations, ...(altivec ? ["altivec"] : [])];
}

function powerModel(cpu: string): string {
  return cpu.split(",")[0]?.trim() ?? cpu;
}

/** `rv64imafdc_zicsr_zba`: single letters, then names joined by `_` (RISC-V ISA manual, naming conventions). */
function riscv(lines: Fields): CpuInfo {
  const printed = common(lines.get("isa")?.map(riscvExtensions));
  if (printed === null) return noCpu;
  return {
    vendor: single(lines.get("mvendorid")),
    model: joined(lines.get("uarch")),
    features: hasDraftVectors(lines) ? printed.filter((name) => !/^(?:v$|zv)/.test(name)) : printed,
    family: null,
  };
}

/** Cores of T-Head that call the draft 0.7 of vectors `v`: its code is not that of 1.0 (Linux, arch/riscv/kernel/cpufeature.c). */
function hasDraftVectors(lines: Fields): boolean {
  const draft = { mvendorid: "0x5b7", marchid: "0x0", mimpid: "0x0" };
  return Object.entries(draft).every(([key, value]) => lines.get(key)?.includes(value));
}

function riscvExtensions(isa: string): readonly string[] {
  const match = /^rv(?:32|64)([a-z]*)((?:_[a-z0-9]+)*)/.exec(isa.toLowerCase());
  if (match === null) return [];
  const letters = [...(match[1] ?? "")].flatMap((letter) => (letter === "g" ? riscvGeneral : [letter]));
  return [...letters, ...(match[2] ?? "").split("_").filter((name) => name !== "")];
}

const riscvGeneral = ["i", "m", "a", "f", "d", "zicsr", "zifencei"] as const;

function words(line: string): readonly string[] {
  return line.split(/\s+/).filter((word) => word !== "");
}

/** Features in every list, sorted: a hybrid machine has the features of its smallest core. */
function common(lists: readonly (readonly string[])[] | undefined): readonly string[] | null {
  const [first, ...rest] = lists ?? [];
  if (first === undefined) return null;
  const others = rest.map((list) => new Set(list));
  return [...new Set(first)].filter((feature) => others.every((other) => other.has(feature))).sort();
}

function single(values: readonly string[] | undefined): string | null {
  return values?.length === 1 && values[0] !== "" ? (values[0] ?? null) : null;
}

function joined(values: readonly string[] | undefined): string | null {
  const distinct = [...new Set(values)].filter((value) => value !== "");
  return distinct.length === 0 ? null : distinct.join(" + ");
}
