/** Host facts from a file or from standard input, checked by hand. */

import { ImgmatchError, type Place, type ProblemCode, problemCodes } from "../errors.ts";
import { cpuLevel, findMarch, type March, marchNames, marchPlatform } from "../hardware/cpu-marches.ts";
import {
  anyObject,
  anyText,
  type Check,
  exactly,
  ifPresent,
  list,
  map,
  oneOf,
  optional,
  requireChecked,
  schemaVersion,
  show,
  text,
  truth,
  wholeNumber,
} from "../io/checks.ts";
import { fieldsOf, isRecord, readJson } from "../io/json.ts";
import { didYouMean, suggestMarch } from "../io/suggest.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import { compareFirst } from "../io/collections.ts";
import { factGrammar, knownLevel, plainText } from "./fact-grammar.ts";
import {
  type AmdFacts,
  type AmdGpuFacts,
  computePartitions,
  containerGpus,
  type CpuFacts,
  compatModes,
  driverScales,
  factsSchemaVersion,
  type GpuFacts,
  type HostFacts,
  type HostProblem,
  type MigInstance,
  type NvidiaFacts,
  openGpuFacts,
  type OpenGpuFact,
} from "./facts.ts";
import { unknownUse } from "./unknown-facts.ts";

/**
 * Reads facts as `imgmatch probe --json` writes them. A key that is missing is unknown, a key that nobody knows is a mistake.
 *
 * Throws `INPUT_TOO_LARGE`; else every mistake at once: `FACTS_SYNTAX` with its line and column when the text is no JSON, `FACTS_SCHEMA` with the
 * path of each value that is no fact. `file` is the name to show, `-` for standard input.
 */
export function parseHostFacts(source: string, file: string): HostFacts {
  requireSize(source, inputLimits.facts, { file });
  const json = readJson(source);
  if (!json.ok) {
    const message = `no JSON: ${json.reason}`;
    throw new ImgmatchError({ code: "FACTS_SYNTAX", message, fix, at: { file, ...json.place } });
  }
  return checkHostFacts(json.value, { file });
}

/** The same for JSON that is parsed already. Throws every `FACTS_SCHEMA` at once. */
export function checkHostFacts(value: unknown, at: Place): HostFacts {
  return withScale(requireChecked(value, hostFacts, "facts", { code: "FACTS_SCHEMA", fix, at }));
}

const fix = "write the facts with: imgmatch probe --json";

/** Facts that were written before they had a scale said WSL2 in words alone. */
function withScale(facts: HostFacts): HostFacts {
  const { nvidia, sources } = facts;
  const wsl = Object.entries(sources).some(
    ([fact, source]) => fact.startsWith("nvidia") && /\b(wsl2?|dxg)\b/i.test(source),
  );
  if (nvidia == null || nvidia.driverScale !== undefined || !wsl) return facts;
  return { ...facts, nvidia: { ...nvidia, driverScale: "wsl" } };
}

const version = optional(text(factGrammar.driver, 'a version such as "550.54.15"'));
const uuid = text(factGrammar.uuid, 'a uuid such as "GPU-…"');
const featureNames = map(list(text(factGrammar.feature, 'a feature such as "avx2"')), (names) =>
  [...new Set(names)].sort(),
);
const number = optional(wholeNumber);

/** For people: what a terminal would act on is written as its escape, as the probe does. */
const forPeople = map(anyText, plainText);

const march: Check<March> = (value, report) => {
  const name = anyText(value, report);
  const found = name === undefined ? null : findMarch(name);
  if (name !== undefined && found === null)
    report(
      "",
      `${JSON.stringify(name)} is no march; ${didYouMean(suggestMarch(name, marchNames()))}imgmatch hardware cpu lists them`,
    );
  return found ?? undefined;
};

const writtenCpu: Check<CpuFacts & { readonly march: March | null }> = exactly({
  march: optional(march),
  vendor: optional(text(factGrammar.vendor, 'a vendor such as "GenuineIntel"')),
  model: optional(forPeople),
  features: optional(featureNames),
  unknown: map(optional(featureNames, []), (names) => (names.length === 0 ? undefined : names)),
  level: map(optional(text(factGrammar.level, 'a level such as "x86-64-v3"')), knownLevel),
});

/** By hand it is the name of a march that people know of their machines: it stands for that march's features. */
const cpu: Check<CpuFacts> = (value, report) => {
  const written = writtenCpu(value, report);
  if (written === undefined) return undefined;
  const { march, ...facts } = written;
  // A member that is a mistake is not there.
  if (march == null) return facts;
  if (facts.features != null)
    report("march", "stands for features, and features are there too: leave one of them out");
  const features = march.features.filter((feature) => !facts.unknown?.includes(feature));
  return { ...facts, features, level: cpuLevel(march.architecture, features) };
};

const gpu: Check<GpuFacts> = exactly({
  index: wholeNumber,
  uuid: optional(uuid),
  name: optional(forPeople),
  compute: optional(text(factGrammar.compute, 'a compute capability such as "9.0"')),
  pci: optional(text(factGrammar.pci, 'a PCI id such as "10de:2330"')),
  bus: optional(text(factGrammar.bus, 'a PCI address such as "00000000:17:00.0"')),
  memoryMiB: number,
  class: optional(oneOf("datacenter", "workstation", "geforce", "tegra", "unknown"), "unknown"),
  integrated: optional(truth),
  mig: optional(
    list(exactly<MigInstance>({ uuid, profile: text(factGrammar.profile, 'a profile such as "3g.40gb"') })),
    [],
  ),
  use: optional(exactly<GpuFacts["use"]>({ processes: number, memoryMiB: number }), unknownUse),
});

