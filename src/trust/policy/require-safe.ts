/** Nobody else may write the file that says whom to trust. */

import { requireOwn } from "../../io/writable-by-others.ts";

/** Throws `TRUST_UNSAFE` when somebody beside this user and root can change the file, or a folder above. */
export function requireSafe(file: string): void {
  requireOwn([file], "TRUST_UNSAFE", "it decides whom to trust", { fix: (path) => `chown root ${path}` });
}
