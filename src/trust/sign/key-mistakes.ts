/** Faults of a key that is to sign: those that people can mend. */

import { ImgmatchError } from "../../errors.ts";

export function wrongPassword(name: string, password: string | undefined): ImgmatchError {
  return password === undefined
    ? invalidKey(name, "is encrypted", "give its password in COSIGN_PASSWORD")
    : invalidKey(name, "does not open with the password in COSIGN_PASSWORD", "check the password");
}

export function invalidKey(name: string, what: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "KEY_INVALID", message: `${name} ${what}`, fix });
}

/** The error of a signer, or of a service that vouches for its signature. */
export function signingFailed(who: string, why: string, fix: string, cause?: unknown): ImgmatchError {
  return new ImgmatchError({ code: "SIGNING_FAILED", message: `${who}: ${why}`, fix }, { cause });
}
