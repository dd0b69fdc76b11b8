/** Parses host facts from JSON. */

import { ImgmatchError, type Place } from "../errors.ts";
import { type ProblemCode, problemCodes } from "../problem-codes.ts";
import { cpuLevel } from "../hardware/cpu-levels.ts";
import { findMarch, type March, marchPlatform, suggestMarch } from "../hardware/cpu-marches.ts";
import {
  anyObject,
  anyText,
  type Check,
  exactly,
  ifGiven,
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
  type Members,
} from "../io/checks.ts";
import { byVendor, type GpuVendor } from "../hardware/gpu-vendors.ts";
import { compareFirst } from "../io/collections.ts";
import { fieldsOf, isRecord, readJson } from "../io/json.ts";
import { inputLimits, requireSize } from "../io/limits.ts";
import { didYouMean } from "../io/suggest.ts";
import { factGrammar, knownLevel } from "./fact-grammar.ts";
import {
  type AmdFacts,
  type CpuFacts,
  compatModes,
  containerGpus,
  driverScales,
  factsSchemaVersion,
  type HostFacts,
  type HostProblem,
  type NvidiaFacts,
  type OpenGpuFact,
  openGpuFacts,
  outdatedParts,
  type VendorFacts,
} from "./facts.ts";
import { amdGpuSchema, checkOf, fact, forPeople, gpuSchema } from "./gpu-schema.ts";
import { withBrokenStates } from "./broken-states.ts";
import { withMismatch } from "./nvidia-library.ts";

/**
 * Reads facts as `imgmatch probe --json` writes them. A missing key means unknown; an unknown key is a mistake.
 *
 * Throws `INPUT_TOO_LARGE`, `FACTS_SYNTAX` with line and column for text that is not JSON, and `FACTS_SCHEMA` for all mistakes at once, each
 * with the path of its value.
 *
 * @param file the name to show
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
  // Facts that tell a broken state need not name the problem too.
  return withMismatch(
    withBrokenStates(requireChecked(value, hostFacts, "facts", { code: "FACTS_SCHEMA", fix, at })),
  );
}

const fix = "write the facts with: imgmatch probe --json";

const version = optional(fact("driver"));
const featureNames = map(list(fact("feature")), (names) => [...new Set(names)].sort());

const march: Check<March> = (value, report) => {
  const name = anyText(value, report);
  const found = name === undefined ? null : findMarch(name);
  if (name !== undefined && found === null)
    report(
      "",
      `${JSON.stringify(name)} is no march; ${didYouMean(suggestMarch(name))}imgmatch hardware cpu lists them`,
    );
  return found ?? undefined;
};

const writtenCpu = exactly<CpuFacts & { readonly march: March | null }>({
  march: optional(march),
  vendor: optional(fact("vendor")),
  model: optional(forPeople),
  features: optional(featureNames),
  unknown: map(optional(featureNames, []), (names) => (names.length === 0 ? undefined : names)),
  level: map(optional(fact("level")), knownLevel),
});

/** People may write the name of a march in place of its features. */
const cpu: Check<CpuFacts> = (value, report) => {
  const written = writtenCpu(value, report);
  if (written === undefined) return undefined;
  const { march, ...facts } = written;
  // Undefined after a mistake.
  if (march == null) return facts;
  if (facts.features != null)
    report("march", "stands for features, and features are there too: leave one of them out");
  const features = march.features.filter((feature) => !facts.unknown?.includes(feature));
  return { ...facts, features, level: cpuLevel(march.architecture, features) };
};

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

export const knownNvidia = exactly<NvidiaFacts>({
  unknown,
  driver: version,
  driverScale: ifGiven(oneOf(...driverScales)),
  module: optional(oneOf("open", "proprietary")),
  library: version,
  cuda: optional(fact("cuda")),
  uvm: ifGiven(truth),
  ready: ifGiven(truth),
  starts: ifGiven(truth),
  gpus: byIndex(checkOf(gpuSchema)),
});

const knownAmd = exactly<AmdFacts>({
  unknown,
  driver: optional(fact("amdDriver")),
  override: ifGiven(fact("target")),
  gpus: byIndex(checkOf(amdGpuSchema)),
});

/** Lists missing facts as unknown: their default values would mean "none". */
function withOpen<Facts extends { readonly unknown?: readonly OpenGpuFact[] }>(
  known: Check<Facts>,
): Check<Facts> {
  return (value, report) => {
    const read = known(value, report);
    if (read === undefined || !isRecord(value)) return read;
    const leftOpen = openGpuFacts.filter((fact) => value[fact] === undefined || read.unknown?.includes(fact));
    return leftOpen.length === 0 ? read : { ...read, unknown: leftOpen };
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

/** Also checks that the march belongs to the platform. */
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

const known: { readonly [V in GpuVendor]: Check<VendorFacts[V]> } = { nvidia: knownNvidia, amd: knownAmd };

function checkSide<Vendor extends GpuVendor>(vendor: Vendor) {
  return ifPresent(optional(withOpen<VendorFacts[Vendor]>(known[vendor])));
}

const ofVendors = byVendor(checkSide) as Pick<Members<HostFacts>, GpuVendor>;

const anyHostFacts = exactly<HostFacts>({
  schemaVersion: schemaVersion(factsSchemaVersion),
  platform: fact("platform"),
  kernel: optional(fact("kernel")),
  cpu: (value, report) => cpu(value ?? {}, report),
  ...ofVendors,
  runtime: optional(
    exactly<HostFacts["runtime"]>({
      nvidia: optional(oneOf(...containerGpus)),
      amd: ifPresent(optional(oneOf(...containerGpus))),
      toolkit: ifGiven(fact("toolkit")),
      compat: ifGiven(oneOf(...compatModes)),
      outdated: ifGiven(oneOf(...outdatedParts)),
    }),
    { nvidia: null },
  ),
  problems: optional(
    list(
      exactly<HostProblem>({
        code,
        message: forPeople,
        fix: ifGiven(forPeople),
      }),
    ),
    [],
  ),
  sources,
});
