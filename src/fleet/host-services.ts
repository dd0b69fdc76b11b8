/** The port of what knows hosts. */

import type { WriteGuard } from "./dockerfile/guard.ts";

export interface HostServices {
  readonly writeGuard: WriteGuard;
  /** The march that compilers take for `native` on this machine; null if nobody knows it. */
  readonly marchHere: () => Promise<string | null>;
}
