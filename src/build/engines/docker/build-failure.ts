/** A failed step → the problem that a person reads. */

import { ImgmatchError, type ProblemCode } from "../../../errors.ts";
import { adviseTrust, type TrustAdvice } from "../trust.ts";
import type { BuildFailure } from "./build-output.ts";

/** `BASE_UNRESOLVED` when a base image could not be had, `ENGINE_FAILED` on a full disk, else `BUILD_FAILED`. */
export function buildFailure(
  cell: string,
  { step, message, lastLines }: BuildFailure,
  advise: TrustAdvice = adviseTrust("engine"),
): ImgmatchError {
  const place = step === null ? "the build failed" : `step ${step} failed`;
  const output = lastLines.map((line) => `\n    ${line}`).join("");
  const text = `${cell}: ${place}: ${message}${output}`;
  const { code, fix } = kind(step, message, advise);
  return new ImgmatchError({ code, message: text, ...(fix === null ? {} : { fix }) });
}

function kind(
  step: string | null,
  message: string,
  advise: TrustAdvice,
): { readonly code: ProblemCode; readonly fix: string | null } {
  const trust = advise(message);
  if (trust !== null) return { code: "BASE_UNRESOLVED", fix: trust };
  const [, base] = /^\[internal\] load metadata for (\S+)/.exec(step ?? "") ?? [];
  if (base !== undefined || /failed to resolve source metadata|pull access denied/.test(message)) {
    const fix = `check that the engine reaches the registry of ${base ?? "the base image"}, that the image exists there, and log in if it is private`;
    return { code: "BASE_UNRESOLVED", fix };
  }
  if (/no space left on device/.test(message)) {
    return {
      code: "ENGINE_FAILED",
      fix: "free space on the engine's disk: docker builder prune, docker image prune",
    };
  }
  return { code: "BUILD_FAILED", fix: null };
}
