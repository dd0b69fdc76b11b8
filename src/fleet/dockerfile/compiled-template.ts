/** A Dockerfile, or the template of one, once it is read. Apart from its parser, whose types a user of the library does not have. */

import type { TemplateView } from "./view.ts";

export interface Template {
  /** A Dockerfile that is used as it stands, and gets its cell by build arguments alone. */
  readonly isPlain: boolean;
  /** Throws `TEMPLATE_UNKNOWN_NAME` when the template names something that the view does not have. */
  render(view: TemplateView): string;
}
