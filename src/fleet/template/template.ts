/** Compiles templates in the language of Handlebars. Unknown names and helpers are errors with a place, and nothing is HTML-escaped. */

import { checkTemplate } from "./check-template.ts";
import { evaluateTemplate } from "./evaluate-template.ts";
import type { Partials } from "./partials.ts";
import { parseTemplate } from "./template-syntax.ts";
import type { Template } from "./view.ts";

/**
 * Compiles a template with all its partials. Throws `TEMPLATE_SYNTAX` with the place.
 *
 * @example
 * compileTemplate("FROM {{base}}\n", "app.hbs").render(view);
 */
export function compileTemplate(source: string, file: string, partials: Partials = new Map()): Template {
  const parsed = parseTemplate(source, file);
  for (const each of [parsed, ...partials.values()]) checkTemplate(each, partials);
  return { isPlain: false, render: (view) => evaluateTemplate(parsed, view, view.cell, partials) };
}

/** Any other name is that of a Dockerfile. */
export function isTemplateName(path: string): boolean {
  return /\.(hbs|handlebars)$/i.test(path);
}

/** A Dockerfile that is used as it stands: `{{` has no meaning in it. */
export function plainDockerfile(text: string): Template {
  return { isPlain: true, render: () => text };
}
