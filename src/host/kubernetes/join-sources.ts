/** One answer from several sources about a node's GPUs: what one does not say another may, and what two tell differently nobody knows. */

import { parseVersion } from "../../hardware/driver-version.ts";
import {
  type AmdFacts,
  type HostProblem,
  type NvidiaFacts,
  type OpenGpuFact,
  openGpuFacts,
} from "../facts.ts";
import { sourcesDisagree } from "../host-problems.ts";
import { unknownNvidia } from "../unknown-facts.ts";

/** One vendor's GPUs, as a source tells them. */
export interface ToldGpus<Facts> {
  /** null where the node has none, undefined where the source does not say. */
  readonly facts: Facts | null | undefined;
  /** Whether its list has each GPU once; else only the kinds of GPUs count. */
  readonly counted: boolean;
  /** Facts that a reader must not take for known, in whole sentences. */
  readonly open: readonly string[];
}

/** The same with the source. */
export interface Told<Facts> extends ToldGpus<Facts> {
  /** For people, in the plural: `ResourceSlices`. */
  readonly source: string;
  /** Whether it was read on the machine, whole: then its facts stand against labels, which may be old. */
  readonly exact?: boolean;
  readonly labelled?: boolean;
}

export interface Joined<Facts> extends Omit<ToldGpus<Facts>, "counted"> {
  readonly problems: readonly HostProblem[];
  /** By the name of the fact: `driver`. */
  readonly sources: Readonly<Partial<Record<OpenGpuFact, string>>>;
}

interface Vendor<Facts> {
  readonly name: string;
  /** `9.0`, `gfx942`; null where it is not known. */
  readonly kindsOf: (facts: Facts) => readonly (string | null)[];
  /** The facts of which one source told the driver and one the GPUs. */
  readonly compose: (driver: Facts | null, gpus: Facts | null, open: Pick<NvidiaFacts, "unknown">) => Facts;
}

const nvidia: Vendor<NvidiaFacts> = {
  name: "NVIDIA",
  kindsOf: ({ gpus }) => gpus.map(({ compute }) => compute),
  compose(from, gpus, open) {
    const { driver, module, library, cuda, driverScale } = from ?? unknownNvidia;
    const scale = driverScale === undefined ? {} : { driverScale };
    return { driver, ...scale, module, library, cuda, gpus: gpus?.gpus ?? [], ...open };
  },
};

const amd: Vendor<AmdFacts> = {
  name: "AMD",
  kindsOf: ({ gpus }) => gpus.map(({ target }) => target),
  compose: (from, gpus, open) => ({ driver: from?.driver ?? null, gpus: gpus?.gpus ?? [], ...open }),
};

export const joinNvidia = (told: readonly Told<NvidiaFacts>[]) => join(told, nvidia);
export const joinAmd = (told: readonly Told<AmdFacts>[]) => join(told, amd);

/** @param sources the best first */
function join<Facts extends NvidiaFacts | AmdFacts>(
  sources: readonly Told<Facts>[],
  vendor: Vendor<Facts>,
): Joined<Facts> {
  const told = sources.filter(({ facts }) => facts !== undefined);
  const open = sources.flatMap((source) => source.open);
  if (told.length === 0) return { facts: undefined, open, problems: [], sources: {} };
  const driver = answer("driver", told, vendor);
  const gpus = answer("gpus", told, vendor);
  const from = { driver: driver.from, gpus: gpus.from };
  const problems = [...driver.problems, ...gpus.problems];
  if (from.driver?.facts === null && from.gpus?.facts === null)
    return { facts: null, open: from.gpus.open, problems, sources: {} };
  const unknown = openGpuFacts.filter((fact) => from[fact] === null);
  const untold = unknown.length > 0 && problems.length === 0;
  const used = [...new Set([from.driver, from.gpus])].flatMap((source) => source?.open ?? []);
  return {
    facts: vendor.compose(
      from.driver?.facts ?? null,
      from.gpus?.facts ?? null,
      unknown.length > 0 ? { unknown } : {},
    ),
    open: untold ? open : used,
    problems,
    sources: Object.fromEntries(
      openGpuFacts.flatMap((fact) => (from[fact] === null ? [] : [[fact, from[fact].source]])),
    ),
  };
}

/** The source whose word counts; null where none has said it, or two say different things. */
function answer<Facts extends NvidiaFacts | AmdFacts>(
  fact: OpenGpuFact,
  told: readonly Told<Facts>[],
  { name, kindsOf }: Vendor<Facts>,
) {
  const kinds = ({ facts }: Told<Facts>) => (facts == null ? [] : kindsOf(facts));
  const speakers = told.filter(({ facts }) => facts?.unknown?.includes(fact) !== true);
  const whole = speakers.find((each) => fact === "driver" || !kinds(each).includes(null));
  const from = whole ?? speakers[0] ?? null;
  if (from === null) return { from, problems: [] };
  const others = speakers.filter((other) => {
    if (fact === "driver") return !isSameVersion(from.facts?.driver ?? null, other.facts?.driver ?? null);
    return !areSameKinds(kinds(from), kinds(other), from.counted && other.counted);
  });
  const words = (source: Told<Facts>) =>
    `${source.source} say ${fact === "driver" ? (source.facts?.driver ?? "none") : kindWords(kinds(source))}`;
  return {
    from: others.every(({ labelled }) => from.exact && labelled) ? from : null,
    problems: others.map((other) =>
      sourcesDisagree(`${name} ${fact === "driver" ? "driver" : "GPUs"}`, words(from), words(other)),
    ),
  };
}

/** As far as both tell: labels may lack the last part. */
function isSameVersion(one: string | null, other: string | null): boolean {
  const [a, b] = [one, other].map((text) => (text === null ? null : parseVersion(text)));
  if (a == null || b == null) return one === other;
  return a.every((part, index) => part === (b[index] ?? part) || (index >= b.length && part === 0));
}

/** A kind that one does not know speaks against nothing. */
function areSameKinds(
  one: readonly (string | null)[],
  other: readonly (string | null)[],
  counted: boolean,
): boolean {
  if ((counted || one.length === 0 || other.length === 0) && one.length !== other.length) return false;
  if (one.includes(null) || other.includes(null)) return true;
  const [a, b] = [one, other].map((kinds) => (counted ? [...kinds] : [...new Set(kinds)]).sort().join());
  return a === b;
}

function kindWords(kinds: readonly (string | null)[]): string {
  if (kinds.length === 0) return "none";
  const distinct = [...new Set(kinds)].sort();
  return distinct
    .map((kind) => `${kinds.filter((each) => each === kind).length} × ${kind ?? "unknown"}`)
    .join(", ");
}
