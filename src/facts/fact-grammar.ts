/**
 * The form of each fact, whatever its source: a file, this machine, the labels of a node. Facts become labels, arguments and lines on
 * terminals, so none is free text. A fact in another form is unknown.
 */

import { findMarch } from "../hardware/cpu-marches.ts";
import { isRecord } from "../io/json.ts";
import { isPrintable, printable } from "../printable.ts";
import type { HostFacts } from "./facts.ts";

export interface FactForm {
  readonly test: (text: string) => boolean;
  /** For messages: `a uuid such as "GPU-…"`. */
  readonly expected: string;
}

function form(pattern: RegExp, expected: string): FactForm {
  return { test: (text) => pattern.test(text), expected };
}

export const factGrammar = {
  /** GOOS/GOARCH, with the variant of an OCI platform. It is the value of a label too, which ends with a letter or digit. */
  platform: form(
    /^[a-z0-9]{1,32}\/[a-z0-9](?:[a-z0-9_]{0,30}[a-z0-9])?(?:\/[a-z0-9]{1,32})?$/,
    'a platform such as "linux/amd64"',
  ),
  kernel: form(/^\d{1,9}(?:\.\d{1,9}){0,5}$/, 'a kernel number such as "6.8.0"'),
  /** As Linux names them: lower case letters, digits and underscores (arch/x86/include/asm/cpufeatures.h). */
  feature: form(/^[a-z0-9_]{1,64}$/, 'a feature such as "avx2"'),
  /** `GenuineIntel`, `ARM`, an implementer's number (`0x48`), `Geode by NSC`. */
  vendor: form(/^[A-Za-z0-9][A-Za-z0-9 ._()-]{0,63}$/, 'a vendor such as "GenuineIntel"'),
  level: form(/^[a-z0-9][a-z0-9._-]{0,31}$/, 'a level such as "x86-64-v3"'),
  driver: form(/^\d{1,9}(?:\.\d{1,9}){1,3}$/, 'a version such as "550.54.15"'),
  /** Older ones have five numbers: those of the kernel's line, then the release (`5.16.9.22.20`). */
  amdDriver: form(/^\d{1,9}(?:\.\d{1,9}){1,4}$/, 'a version such as "6.14.14"'),
  toolkit: form(/^\d{1,4}(?:\.\d{1,4}){1,3}$/, 'a version such as "1.17.8"'),
  cuda: form(/^\d{1,3}\.\d{1,2}$/, 'a CUDA version such as "12.4"'),
  compute: form(/^\d{1,2}\.\d$/, 'a compute capability such as "9.0"'),
  /** Major, and a hexadecimal digit each for minor and stepping. */
  target: form(/^gfx\d{1,2}[0-9a-f]{2}$/, 'a target such as "gfx942"'),
  /** `GPU-…`, `MIG-…`, older `MIG-GPU-…/1/0`, and the bare digits of a Tegra. */
  uuid: form(/^[A-Za-z0-9][A-Za-z0-9/-]{0,95}$/, 'a uuid such as "GPU-…"'),
  pci: form(/^[0-9a-f]{4}:[0-9a-f]{4}$/i, 'a PCI id such as "10de:2330"'),
  /** A domain of four or eight digits. */
  bus: form(
    /^(?:[0-9a-f]{4}){1,2}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$/i,
    'a PCI address such as "00000000:17:00.0"',
  ),
  render: form(/^\/dev\/dri\/renderD\d{1,4}$/, 'a device such as "/dev/dri/renderD128"'),
  /** `3g.40gb`, `1c.3g.40gb`, `1g.10gb+me`, `1g.24gb-me` (MIG User Guide, "Supported MIG profiles"). */
  profile: form(/^[A-Za-z0-9][A-Za-z0-9.+-]{0,31}$/, 'a profile such as "3g.40gb"'),
  /** A dotted path of facts. */
  source: form(/^[A-Za-z]{1,32}(?:\.[A-Za-z]{1,32}){0,3}$/, 'a path such as "cpu.features"'),
} as const satisfies Record<string, FactForm>;

/** `6.8.0-45-generic` → `6.8.0`. */
export function kernelNumber(release: string): string | null {
  return /^\d+(?:\.\d+){1,2}/.exec(release.trim())?.[0] ?? null;
}

/** The level if the tables have it, else null. */
export function knownLevel(level: string | null): string | null {
  return level !== null && factGrammar.level.test(level) && findMarch(level) !== null ? level : null;
}

/** Text for people, in one line. */
export function plainText(text: string): string {
  return isPrintable(text) ? text : printable(text);
}

const fitting =
  ({ test }: FactForm) =>
  (text: string) =>
    test(text) ? text : null;

/**
 * The texts of facts by the name of the member. A name has the same form in all objects, unless an entry names the object too. Members with a
 * closed set of values have none.
 */
const readMember: Readonly<Record<string, (text: string) => string | null>> = {
  ...Object.fromEntries(Object.entries(factGrammar).map(([name, form]) => [name, fitting(form)])),
  features: fitting(factGrammar.feature),
  unknown: fitting(factGrammar.feature),
  library: fitting(factGrammar.driver),
  "amd.driver": fitting(factGrammar.amdDriver),
  level: knownLevel,
  model: plainText,
  name: plainText,
  message: plainText,
  fix: plainText,
};

/** The same facts, with null for each text outside the grammar. */
export function withinGrammar(facts: HostFacts): HostFacts {
  const sources = Object.entries(facts.sources).filter(([fact]) => factGrammar.source.test(fact));
  return {
    ...(within(facts, "") as HostFacts),
    sources: Object.fromEntries(sources.map(([fact, from]) => [fact, plainText(from)])),
  };
}

function within(value: unknown, member: string): unknown {
  if (typeof value === "string") {
    const read = readMember[member];
    return read === undefined ? value : read(value);
  }
  if (Array.isArray(value)) return value.map((item) => within(item, member)).filter(isUsable);
  if (!isRecord(value)) return value;
  const formOf = (name: string) => (`${member}.${name}` in readMember ? `${member}.${name}` : name);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, within(inner, formOf(name))]),
  );
}

/** Nothing can be started on a MIG instance without a name. */
function isUsable(item: unknown): boolean {
  return (
    item !== null && !(isRecord(item) && "profile" in item && (item.uuid === null || item.profile === null))
  );
}
