/** Lock → text: sorted keys, two spaces, final newline; equal locks are equal bytes, and two people's changes merge. */

import type { Lock } from "./lock.ts";
import { canonical } from "../oci/canonical-json.ts";

export function formatLock(lock: Lock): string {
  return `${JSON.stringify(canonical(lock), null, 2)}\n`;
}
