/** Templates in the language of Handlebars: unknown names and helpers are errors with a place, and nothing is HTML-escaped. */

import { checkTemplate } from "./check-template.ts";
import { evaluateTemplate } from "./evaluate-template.ts";
import type { Partials } from "./partials.ts";
import { parseTemplate } from "./template-syntax.ts";
import type { Template } from "./view.ts";

/**
 * Compiles a Dockerfile template with the partials that it and they name. Throws `TEMPLATE_SYNTAX` with the place.
 *
 * @example
 * compileTemplate("FROM {{base}}\n", "app.hbs").render(view);
 */
export function compileTemplate(source: string, file: string, partials: Partials = new Map()): Template {
  const parsed = parseTemplate(source, file);
  for (const each of [parsed, ...partials.values()]) checkTemplate(each, partials);
  return { isPlain: false, render: (view) => evaluateTemplate(parsed, view, view.cell, partials) };
}

/** A file of any other name is a Dockerfile. */
export function isTemplateName(path: string): boolean {
  return /\.(hbs|handlebars)$/i.test(path);
}

/** A Dockerfile without a template's language: what stands in it between `{{` and `}}` is its own. */
export function plainDockerfile(text: string): Template {
  return { isPlain: true, render: () => text };
}
