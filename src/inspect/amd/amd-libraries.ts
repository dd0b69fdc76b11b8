/**
 * AMD's GPU code of an image, library by library: a program runs on a card only if all the libraries that it calls have code for the card.
 * Loose code objects of one folder are one library: rocBLAS has a thousand of them, each for one target.
 */

import {
  type AmdArchitecture,
  amdArchitectures,
  findAmdArchitecture,
} from "../../hardware/amd-architectures.ts";
import { spirvTarget } from "../../hardware/amd-generics.ts";
import { compareFirst, groupBy } from "../../io/collections.ts";
import { type AmdCode, type AmdTargetCount, byAmdTarget } from "./amd-inspection.ts";
import { compareAmdTargets } from "../../hardware/amd-target.ts";

export interface ImageAmd {
  /** The numbers of files and of modules with each target. */
  readonly targets: readonly (AmdTargetCount & { readonly files: number })[];
  /** Unknown code objects by their reason: they may be for any target. */
  readonly unknown: readonly string[];
  /** Libraries with GPU code. The path of loose code objects is their folder, with `*` for the name of a target. */
  readonly libraries: readonly { readonly path: string; readonly targets: readonly string[] }[];
  /** A row for each GPU with machine code in some library. `without`: the libraries that lack code for the GPU, and fail on it. */
  readonly cards: readonly { readonly target: string; readonly without: readonly string[] }[];
}

interface AmdFile {
  readonly path: string;
  readonly amd: AmdCode | null;
}

/** null for files without GPU code of AMD. */
export function amdOf(files: readonly AmdFile[]): ImageAmd | null {
  const codes = files.flatMap(({ amd }) => amd ?? []);
  if (codes.length === 0) return null;
  const libraries = amdLibraries(files);
  return {
    targets: targetsOf(codes),
    unknown: [...new Set(codes.flatMap(({ unknown }) => Object.keys(unknown)))].sort(),
    libraries: libraries.map(({ path, targets }) => ({ path, targets })),
    cards: amdArchitectures
      .filter((card) => libraries.some(({ targets }) => targets.some((target) => isFor(target, card))))
      .map((card) => ({
        target: card.name,
        without: libraries.filter(({ targets }) => !runsOn(targets, card)).map(({ path }) => path),
      }))
      .sort((a, b) => compareAmdTargets(a.target, b.target)),
  };
}

/** The reasons why more targets may be there. */
export function undecidedAmd(files: readonly AmdFile[], amd: ImageAmd | null): readonly string[] {
  const unknown = amd?.unknown ?? [];
  return [
    ...(unknown.length === 0
      ? []
      : [`GPU code for AMD that is not known (${unknown.join(", ")}): more targets may be there`]),
    ...(files.some(({ amd: code }) => (code?.damage ?? []).length > 0)
      ? ["GPU code for AMD that was not read: more targets may be there"]
      : []),
  ];
}

/** The names of AMD's targets of these files together. */
export function amdTargets(files: readonly AmdFile[]): readonly string[] {
  const targets = targetsOf(files.flatMap(({ amd }) => amd ?? []));
  return [...new Set(targets.map(({ target }) => target))];
}

/** True for the card's own target and its generic one. Code for one state of xnack or sramecc counts: a host may be in that state. */
function isFor(target: string, { name, generic }: AmdArchitecture): boolean {
  const [processor] = target.split(":");
  return processor === name || processor === generic;
}

/** True if code for `found` runs on every host that runs code for `wanted`: it asks for no further state of xnack or sramecc. */
export function coversAmd(found: string, wanted: string): boolean {
  const [name, ...asked] = found.split(":");
  const [other, ...states] = wanted.split(":");
  return name === other && asked.every((state) => states.includes(state));
}