const amdGpu: Check<AmdGpuFacts> = exactly({
  index: wholeNumber,
  uuid: optional(uuid),
  name: optional(forPeople),
  target: optional(text(factGrammar.target, 'a target such as "gfx942"')),
  sramecc: optional(truth),
  pci: optional(text(factGrammar.pci, 'a PCI id such as "1002:74a1"')),
  bus: optional(text(factGrammar.bus, 'a PCI address such as "0000:83:00.0"')),
  render: optional(text(factGrammar.render, 'a device such as "/dev/dri/renderD128"')),
  memoryMiB: number,
  partition: optional(oneOf(...computePartitions)),
  integrated: optional(truth),
});

function byIndex<Gpu extends { readonly index: number }>(gpu: Check<Gpu>): Check<readonly Gpu[]> {
  return (value, report) => {
    const sorted = [...(optional(list(gpu), [])(value, report) ?? [])].sort((a, b) => a.index - b.index);
    const twice = sorted.find(
      ({ index }, place) => index !== undefined && sorted[place - 1]?.index === index,
    );
    if (twice !== undefined) report("", `two GPUs have the index ${twice.index}`);
    return sorted;
  };
}

const unknown = map(optional(list(oneOf(...openGpuFacts)), []), (open) =>
  open.length === 0 ? undefined : open,
);

const knownNvidia: Check<NvidiaFacts> = exactly({
  driver: version,
  driverScale: map(optional(oneOf(...driverScales)), (scale) => scale ?? undefined),
  module: optional(oneOf("open", "proprietary")),
  library: version,
  cuda: optional(text(factGrammar.cuda, 'a CUDA version such as "12.4"')),
  gpus: byIndex(gpu),
  unknown,
});

const knownAmd: Check<AmdFacts> = exactly({ driver: version, gpus: byIndex(amdGpu), unknown });

/** Lists missing facts as unknown: the values in their place would mean that there is nothing. */
function withOpen<Facts extends { readonly unknown?: readonly OpenGpuFact[] }>(
  known: Check<Facts>,
): Check<Facts> {
  return (value, report) => {
    const read = known(value, report);
    if (read === undefined || !isRecord(value)) return read;
    const open = openGpuFacts.filter((fact) => value[fact] === undefined || read.unknown?.includes(fact));
    return open.length === 0 ? read : { ...read, unknown: open };
  };
}

const code: Check<ProblemCode> = (value, report) => {
  const read = text(/^HOST_[A-Z_]+$/, "a HOST_… code")(value, report);
  if (read === undefined || isProblemCode(read)) return read;
  report("", `${read} is no code of this imgmatch`);
  return undefined;
};

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemCodes, code);
}

const sources: Check<HostFacts["sources"]> = (value, report) => {
  const entries = Object.entries(optional(anyObject, {})(value, report) ?? {}).map(([fact, from]) => {
    if (!factGrammar.source.test(fact)) report("", `${show(fact)} is no path of a fact`);
    return [fact, forPeople(from, (_, message) => report(fact, message)) ?? ""] as const;
  });
  return Object.fromEntries(entries.sort(compareFirst));
};

/** A march is one of an architecture. */
const hostFacts: Check<HostFacts> = (value, report) => {
  const { platform, cpu } = fieldsOf(value);
  const { march } = fieldsOf(cpu);
  const named = typeof march === "string" ? findMarch(march) : null;
  if (named !== null && typeof platform === "string" && named.architecture !== platform.split("/")[1])
    report(
      "cpu.march",
      `${named.name} is of ${marchPlatform(named)}, and platform says ${JSON.stringify(platform)}`,
    );
  return anyHostFacts(value, report);
};

const anyHostFacts: Check<HostFacts> = exactly({
  schemaVersion: schemaVersion(factsSchemaVersion),
  platform: text(factGrammar.platform, 'a platform such as "linux/amd64"'),
  kernel: optional(text(factGrammar.kernel, 'a kernel number such as "6.8.0"')),
  cpu: (value, report) => cpu(value ?? {}, report),
  nvidia: ifPresent(optional(withOpen(knownNvidia))),
  amd: ifPresent(optional(withOpen(knownAmd))),
  runtime: optional(
    exactly<HostFacts["runtime"]>({
      nvidia: optional(oneOf(...containerGpus)),
      amd: ifPresent(optional(oneOf(...containerGpus))),
      toolkit: map(
        optional(text(factGrammar.toolkit, 'a version such as "1.17.8"')),
        (version) => version ?? undefined,
      ),
      compat: map(optional(oneOf(...compatModes)), (mode) => mode ?? undefined),
    }),
    { nvidia: null },
  ),
  problems: optional(
    list(
      exactly<HostProblem>({
        code,
        message: forPeople,
        fix: map(optional(forPeople), (fix) => fix ?? undefined),
      }),
    ),
    [],
  ),
  sources,
});
