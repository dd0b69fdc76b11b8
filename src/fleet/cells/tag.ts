/** Tags: `{{version}}-{{cell}}-{{inputs}}` → `1.12.0-12.8.1_8.0_broadwell-0c2f…`. */

import { slug } from "../../oci/slug.ts";
import type { Digest } from "../../oci/digest.ts";
import type { Place, Problem } from "../../errors.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { Cell } from "./cell.ts";
import { shortDigest } from "./input-digest.ts";

// https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#pulling-manifests
const tagGrammar = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const placeholder = /\{\{\s*([^{}]*?)\s*\}\}/g;

/** A cell's tag, or null as long as it needs an input digest that is not known yet. */
export type TagOf = (cell: Cell, inputs: Digest | null) => string | null;

/** Checks the tag template's names and compiles it. */
export function compileTag(matrix: Matrix): { readonly tagOf: TagOf; readonly problems: readonly Problem[] } {
  const { value: template, at } = matrix.tag;
  const known = [...Object.keys(placeholders), ...matrix.axes.map(({ name }) => name)];
  const problems: Problem[] = [];
  for (const [whole, name = ""] of template.matchAll(placeholder)) {
    if (known.includes(name)) continue;
    problems.push({
      code: "TAG_INVALID",
      message: `the tag template names ${whole}, which does not exist`,
      fix: `the names are ${known.join(", ")}`,
      at,
    });
  }
  // Every second part is a placeholder's name.
  const parts = template.split(placeholder);
  const needsInputs = parts.some((part, index) => index % 2 === 1 && part === "inputs");
  const tagOf: TagOf = (cell, inputs) =>
    needsInputs && inputs === null
      ? null
      : parts
          .map((part, index) => (index % 2 === 1 ? placeholderText(part, { matrix, cell, inputs }) : part))
          .join("");
  return { tagOf, problems };
}

/** The tag of the version's index. */
export function versionTag({ version }: Pick<Matrix, "version">): string {
  return slug(version);
}

/** What stands for a name in the template; every axis is a name too. */
const placeholders = {
  name: ({ matrix }) => slug(matrix.name),
  version: ({ matrix }) => versionTag(matrix),
  cell: ({ cell }) => cell.id,
  inputs: ({ inputs }) => (inputs === null ? "" : shortDigest(inputs)),
  platform: ({ cell }) => slug(cell.platform),
  architecture: ({ cell }) => slug(cell.platform.slice(cell.platform.indexOf("/") + 1)),
} as const satisfies Record<string, (of: Tagged) => string>;

interface Tagged {
  readonly matrix: Matrix;
  readonly cell: Cell;
  readonly inputs: Digest | null;
}

function placeholderText(name: string, of: Tagged): string {
  return Object.hasOwn(placeholders, name)
    ? placeholders[name as keyof typeof placeholders](of)
    : slug(of.cell.axes[name] ?? "");
}

/** Tags that no registry takes, and pairs of cells with one tag. `probe` stands for a digest that is not known yet. */
export function tagProblems(cells: readonly Cell[], tagOf: TagOf, at: Place): Problem[] {
  const probe: Digest = `sha256:${"0".repeat(64)}`;
  const seen = new Map<string, Cell>();
  const problems: Problem[] = [];
  for (const cell of cells) {
    const tag = tagOf(cell, probe) ?? "";
    if (!tagGrammar.test(tag)) {
      const message =
        tag.length > 128
          ? `the tag of cell ${cell.id} is ${tag.length} characters long, the limit is 128: ${tag}`
          : `the tag of cell ${cell.id} is not valid: ${JSON.stringify(tag)}`;
      problems.push({
        code: "TAG_INVALID",
        message,
        fix: "letters, digits, _ . - only; not . or - first; shorten the template or give values shorter labels",
        at,
      });
    }
    const twin = seen.get(tag);
    if (twin === undefined) seen.set(tag, cell);
    else {
      problems.push({
        code: "TAG_COLLISION",
        message: `two cells have the tag ${JSON.stringify(tag.replace("0".repeat(12), "…"))}: ${twin.id} and ${cell.id}`,
        fix: "put {{cell}}, or every axis, into the tag template",
        at,
      });
    }
  }
  return problems;
}
