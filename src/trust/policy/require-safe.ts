/** Nobody else may write the file that says whom to trust. */

import { ImgmatchError } from "../../errors.ts";
import { findWritableByOthers } from "../../io/writable-by-others.ts";

/** Throws `TRUST_UNSAFE` when somebody beside this user and root can change the file, or a folder above. */
export function requireSafe(file: string): void {
  const found = findWritableByOthers([file]);
  if (found === null) return;
  const { path, why, byMode } = found;
  throw new ImgmatchError({
    code: "TRUST_UNSAFE",
    message: `${why}: anybody who can write it decides whom to trust`,
    fix: byMode ? `chmod go-w ${path}` : `chown root ${path}`,
    at: { file: path },
  });
}
