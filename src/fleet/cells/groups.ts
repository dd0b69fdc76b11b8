/** Groups of cells under one name: channels, which `promote` moves, and variants, which are published beside the version's index. */

import { ImgmatchError, type Place, type Problem } from "../../errors.ts";
import { groupBy } from "../../io/collections.ts";
import { isTag } from "../../oci/reference.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import type { Cell } from "./cell.ts";
import { parseSelections, selects } from "./select.ts";
import { compileName, type Named, type TagOf, versionTag } from "./tag.ts";

/** The cells or images of one channel or variant. */
export interface Group<Each extends Named> {
  readonly name: string;
  readonly members: readonly Each[];
  /** The place of the name's template. */
  readonly at: Place;
}

/** In the order of the matrix. A name that is a template gives a channel for each of its texts. Throws `SELECTION_INVALID`. */
export function channelGroups<Each extends Named>(
  matrix: Matrix,
  all: readonly Each[],
): readonly Group<Each>[] {
  return Object.entries(matrix.channels).flatMap((channel) => groupsOfChannel(matrix, channel, all));
}

function groupsOfChannel<Each extends Named>(
  matrix: Matrix,
  [template, { value, at }]: readonly [template: string, only: Located<readonly string[]>],
  all: readonly Each[],
): readonly Group<Each>[] {
  const axes = matrix.axes.map(({ name }) => name);
  const selections = parseSelections(value, axes, `channel ${template}`);
  const chosen = all.filter((each) => selections.some((selection) => selects(selection, each)));
  return groupsOf(matrix, { value: template, at }, chosen);
}

export function variantGroups<Each extends Named>(
  matrix: Matrix,
  all: readonly Each[],
): readonly Group<Each>[] {
  return matrix.variants.flatMap((template) => groupsOf(matrix, template, all));
}

function groupsOf<Each extends Named>(
  matrix: Matrix,
  template: Located<string>,
  all: readonly Each[],
): readonly Group<Each>[] {
  const { textOf } = compileName(matrix, template, template.value);
  return [...groupBy(all, (each) => textOf(each))].map(([name, members]) => ({
    name,
    members,
    at: template.at,
  }));
}

/** The mistakes in channels and variants. None may have the tag of a cell, which `tagOf` tells. */
export function groupProblems(matrix: Matrix, cells: readonly Cell[], tagOf: TagOf): readonly Problem[] {
  const templates = [
    ...Object.entries(matrix.channels).map(([value, { at }]) => ({ value, at, whose: `channel ${value}` })),
    ...matrix.variants.map(({ value, at }) => ({ value, at, whose: `variant ${value}` })),
  ];
  if (templates.length === 0) return [];
  const wrong = templates.flatMap(({ whose, ...each }) => compileName(matrix, each, whose).problems);
  const selections = Object.entries(matrix.channels).flatMap((each) =>
    selectionProblems(matrix, each, cells),
  );
  const problems = [...wrong, ...selections, ...matrix.variants.flatMap((each) => moving(matrix, each))];
  if (problems.length > 0) return problems;
  const variants = variantGroups(matrix, cells);
  return [
    ...nameProblems(matrix, [...channelGroups(matrix, cells), ...variants], cells, tagOf),
    ...variants.flatMap(crowded),
  ];
}

/** Refuses a variant without the version in its name. Its index never changes, so the next version could not be published. */
function moving(matrix: Matrix, template: Located<string>): readonly Problem[] {
  const whose = `variant ${template.value}`;
  if (compileName(matrix, template, whose).names.includes("version")) return [];
  const fix = "put {{version}} into the tag, or make a channel of it for promote to move";
  return [{ code: "TAG_INVALID", message: `${whose} does not name the version`, fix, at: template.at }];
}

function selectionProblems(
  matrix: Matrix,
  channel: Parameters<typeof groupsOfChannel>[1],
  cells: readonly Cell[],
): readonly Problem[] {
  const [name, { at }] = channel;
  try {
    if (groupsOfChannel(matrix, channel, cells).length > 0) return [];
    const fix = "imgmatch plan lists the cells";
    return [{ code: "SELECTION_EMPTY", message: `channel ${name} selects no cell`, fix, at }];
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    return error.problems.map((each) => ({ ...each, at }));
  }
}

function nameProblems(
  matrix: Matrix,
  groups: readonly Group<Cell>[],
  cells: readonly Cell[],
  tagOf: TagOf,
): readonly Problem[] {
  const taken = new Map<string, string>([[versionTag(matrix), "the version"]]);
  for (const cell of cells) {
    const tag = tagOf(cell, null);
    if (tag !== null) taken.set(tag, `cell ${cell.id}`);
  }
  return groups.flatMap(({ name, at }): Problem[] => {
    const whose = taken.get(name);
    taken.set(name, "another channel or variant");
    if (!isTag(name)) {
      const fix = "at most 128 letters, digits and _ . -, not . or - first";
      return [{ code: "TAG_INVALID", message: `${JSON.stringify(name)} is no tag`, fix, at }];
    }
    if (whose === undefined) return [];
    const message = `${JSON.stringify(name)} is the tag of ${whose} already`;
    return [{ code: "TAG_COLLISION", message, fix: "give it another name", at }];
  });
}

/** Refuses two images of one platform in a variant: a plain pull, which goes by the platform alone, would get either. */
function crowded({ name, members, at }: Group<Cell>): readonly Problem[] {
  return [...groupBy(members, ({ platform }) => platform)].flatMap(([platform, [one, other]]): Problem[] => {
    if (one === undefined || other === undefined) return [];
    const message = `variant ${name} has two images of ${platform}: ${one.id} and ${other.id}`;
    const fix = "name the axis in which they differ in the variant";
    return [{ code: "TAG_COLLISION", message, fix, at }];
  });
}
