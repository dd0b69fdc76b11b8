/** Host facts from a file or from standard input, checked by hand. */

import {
  ImgmatchError,
  type Place,
  type Problem,
  type ProblemCode,
  problemCodes,
  throwProblems,
} from "../errors.ts";
import { inputLimits, requireSize } from "../limits.ts";
import { compareFirst } from "../oci/text-order.ts";
import { factGrammar, knownLevel, plainText } from "./fact-grammar.ts";
import {
  type CpuFacts,
  driverScales,
  factsSchemaVersion,
  type GpuFacts,
  type HostFacts,
  type HostProblem,
  type MigInstance,
  type NvidiaFacts,
} from "./facts.ts";
import {
  type Check,
  list,
  members,
  oneOf,
  optional,
  type Report,
  show,
  text,
  truth,
  wholeNumber,
} from "./facts-checks.ts";

/** More mistakes than a person reads. */
const maxProblems = 50;

/**
 * Reads facts as `imgmatch probe --json` writes them. Unknown keys are ignored, a missing optional fact is null (unknown).
 *
 * Throws `INPUT_TOO_LARGE`; else every mistake at once: `FACTS_SYNTAX` with its line and column when the text is no JSON, `FACTS_SCHEMA` with the
 * path of each value that is no fact. `file` is the name to show, `-` for standard input.
 */
export function parseHostFacts(source: string, file: string): HostFacts {
  requireSize(source, inputLimits.facts, { file });
  const problems: Problem[] = [];
  const report: Report = (path, message) => {
    if (problems.length >= maxProblems) return;
    problems.push({
      code: "FACTS_SCHEMA",
      message: `${path === "" ? "facts" : path}: ${message}`,
      fix,
      at: { file },
    });
  };
  const facts = readFacts(parseJson(source, file), report);
  throwProblems(problems);
  return facts;
}

const fix = "write the facts with: imgmatch probe --json";

function parseJson(source: string, file: string): unknown {
  const json = source.replace(/^\uFEFF/, "");
  try {
    return JSON.parse(json);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const problem = { code: "FACTS_SYNTAX", message: `no JSON: ${cleanReason(reason)}`, fix } as const;
    throw new ImgmatchError({ ...problem, at: { file, ...placeOf(json, reason) } }, { cause: error });
  }
}

