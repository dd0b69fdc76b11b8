/** Reads partials: `{{> apt}}` inserts the file `apt.hbs` beside the template. */

import { ImgmatchError, type Place } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { nameOf, parseTemplate, placeOfNode, type TemplateSource, walkTree } from "./template-syntax.ts";

/** Keys are names as templates write them. */
export type Partials = ReadonlyMap<string, TemplateSource>;

export const partialsHint =
  "write {{> name}} for name.hbs, or {{> folder/name}}, beside the template or further down";

/** Allows only names below the template's folder: no `..`, no root, nothing hidden. */
export function isPartialName(name: string): boolean {
  return name.length <= 200 && /^\w[\w.-]*(\/\w[\w.-]*)*$/.test(name);
}

/** The path from the template's folder. */
export function partialFile(name: string): string {
  return name.endsWith(".hbs") ? name : `${name}.hbs`;
}

export interface PartialFile {
  /** The path, for messages. */
  readonly file: string;
  readonly text: string;
}

/**
 * Reads the partials of a template and the partials of those. Throws `TEMPLATE_SYNTAX` where a partial inserts itself, and the errors of
 * `read`.
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

/** The partials whose names can be files. `checkTemplate` refuses the others. */
function partialsIn(source: TemplateSource): ReadonlyMap<string, Place> {
  const names = new Map<string, Place>();
  walkTree(source.tree, (node) => {
    if (node.type !== "PartialStatement") return;
    const name = nameOf((node as hbs.AST.PartialStatement).name);
    if (isPartialName(name)) remember(names, name, () => placeOfNode(node, source));
  });
  return names;
}