/** True if a library has code for all GPUs of a target. */
export function servesTarget(targets: readonly string[], wanted: string): boolean {
  if (targets.some((target) => target === spirvTarget || coversAmd(target, wanted))) return true;
  const [name, ...states] = wanted.split(":");
  const cards = amdArchitectures.filter((card) => card.name === name || card.generic === name);
  const isServed = (card: AmdArchitecture) =>
    [card.name, card.generic].some((own) =>
      targets.some((target) => coversAmd(target, [own, ...states].join(":"))),
    );
  return cards.length > 0 && cards.every(isServed);
}

/** Targets that all libraries have code for. */
export function targetsOfAll({ targets, libraries }: ImageAmd): readonly string[] {
  const all = [...new Set(targets.map(({ target }) => target))];
  return all.filter((target) => libraries.every((library) => servesTarget(library.targets, target)));
}

function runsOn(targets: readonly string[], card: AmdArchitecture): boolean {
  return targets.some((target) => target === spirvTarget || isFor(target, card));
}

function targetsOf(codes: readonly AmdCode[]): ImageAmd["targets"] {
  const all = groupBy(
    codes.flatMap(({ targets }) => targets),
    ({ target, version }) => `${target} ${version}`,
  );
  return [...all.values()]
    .flatMap((found) => {
      const [first] = found;
      const modules = found.reduce((sum, each) => sum + each.modules, 0);
      return first === undefined ? [] : [{ ...first, modules, files: found.length }];
    })
    .sort(byAmdTarget);
}

/** Libraries with code that a GPU runs, or may run. */
export function amdLibraries<File extends AmdFile>(files: readonly File[]) {
  const holders = files.filter(
    ({ amd }) => amd !== null && amd.targets.length + Object.keys(amd.unknown).length > 0,
  );
  return [...groupBy(holders, ({ path }) => libraryOf(path))].sort(compareFirst).map(([folder, found]) => {
    const [only] = found;
    return {
      path: found.length === 1 && only !== undefined ? only.path : folder,
      targets: amdTargets(found),
      files: found,
    };
  });
}

const looseObject = /\.(?:co|hsaco|hipfb)$/;

function libraryOf(path: string): string {
  if (path.endsWith(".kpack")) return path.replace(/gfx[0-9a-f][^/]*(?=\.kpack$)/, "*");
  if (!looseObject.test(path)) return path;
  return path.slice(0, path.lastIndexOf("/")).replace(/(?<=\/)gfx[0-9a-f]+[^/]*/g, "*");
}

/**
 * The targets of hosts that run all libraries: `gfx11-generic` in one and `gfx1100` in another leave `gfx1100`. Empty if no host does.
 *
 * @param libraries the targets of each library
 */
export function servedTargets(libraries: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = libraries;
  const served = others.reduce<readonly string[]>(
    (before, targets) => widest(before.flatMap((a) => targets.flatMap((b) => meet(a, b) ?? []))),
    widest(first),
  );
  return [...served].sort(compareAmdTargets);
}

/** Leaves out targets that another one covers. */
function widest(targets: readonly string[]): readonly string[] {
  const all = [...new Set(targets)];
  return all.filter((target) => !all.some((other) => other !== target && meet(target, other) === target));
}

/** The target of hosts that run code of both; null where no host does. */
function meet(a: string, b: string): string | null {
  if (a === spirvTarget) return b;
  if (b === spirvTarget) return a;
  const [[first = "", ...ofFirst], [second = "", ...ofSecond]] = [a.split(":"), b.split(":")];
  const processor = isWider(first, second) ? second : isWider(second, first) ? first : null;
  const features = [...new Set([...ofFirst, ...ofSecond])].sort();
  // The two ask for different states of a feature.
  const isTorn = new Set(features.map((feature) => feature.slice(0, -1))).size < features.length;
  return processor === null || isTorn ? null : [processor, ...features].join(":");
}

function isWider(wide: string, narrow: string): boolean {
  return wide === narrow || findAmdArchitecture(narrow)?.generic === wide;
}