/** The engine quotes the whole text in some messages; a facts file can be long. */
function cleanReason(reason: string): string {
  const line = reason
    .replace(/\s+/g, " ")
    .replace(/, (?:\.\.\.)?".*$/, "")
    .replace(/ in JSON at position.*$/, "");
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}

function placeOf(json: string, reason: string): Omit<Place, "file"> {
  const position = /at position (\d+)/.exec(reason)?.[1];
  const offset = position !== undefined ? Number(position) : unplacedOffset(json, reason);
  if (offset === null) return {};
  const before = json.slice(0, offset).split("\n");
  const line = before.length;
  const column = (before.at(-1)?.length ?? 0) + 1;
  const sourceLine = json.split("\n")[line - 1]?.replace(/\r$/, "") ?? "";
  return { line, column, ...(sourceLine.length <= 200 ? { text: sourceLine } : {}) };
}

/** Some messages tell no position: the end is known, and a quoted middle begins ten characters before the fault. */
function unplacedOffset(json: string, reason: string): number | null {
  if (/end of JSON/.test(reason)) return json.length;
  const context = /, \.\.\."([\s\S]+)"(?:\.\.\.)? is not valid JSON$/.exec(reason)?.[1];
  const start = context === undefined ? -1 : json.indexOf(context);
  return start < 0 ? null : start + 10;
}

const version = text(factGrammar.driver, 'a version such as "550.54.15"');
const cudaVersion = text(factGrammar.cuda, 'a CUDA version such as "12.4"');
const compute = text(factGrammar.compute, 'a compute capability such as "9.0"');
const pciId = text(factGrammar.pci, 'a PCI id such as "10de:2330"');
const featureNames = list(text(factGrammar.feature, 'a feature such as "avx2"'));
const uuidText = text(factGrammar.uuid, 'a uuid such as "GPU-…"');

/** For people: what a terminal would act on is written as its escape, as the probe does. */
const forPeople: Check<string> = (value, path, report) => {
  const read = text()(value, path, report);
  return read === undefined ? undefined : plainText(read);
};

function readFacts(value: unknown, report: Report): HostFacts {
  const facts = members(value, "", report);
  if (facts === undefined) return emptyFacts;
  if (facts.schemaVersion !== factsSchemaVersion) {
    const newer = typeof facts.schemaVersion === "number" && facts.schemaVersion > factsSchemaVersion;
    const hint = newer ? "; a newer imgmatch wrote it" : "";
    report("schemaVersion", `expected ${factsSchemaVersion}, found ${show(facts.schemaVersion)}${hint}`);
  }
  const platform = text(factGrammar.platform, 'a platform such as "linux/amd64"');
  const read: HostFacts = {
    schemaVersion: factsSchemaVersion,
    platform: platform(facts.platform, "platform", report) ?? "",
    kernel:
      optional(text(factGrammar.kernel, 'a kernel number such as "6.8.0"'))(facts.kernel, "kernel", report) ??
      null,
    cpu: readCpu(facts.cpu, report),
    nvidia: optional(readNvidia)(facts.nvidia, "nvidia", report) ?? null,
    runtime: { nvidia: readRuntime(facts.runtime, report) },
    problems: list(readProblem)(facts.problems ?? [], "problems", report) ?? [],
    sources: readSources(facts.sources ?? {}, report),
  };
  return { ...read, nvidia: read.nvidia === null ? null : withScale(read.nvidia, read.sources) };
}

/** Facts that were written before they had a scale said WSL2 in words alone. */
function withScale(nvidia: NvidiaFacts, sources: HostFacts["sources"]): NvidiaFacts {
  const wsl = Object.entries(sources).some(
    ([fact, source]) => fact.startsWith("nvidia") && /\b(wsl2?|dxg)\b/i.test(source),
  );
  return nvidia.driverScale === undefined && wsl ? { ...nvidia, driverScale: "wsl" } : nvidia;
}

/** Stands for facts that are about to be refused. */
const emptyFacts: HostFacts = {
  schemaVersion: factsSchemaVersion,
  platform: "",
  kernel: null,
  cpu: { vendor: null, model: null, features: null, level: null },
  nvidia: null,
  runtime: { nvidia: null },
  problems: [],
  sources: {},
};

function readCpu(value: unknown, report: Report): CpuFacts {
  const cpu = members(value, "cpu", report) ?? {};
  const features = optional(featureNames)(cpu.features, "cpu.features", report) ?? null;
  const unknown = optional(featureNames)(cpu.unknown, "cpu.unknown", report) ?? [];
  const level = text(factGrammar.level, 'a level such as "x86-64-v3"');
  return {
    vendor:
      optional(text(factGrammar.vendor, 'a vendor such as "GenuineIntel"'))(
        cpu.vendor,
        "cpu.vendor",
        report,
      ) ?? null,
    model: optional(forPeople)(cpu.model, "cpu.model", report) ?? null,
    features: features === null ? null : [...new Set(features)].sort(),
    ...(unknown.length === 0 ? {} : { unknown: [...new Set(unknown)].sort() }),
    level: knownLevel(optional(level)(cpu.level, "cpu.level", report) ?? null),
  };
}

const readNvidia: Check<NvidiaFacts> = (value, path, report) => {
  const nvidia = members(value, path, report);
  if (nvidia === undefined) return undefined;
  const gpus = list(readGpu)(nvidia.gpus ?? [], `${path}.gpus`, report) ?? [];
  const sorted = [...gpus].sort((a, b) => a.index - b.index);
  const twice = sorted.find(({ index }, place) => sorted[place - 1]?.index === index);
  if (twice !== undefined) report(`${path}.gpus`, `two GPUs have the index ${twice.index}`);
  const scale = optional(oneOf(...driverScales))(nvidia.driverScale, `${path}.driverScale`, report) ?? null;
  return {
    driver: optional(version)(nvidia.driver, `${path}.driver`, report) ?? null,
    ...(scale === null ? {} : { driverScale: scale }),
    module: optional(oneOf("open", "proprietary"))(nvidia.module, `${path}.module`, report) ?? null,
    library: optional(version)(nvidia.library, `${path}.library`, report) ?? null,
    cuda: optional(cudaVersion)(nvidia.cuda, `${path}.cuda`, report) ?? null,
    gpus: sorted,
  };
};

const gpuClass = oneOf("datacenter", "workstation", "geforce", "tegra", "unknown");

const readGpu: Check<GpuFacts> = (value, path, report) => {
  const gpu = members(value, path, report);
  if (gpu === undefined) return undefined;
  const use = optional(members)(gpu.use, `${path}.use`, report) ?? {};
  return {
    // NaN equals nothing: a missing index is one mistake and not a double index too.
    index: wholeNumber(gpu.index, `${path}.index`, report) ?? Number.NaN,
    uuid: optional(uuidText)(gpu.uuid, `${path}.uuid`, report) ?? null,
    name: optional(forPeople)(gpu.name, `${path}.name`, report) ?? null,
    compute: optional(compute)(gpu.compute, `${path}.compute`, report) ?? null,
    pci: optional(pciId)(gpu.pci, `${path}.pci`, report) ?? null,
    bus:
      optional(text(factGrammar.bus, 'a PCI address such as "00000000:17:00.0"'))(
        gpu.bus,
        `${path}.bus`,
        report,
      ) ?? null,
    memoryMiB: optional(wholeNumber)(gpu.memoryMiB, `${path}.memoryMiB`, report) ?? null,
    class: optional(gpuClass)(gpu.class, `${path}.class`, report) ?? "unknown",
    integrated: optional(truth)(gpu.integrated, `${path}.integrated`, report) ?? null,
    mig: list(readMig)(gpu.mig ?? [], `${path}.mig`, report) ?? [],
    use: {
      processes: optional(wholeNumber)(use.processes, `${path}.use.processes`, report) ?? null,
      memoryMiB: optional(wholeNumber)(use.memoryMiB, `${path}.use.memoryMiB`, report) ?? null,
    },
  };
};

const readMig: Check<MigInstance> = (value, path, report) => {
  const mig = members(value, path, report);
  if (mig === undefined) return undefined;
  const uuid = uuidText(mig.uuid, `${path}.uuid`, report) ?? "";
  const profile = text(factGrammar.profile, 'a profile such as "3g.40gb"');
  return { uuid, profile: profile(mig.profile, `${path}.profile`, report) ?? "" };
};

function readRuntime(value: unknown, report: Report): HostFacts["runtime"]["nvidia"] {
  const runtime = optional(members)(value, "runtime", report) ?? {};
  return optional(oneOf("cdi", "legacy", "none"))(runtime.nvidia, "runtime.nvidia", report) ?? null;
}

const readProblem: Check<HostProblem> = (value, path, report) => {
  const problem = members(value, path, report);
  if (problem === undefined) return undefined;
  const code = text(/^HOST_[A-Z_]+$/, "a HOST_… code")(problem.code, `${path}.code`, report);
  if (code !== undefined && !isProblemCode(code))
    report(`${path}.code`, `${code} is no code of this imgmatch`);
  const message = forPeople(problem.message, `${path}.message`, report) ?? "";
  const cure = optional(forPeople)(problem.fix, `${path}.fix`, report) ?? null;
  if (code === undefined || !isProblemCode(code)) return undefined;
  return { code, message, ...(cure === null ? {} : { fix: cure }) };
};

function isProblemCode(code: string): code is ProblemCode {
  return Object.hasOwn(problemCodes, code);
}

function readSources(value: unknown, report: Report): Readonly<Record<string, string>> {
  const sources = members(value, "sources", report) ?? {};
  const entries = Object.entries(sources).map(([fact, from]) => {
    if (!factGrammar.source.test(fact)) report("sources", `${show(fact)} is no path of a fact`);
    return [fact, forPeople(from, `sources.${fact}`, report) ?? ""] as const;
  });
  return Object.fromEntries(entries.sort(compareFirst));
}
