/** Splits all nodes among the images of a lock by their labels, as resolve would. */

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

/** A demand on one label. Each system writes it in its words. Every node has the labels with numbers. */
export interface LabelTerm {
  readonly key: string;
  readonly operator: "Exists" | "DoesNotExist" | "In" | "NotIn" | "AtLeast" | "Below";
  /** Values for `In` and `NotIn`, one number for `AtLeast` and `Below`. `NotIn` also holds for an absent label. */
  readonly values: readonly string[];
}

/** Demands that must all hold: at most one for each label and operator. Those of one label stand together. */
export type Term = readonly LabelTerm[];

export interface FleetMember {
  readonly cell: string;
  readonly image: LockedImage;
  /** Alternatives, which may overlap: the image wins on a node where one of them holds. */
  readonly terms: readonly Term[];
  /** Alternatives that never overlap, for systems that would start the image twice; null if there are more than `most`. */
  readonly disjointTerms: (most: number) => readonly Term[] | null;
}

export interface NodeSplit {
  readonly members: readonly FleetMember[];
  /** Cells that win on no node at all: another image always comes first. */
  readonly shadowed: readonly string[];
}

/** Comparing more images with each other takes minutes. */
const mostImages = 200;

/**
 * Gives each node to the image that `resolveImage` picks there. A node that no image fits belongs to none. Throws `LAUNCH_UNSUPPORTED` for
 * needs that labels cannot express, and as `resolveImage` does.
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

/** The images that may be the answer on some node, sorted by cell. */
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

/** Each image that wins on some node, with these nodes. `possible` are all nodes that can exist. */
export function winnersOf(
  lock: Lock,
  images: EligibleImages,
  conditions: Conditions,
  options: ResolveImageOptions,
) {
  const judge = fitOptions(lock, options);
  const { and, or, not } = conditions;
  const contenders = images.flatMap(({ cell, image: locked }) =>
    alternativesOf(locked).flatMap((image) =>
      fitModes(image, conditions, judge).map((mode): Contender => ({ ...mode, cell, image })),
    ),
  );
  const before = createOrder(conditions, orderBy(options.prefer ?? lock.prefer));
  const possible = possibleNodes(conditions);
  const winners = images.flatMap(({ cell, image }) => {
    const ways = contenders.filter((each) => each.cell === cell);
    const others = contenders.filter((each) => each.cell !== cell);
    const wins = ways.reduce<Node>((any, way) => {
      let alone = and(way.when, possible);
      for (const other of others) {
        if (alone === never) break;
        const shared = and(alone, other.when);
        if (shared !== never) alone = and(alone, not(and(shared, before(other, way))));
      }
      return or(any, alone);
    }, never);
    return wins === never ? [] : [{ cell, image, wins }];
  });
  return { winners, possible };
}

/** The cells of `all` without those of `some`. */
export function cellsBut(
  all: readonly Pick<FleetMember, "cell">[],
  some: readonly Pick<FleetMember, "cell">[],
): readonly string[] {
  const there = new Set(some.map(({ cell }) => cell));
  return [...new Set(all.map(({ cell }) => cell))].filter((cell) => !there.has(cell));
}

/** Alternatives that, of the possible nodes, hold on exactly these. */
export function termsOf(nodes: Node, possible: Node, conditions: Conditions): readonly Term[] {
  const { or, not } = conditions;
  return coverNode(conditions, nodes, or(nodes, not(possible))).map((cube) => nodeTerm(cube, conditions));
}

/** Only nodes of a known vocabulary: another node's labels may mean anything. */
function nodeTerm(cube: Cube, conditions: Conditions): Term {
  return [{ key: keys.vocabulary, operator: "In", values: vocabularyVersions }, ...termOf(cube, conditions)];
}

/** Drops demands that others imply: `AtLeast 5` implies `AtLeast 3`, and `In` implies every `NotIn` of its label. */
export function termOf(cube: Cube, conditions: Conditions): Term {
  const tests = cube.flatMap(({ variable, holds }) => {
    const condition = conditions.byVariable.get(variable);
    return condition === undefined ? [] : [labelTerm(condition, holds)];
  });
  return [...groupBy(tests, ({ key }) => key).values()].flatMap((ofKey) =>
    [...groupBy(ofKey, ({ operator }) => operator)].flatMap(([operator, same]): Term => {
      // A cube is in the order of the variables, so numbers ascend.
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
