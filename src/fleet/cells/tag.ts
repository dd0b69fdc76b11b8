/** Renders tags: `{{version}}-{{cell}}-{{inputs}}` → `1.12.0-12.8.1_8.0_broadwell-0c2f…`. */

import { remember } from "../../io/collections.ts";
import { isTag } from "../../oci/reference.ts";
import { slug } from "../../oci/slug.ts";
import type { Requirement } from "../../lock/requirement.ts";
import { type Digest, noDigest } from "../../oci/digest.ts";
import type { Place, Problem } from "../../errors.ts";
import { toolkitOf } from "../matrix/gpu-axes.ts";
import type { Located, Matrix } from "../matrix/matrix.ts";
import { allValues } from "../matrix/values.ts";
import type { Cell } from "./cell.ts";
import { choose } from "./choose-cases.ts";
import { shortDigest } from "./input-digest.ts";
import { memoizeBy } from "./memoize-by.ts";

const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** A cell's tag; null if the tag needs an input digest and that is not known yet. */
export type TagOf = (cell: Cell, inputs: Digest | null) => string | null;

/** A cell, or its image in the lock. */
export type Named = Pick<Cell, "id" | "axes" | "platform" | "requires">;

/** Compiles the tag template and checks the names in it. */
export function compileTag(matrix: Matrix): { readonly tagOf: TagOf; readonly problems: readonly Problem[] } {
  const { textOf, names, problems } = compileName(matrix, matrix.tag, "the tag template", ["inputs"]);
  const needsInputs = names.includes("inputs");
  const tagOf: TagOf = (cell, inputs) =>
    needsInputs && inputs === null
      ? null
      : textOf(cell, { inputs: inputs === null ? "" : shortDigest(inputs) });
  return { tagOf, problems };
}

export interface CompiledName {
  readonly textOf: (of: Named, more?: Readonly<Record<string, string>>) => string;
  /** The placeholders in the template. */
  readonly names: readonly string[];
  readonly problems: readonly Problem[];
}

/**
 * Compiles the template of a tag, a channel or a variant, and checks the placeholders in it.
 *
 * @param whose the template, for messages
 * @param more further placeholders: `textOf` gets their texts
 */
export function compileName(
  matrix: Matrix,
  { value: template, at }: Located<string>,
  whose: string,
  more: readonly string[] = [],
): CompiledName {
  // Their texts are the same for every cell.
  const fixed = new Map([
    ["name", slug(matrix.name)],
    ["version", versionTag(matrix)],
  ]);
  const known = [
    ...fixed.keys(),
    ...Object.keys(placeholders),
    ...more,
    ...matrix.axes.map(({ name }) => name),
    ...broughtTexts(matrix).keys(),
    ...matrix.values.map(({ name }) => name),
  ];
  // Every second part is a placeholder's name.
  const parts = template.split(placeholder);
  const names = parts.filter((_, index) => index % 2 === 1);
  const problems = names.flatMap((name): Problem[] => {
    if (known.includes(name)) return [];
    const message = `${whose} names {{${name}}}, which does not exist`;
    return [{ code: "TAG_INVALID", message, fix: `the names are ${known.join(", ")}`, at }];
  });
  const textOf: CompiledName["textOf"] = (cell, given = {}) => {
    let text = "";
    for (const [index, part] of parts.entries())
      text +=
        index % 2 === 1 ? (given[part] ?? fixed.get(part) ?? placeholderText(part, matrix, cell)) : part;
    return text;
  };
  return { textOf, names, problems };
}

/** The tag of the version's index. */
export function versionTag({ version }: Pick<Matrix, "version">): string {
  return slug(version);
}

/** Placeholders with the text that a cell has for each. Every axis is one too. */
const placeholders = {
  cell: ({ id }) => id,
  platform: ({ platform }) => slug(platform),
  architecture: ({ platform }) => slug(platform.slice(platform.indexOf("/") + 1)),
  "accel.short": ({ requires }) => slug(shortAccel(requires)),
  "cuda.short": ({ requires }) => slug(shortAccel(requires)),
} as const satisfies Record<string, (cell: Named) => string>;

/** `cu128`, `rocm7.2`, `cpu`; an accelerator that imgmatch does not judge has its name. */
function shortAccel(requires: Requirement): string {
  const toolkit = toolkitOf(requires);
  return toolkit?.shortOf(toolkit.release) ?? requires.accelerator ?? "cpu";
}

function placeholderText(name: string, matrix: Matrix, cell: Named): string {
  return Object.hasOwn(placeholders, name)
    ? placeholders[name as keyof typeof placeholders](cell)
    : slug(broughtText(name, matrix, cell) ?? namedText(name, matrix, cell) ?? cell.axes[name] ?? "");
}

/** Looks the value up by its label: an image of the lock has nothing else. */
function broughtText(name: string, matrix: Matrix, cell: Named) {
  const texts = broughtTexts(matrix).get(name);
  return texts === undefined ? null : (texts.get(cell.axes[name.slice(0, name.indexOf("."))] ?? "") ?? "");
}

/** `cuda.cudnn` → the label of each value that brings a text → the text. */
const broughtTexts = memoizeBy((matrix: Pick<Matrix, "axes" | "include">) => {
  const found = new Map<string, Map<string, string>>();
  for (const [axis, { data, label }] of allValues(matrix))
    for (const [key, text] of Object.entries(data))
      if (typeof text === "string") remember(found, `${axis}.${key}`, () => new Map()).set(label, text);
  return found;
});

/** The text of an entry of `values:`; null for another name. */
function namedText(name: string, matrix: Matrix, cell: Named) {
  const named = matrix.values.find((each) => each.name === name);
  if (named === undefined) return null;
  const own = allValues(matrix).filter(([axis, { label }]) => cell.axes[axis] === label);
  const chosen = choose(named.cases, { ...cell, values: Object.fromEntries(own) });
  return typeof chosen?.value === "string" ? chosen.value : "";
}

/** Reports tags that no registry takes, and pairs of cells with the same tag in the same repository. */
export function tagProblems(cells: readonly Cell[], tagOf: TagOf, at: Place): Problem[] {
  const seen = new Map<string, Cell>();
  const problems: Problem[] = [];
  for (const cell of cells) {
    const tag = tagOf(cell, noDigest) ?? "";
    if (!isTag(tag)) {
      const message =
        tag.length > 128
          ? `the tag of cell ${cell.id} is ${tag.length} characters long, the limit is 128: ${tag}`
          : `the tag of cell ${cell.id} is not valid: ${JSON.stringify(tag)}`;
      const fix =
        "letters, digits, _ . - only; not . or - first; shorten the template or give values shorter labels";
      problems.push({ code: "TAG_INVALID", message, fix, at });
    }
    // A repository that is a template is compared as it is written.
    const place = `${cell.settings.repository?.value ?? ""}\n${tag}`;
    const twin = remember(seen, place, () => cell);
    if (twin !== cell) {
      const shown = JSON.stringify(tag.replace("0".repeat(12), "…"));
      const message = `two cells have the tag ${shown}: ${twin.id} and ${cell.id}`;
      const fix = "put {{cell}}, or every axis, into the tag template";
      problems.push({ code: "TAG_COLLISION", message, fix, at });
    }
  }
  return problems;
}
