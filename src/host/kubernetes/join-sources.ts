/** Joins what several sources report of a node's GPUs. One source fills the gaps of another; a fact on which two disagree is unknown. */

import { parseVersion } from "../../hardware/driver-version.ts";
import { type GpuVendor, vendorNames } from "../../hardware/gpu-vendors.ts";
import {
  type HostFacts,
  type HostProblem,
  type NvidiaFacts,
  type OpenGpuFact,
  openGpuFacts,
  type VendorFacts,
} from "../../facts/facts.ts";
import { sourcesDisagree } from "../../facts/host-problems.ts";
import { unknownNvidia } from "../../facts/no-facts.ts";

/** One vendor's GPUs, as a source reports them. */
export interface GpuReport<Facts> {
  /** null if the node has none, undefined if the source does not tell. */
  readonly facts: Facts | null | undefined;
  /** True if the list has each GPU once. Else only the kinds of GPUs count. */
  readonly counted: boolean;
  /** Sentences that name unknown facts. */
  readonly unproved: readonly string[];
}

/** A report of the kinds of GPUs alone. */
export function uncounted<Facts>(
  facts: GpuReport<Facts>["facts"],
  ...unproved: readonly string[]
): GpuReport<Facts> {
  return { facts, counted: false, unproved };
}

export interface NamedReport<Facts> extends GpuReport<Facts> {
  /** For people, in the plural: `ResourceSlices`. */
  readonly source: string;
  /** True for facts that were read on the machine: they win over labels, which may be old. */
  readonly exact?: boolean;
  readonly labelled?: boolean;
}

export interface Joined<Facts> extends Omit<GpuReport<Facts>, "counted"> {
  readonly problems: readonly HostProblem[];
  readonly sources: HostFacts["sources"];
}

interface Joining<Facts> {
  /** `9.0`, `gfx942`; null where it is not known. */
  readonly kindsOf: (facts: Facts) => readonly (string | null)[];
  /** Joins the driver of one source and the GPUs of another. */
  readonly compose: (driver: Facts | null, gpus: Facts | null, left: Pick<NvidiaFacts, "unknown">) => Facts;
}

const joinings: { readonly [V in GpuVendor]: Joining<VendorFacts[V]> } = {
  nvidia: {
    kindsOf: ({ gpus }) => gpus.map(({ compute }) => compute),
    compose(from, gpus, left) {
      const { unknown: _, ...told } = from ?? unknownNvidia;
      return { ...told, gpus: gpus?.gpus ?? [], ...left };
    },
  },
  amd: {
    kindsOf: ({ gpus }) => gpus.map(({ target }) => target),
    compose: (from, gpus, left) => ({ driver: from?.driver ?? null, gpus: gpus?.gpus ?? [], ...left }),
  },
};

/** @param reports the best first */
export function joinReports<Vendor extends GpuVendor>(
  vendor: Vendor,
  reports: readonly NamedReport<VendorFacts[Vendor]>[],
): Joined<VendorFacts[Vendor]> {
  const known = reports.filter(({ facts }) => facts !== undefined);
  const unproved = reports.flatMap((report) => report.unproved);
  if (known.length === 0) return { facts: undefined, unproved, problems: [], sources: {} };
  const driver = answer("driver", known, vendor);
  const gpus = answer("gpus", known, vendor);
  const from = { driver: driver.from, gpus: gpus.from };
  const problems = [...driver.problems, ...gpus.problems];
  if (from.driver?.facts === null && from.gpus?.facts === null)
    return { facts: null, unproved: from.gpus.unproved, problems, sources: {} };
  const unknown = openGpuFacts.filter((fact) => from[fact] === null);
  const isIncomplete = unknown.length > 0 && problems.length === 0;
  const used = [...new Set([from.driver, from.gpus])].flatMap((source) => source?.unproved ?? []);
  return {
    facts: joinings[vendor].compose(
      from.driver?.facts ?? null,
      from.gpus?.facts ?? null,
      unknown.length > 0 ? { unknown } : {},
    ),
    unproved: isIncomplete ? unproved : used,
    problems,
    sources: Object.fromEntries(
      openGpuFacts.flatMap((fact) => (from[fact] === null ? [] : [[`${vendor}.${fact}`, from[fact].source]])),
    ),
  };
}

/** The report whose fact counts; null if none tells it, or two disagree. */
function answer<Vendor extends GpuVendor>(
  fact: OpenGpuFact,
  reports: readonly NamedReport<VendorFacts[Vendor]>[],
  vendor: Vendor,
) {
  type Report = NamedReport<VendorFacts[Vendor]>;
  const kinds = ({ facts }: Report) => (facts == null ? [] : joinings[vendor].kindsOf(facts));
  const speakers = reports.filter(({ facts }) => facts?.unknown?.includes(fact) !== true);
  const whole = speakers.find((each) => fact === "driver" || !kinds(each).includes(null));
  const from = whole ?? speakers[0] ?? null;
  if (from === null) return { from, problems: [] };
  const others = speakers.filter((other) => {
    if (fact === "driver") return !isSameVersion(from.facts?.driver ?? null, other.facts?.driver ?? null);
    return !areSameKinds(kinds(from), kinds(other), from.counted && other.counted);
  });
  const words = (source: Report) =>
    `${source.source} say ${fact === "driver" ? (source.facts?.driver ?? "none") : kindWords(kinds(source))}`;
  return {
    from: others.every(({ labelled }) => from.exact && labelled) ? from : null,
    problems: others.map((other) =>
      sourcesDisagree(
        `${vendorNames[vendor]} ${fact === "driver" ? "driver" : "GPUs"}`,
        words(from),
        words(other),
      ),
    ),
  };
}

/** Compares the parts that both have: labels may lack the last one. */
function isSameVersion(one: string | null, other: string | null): boolean {
  const [a, b] = [one, other].map((text) => (text === null ? null : parseVersion(text)));
  if (a == null || b == null) return one === other;
  return a.every((part, index) => part === (b[index] ?? part) || (index >= b.length && part === 0));
}

/** An unknown kind contradicts nothing. */
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
