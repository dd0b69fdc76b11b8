/** For every image of a lock, the nodes on which resolve would pick it: in words about the node alone. */

import { ImgmatchError } from "../../../errors.ts";
import { vendorsOf } from "../../../hardware/requirement.ts";
import { compareFirst, groupBy } from "../../../io/collections.ts";
import { alternativesOf } from "../../../lock/alternatives.ts";
import type { Lock, LockedImage } from "../../../lock/lock.ts";
import { isEligible } from "../../../resolve/check-fit.ts";
import { fitOptions } from "../../../resolve/resolve-options.ts";
import { requireKnownAxes } from "../../../resolve/pins.ts";
import { orderBy } from "../../../resolve/rank.ts";
import type { ResolveImageOptions } from "../../../resolve/resolve-image.ts";
import { keys, vocabularyVersions } from "../labels/vocabulary.ts";
import { type Cube, coverNode, type Node, never, pathsOf } from "./decision-diagrams.ts";
import { fitModes } from "./fit-modes.ts";
import { type Contender, createOrder } from "./image-order.ts";
import { type Condition, type Conditions, createConditions, possibleNodes } from "./node-conditions.ts";

/** A demand on one label, for every system to write in its words. Labels with numbers are there on every node. */
export interface LabelTerm {
  readonly key: string;
  readonly operator: "Exists" | "DoesNotExist" | "In" | "NotIn" | "AtLeast" | "Below";
  /** Values for `In` and `NotIn`, one number for `AtLeast` and `Below`. `NotIn` holds for an absent label too. */
  readonly values: readonly string[];
}

/** All of these hold. At most one for each label and operator; those of one label stand together. */
export type Term = readonly LabelTerm[];

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
export function splitNodes(lock: Lock, options: ResolveImageOptions = {}): NodeSplit {
  const conditions = createConditions();
  const images = eligibleImages(lock, options);
  const forAmd = images.find(({ image }) => vendorsOf(image.requires).includes("amd"));
  if (forAmd !== undefined) {
    throw new ImgmatchError({
      code: "LAUNCH_UNSUPPORTED",
      message: `no label of a node says which code its AMD GPUs run, and ${forAmd.cell} has code for gfx targets`,
      fix: "claim the GPUs (kubernetes --dra), leave those images out with --pin accel=VALUE or --cpu, or let the nodes ask for themselves: imgmatch serve, imgmatch resolve",
    });
  }
  const { winners, possible } = winnersOf(lock, images, conditions, options);
  const members = winners.map(({ cell, image, wins }): FleetMember => {
    return {
      cell,
      image,
      terms: termsOf(wins, possible, conditions),
      disjointTerms: (most) =>
        pathsOf(conditions, wins, possible, most)?.map((cube) => nodeTerm(cube, conditions)) ?? null,
    };
  });
  return { members, shadowed: cellsBut(images, members) };
}

export type EligibleImages = readonly Pick<FleetMember, "cell" | "image">[];

/** Those that could be the answer on some node, by cell. */
export function eligibleImages(lock: Lock, options: ResolveImageOptions): EligibleImages {
  const judge = fitOptions(lock, options);
  requireKnownAxes(judge.pins, lock.images);
  const images = Object.entries(lock.images)
    .filter(([, image]) => isEligible(image, judge))
    .sort(compareFirst)
    .map(([cell, image]) => ({ cell, image }));
  if (images.length <= mostImages) return images;
  throw new ImgmatchError({
    code: "LAUNCH_UNSUPPORTED",
    message: `${images.length} images are too many for one fleet: ${mostImages} at most`,
    fix: "fix the axes that no node decides, for example --pin python=3.12",
  });
}

/** Each image that wins on some node, and on which. `possible` are all nodes that there can be. */
export function winnersOf(
  lock: Lock,
  images: EligibleImages,
  conditions: Conditions,
  options: ResolveImageOptions,
) {
  const judge = fitOptions(lock, options);
  const { and, or, not } = conditions;
  const contenders = images.flatMap(({ cell, image: whole }) =>
    alternativesOf(whole).flatMap((image) =>
      fitModes(image, conditions, judge).map((mode): Contender => ({ ...mode, cell, image })),
    ),
  );
  const before = createOrder(conditions, orderBy(options.prefer ?? lock.prefer));
  const possible = possibleNodes(conditions);
  const winners = images.flatMap(({ cell, image }) => {
    const mine = contenders.filter((each) => each.cell === cell);
    const others = contenders.filter((each) => each.cell !== cell);
    const wins = mine.reduce<Node>((any, each) => {
      let alone = and(each.when, possible);
      for (const other of others) {
        if (alone === never) break;
        const shared = and(alone, other.when);
        if (shared !== never) alone = and(alone, not(and(shared, before(other, each))));
      }
      return or(any, alone);
    }, never);
    return wins === never ? [] : [{ cell, image, wins }];
  });
  return { winners, possible };
}

/** The cells of `all` that are not among `some`. */
export function cellsBut(
  all: readonly Pick<FleetMember, "cell">[],
  some: readonly Pick<FleetMember, "cell">[],
): readonly string[] {
  const there = new Set(some.map(({ cell }) => cell));
  return [...new Set(all.map(({ cell }) => cell))].filter((cell) => !there.has(cell));
}

/** Alternatives that hold on exactly these of the possible nodes. */
export function termsOf(nodes: Node, possible: Node, conditions: Conditions): readonly Term[] {
  const { or, not } = conditions;
  return coverNode(conditions, nodes, or(nodes, not(possible))).map((cube) => nodeTerm(cube, conditions));
}

/** A node of newer words, or of none, may be anything: nothing is scheduled to it on a guess. */
function nodeTerm(cube: Cube, conditions: Conditions): Term {
  return [{ key: keys.vocabulary, operator: "In", values: vocabularyVersions }, ...termOf(cube, conditions)];
}

/** Leaves out what the rest implies: a number above 5 needs no word about 3, and a label with this value no word about others. */
export function termOf(cube: Cube, conditions: Conditions): Term {
  const tests = cube.flatMap(({ variable, holds }) => {
    const condition = conditions.asked.get(variable);
    return condition === undefined ? [] : [labelTerm(condition, holds)];
  });
  return [...groupBy(tests, ({ key }) => key).values()].flatMap((ofKey) =>
    [...groupBy(ofKey, ({ operator }) => operator)].flatMap(([operator, same]): Term => {
      // Numbers ascend, as conditions are in the order of their values.
      if (operator === "AtLeast") return same.slice(-1);
      if (operator !== "NotIn") return same.slice(0, 1);
      if (ofKey.some((other) => other.operator === "In")) return [];
      return same.slice(0, 1).map((first) => ({ ...first, values: same.flatMap(({ values }) => values) }));
    }),
  );
}

function labelTerm(condition: Condition, holds: boolean): LabelTerm {
  const { key } = condition;
  switch (condition.kind) {
    case "exists":
      return { key, operator: holds ? "Exists" : "DoesNotExist", values: [] };
    case "is":
      return { key, operator: holds ? "In" : "NotIn", values: [condition.value] };
    case "atLeast":
      return { key, operator: holds ? "AtLeast" : "Below", values: [String(condition.number)] };
  }
}
