/** Partials: `{{> apt}}` puts in the file `apt.hbs` beside the template. */

import { ImgmatchError, type Place } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { nameOf, parseTemplate, placeOfNode, type TemplateSource, walkTree } from "./template-syntax.ts";

/** By the name that templates write. */
export type Partials = ReadonlyMap<string, TemplateSource>;

export const partialsHint =
  "write {{> name}} for name.hbs, or {{> folder/name}}, beside the template or further down";

/** Names below the template's folder alone: no `..`, no root, nothing hidden. */
export function isPartialName(name: string): boolean {
  return name.length <= 200 && /^\w[\w.-]*(\/\w[\w.-]*)*$/.test(name);
}

/** Beside the template. */
export function partialFile(name: string): string {
  return name.endsWith(".hbs") ? name : `${name}.hbs`;
}

export interface PartialFile {
  /** As messages show it. */
  readonly file: string;
  readonly text: string;
}

/**
 * Reads the partials of a template, and those that they name, with `read`.
 * Throws `TEMPLATE_SYNTAX` at the place that names it for one that puts itself in, and what `read` throws.
 */
export async function readPartials(
  template: TemplateSource,
  read: (name: string, at: Place) => Promise<PartialFile>,
): Promise<Partials> {
  const found = new Map<string, TemplateSource>();
  await visit(template, []);
  return found;

  async function visit(source: TemplateSource, above: readonly string[]): Promise<void> {
    for (const [name, at] of partialsIn(source)) {
      if (above.includes(name)) {
        const [message, fix] = [`the partial ${name} puts itself in`, "take it out of itself"];
        throw new ImgmatchError({ code: "TEMPLATE_SYNTAX", message, fix, at });
      }
      if (found.has(name)) continue;
      const file = await read(name, at);
      const parsed = parseTemplate(file.text, file.file);
      found.set(name, parsed);
      await visit(parsed, [...above, name]);
    }
  }
}

/** Those that can be files; what else stands there is refused when the template is checked. */
function partialsIn(source: TemplateSource): ReadonlyMap<string, Place> {
  const names = new Map<string, Place>();
  walkTree(source.tree, (node) => {
    if (node.type !== "PartialStatement") return;
    const name = nameOf((node as hbs.AST.PartialStatement).name);
    if (isPartialName(name)) remember(names, name, () => placeOfNode(node, source));
  });
  return names;
}
