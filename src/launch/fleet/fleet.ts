/** For every image of a lock, the nodes on which resolve would pick it: in words about the node alone. */

import { ImgmatchError } from "../../errors.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { groupBy } from "../../oci/group-by.ts";
import { compareFirst } from "../../oci/text-order.ts";
import { isEligible } from "../../resolve/judge.ts";
import { wantsCpu } from "../../resolve/options.ts";
import { plainPins, requireKnownAxes } from "../../resolve/pins.ts";
import { orderBy } from "../../resolve/rank.ts";
import type { ResolveOptions } from "../../resolve/resolve.ts";
import { keys } from "../labels/vocabulary.ts";
import { type Bdd, createBdd } from "./bdd/bdd.ts";
import { always, type Cube, type Node, never } from "./bdd/node.ts";
import { computeConditions } from "./gpu-conditions.ts";
import { type Contender, createOrder } from "./order-conditions.ts";
import { fitModes, conditionsOf } from "./requirement-conditions.ts";
import { consistency, createConditions, type Condition, type Conditions, label } from "./conditions.ts";

/** All of these hold. */
export type Term = readonly { readonly condition: Condition; readonly holds: boolean }[];

/** What a term says of each label. */
export function byKey(term: Term): ReadonlyMap<string, Term> {
  return groupBy(term, ({ condition }) => condition.key);
}

/** The values that a label has by this term, or those that it has not. */
export function valuesOf(term: Term, holds: boolean): string[] {
  return term.flatMap((each) =>
    each.condition.kind === "is" && each.holds === holds ? [each.condition.value] : [],
  );
}

/** The numbers that a label reaches by this term, or those that it does not. */
export function numbersOf(term: Term, holds: boolean): readonly number[] {
  return term.flatMap((each) =>
    each.condition.kind === "atLeast" && each.holds === holds ? [each.condition.number] : [],
  );
}

export interface FleetMember {
  readonly cell: string;
  readonly image: LockedImage;
  /** Alternatives: the image wins on a node where one of them holds. They may overlap. */
  readonly terms: readonly Term[];
  /**
   * The same in alternatives of which never two hold on one node, for systems that would start the image twice; null when
   * that takes more than `most`.
   */
  readonly disjointTerms: (most: number) => readonly Term[] | null;
}

export interface NodeSplit {
  readonly members: readonly FleetMember[];
  /** Cells that win on no node at all: another image always comes first. */
  readonly shadowed: readonly string[];
}

/** Beyond this the comparison of all with all takes minutes, and nobody reads the workloads. */
const mostImages = 200;

/**
 * Splits all nodes among the images of a lock, exactly as `resolveImage` would decide on each. A node that no image fits is
 * nobody's. Throws `LAUNCH_UNSUPPORTED` for what labels cannot say, and as `resolveImage` does.
 *
 * @example
 * for (const { image, terms } of splitNodes(lock).members) console.log(image.tag, terms.length);
 */
export function splitNodes(lock: Lock, options: ResolveOptions = {}): NodeSplit {
  const images = eligible(lock, options);
  if (images.length > mostImages) {
    throw new ImgmatchError({
      code: "LAUNCH_UNSUPPORTED",
      message: `${images.length} images are too many for one fleet: ${mostImages} at most`,
      fix: "fix the axes that no node decides, for example --pin python=3.12",
    });
  }
  const bdd = createBdd();
  const conditions = createConditions(
    bdd,
    images.flatMap(([, image]) => conditionsOf(image)),
  );
  const before = createOrder(conditions, orderBy(options.prefer ?? lock.prefer));
  const contenders = images.flatMap(([cell, image]) =>
    fitModes(image, conditions, wantsCpu(options)).map((mode): Contender => ({ cell, image, mode })),
  );
  const possible = bdd.and(consistency(conditions), gpuFacts(conditions, images), marchFacts(conditions));
  const members: FleetMember[] = [];
  const shadowed: string[] = [];
  for (const [cell, image] of images) {
    const mine = contenders.filter((each) => each.cell === cell);
    const others = contenders.filter((each) => each.cell !== cell);
    const wins = mine.reduce<Node>((any, each) => {
      let alone = bdd.and(each.mode.when, possible);
      for (const other of others) {
        if (alone === never) break;
        const shared = bdd.and(alone, other.mode.when);
        if (shared !== never) alone = bdd.and(alone, bdd.not(bdd.and(shared, before(other, each))));
      }
      return bdd.or(any, alone);
    }, never);
    const terms = termsOf(bdd.cover(wins, bdd.or(wins, bdd.not(possible))), conditions);
    if (wins === never) shadowed.push(cell);
    else {
      members.push({
        cell,
        image,
        terms,
        disjointTerms: (most) => {
          const cubes = bdd.disjoint(wins, possible, most);
          return cubes === null ? null : termsOf(cubes, conditions);
        },
      });
    }
  }
  return { members, shadowed };
}

function eligible(lock: Lock, options: ResolveOptions): readonly (readonly [string, LockedImage])[] {
  const pins = plainPins(options.pins ?? {});
  requireKnownAxes(pins, lock.images);
  return Object.entries(lock.images)
    .filter(([, image]) => isEligible(image, { ...options, pins }))
    .sort(compareFirst);
}

/** A node with usable GPUs has one. */
function gpuFacts({ bdd, of }: Conditions, images: readonly (readonly [string, LockedImage])[]): Node {
  if (images.every(([, { requires }]) => requires.cuda === null)) return always;
  return bdd.or(bdd.not(of(label.exists(keys.gpuUsable))), ...computeConditions().map(of));
}

/** Who runs broadwell runs haswell, and has each of its features. A march is a word of its own architecture alone. */
function marchFacts({ bdd, list, of }: Conditions): Node {
  const marches = list.flatMap((each) => {
    const march = each.key.startsWith("march.") ? findMarch(each.key.slice("march.".length)) : null;
    return march === null ? [] : [{ condition: each, march, features: new Set(march.features) }];
  });
  const features = list.filter(({ key }) => key.startsWith("cpu."));
  const implied = marches.flatMap(({ condition: whole, march, features: has }) => [
    ...features.filter(({ key }) => has.has(key.slice("cpu.".length))).map((part) => ({ whole, part })),
    ...marches
      .filter((other) => other.march !== march && other.march.architecture === march.architecture)
      .filter((other) => other.march.features.every((feature) => has.has(feature)))
      .map(({ condition: part }) => ({ whole, part })),
  ]);
  return implied.reduce<Node>(
    (facts, { whole, part }) => bdd.and(facts, bdd.or(bdd.not(of(whole)), of(part))),
    always,
  );
}

function termsOf(cubes: ReturnType<Bdd["cover"]>, { list }: Conditions): readonly Term[] {
  return cubes.map((cube: Cube) =>
    cube.flatMap(({ variable, holds }) => {
      const found = list[variable];
      return found === undefined ? [] : [{ condition: found, holds }];
    }),
  );
}
