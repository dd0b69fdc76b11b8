/** A failed step → the problem that a person reads. */

import { ImgmatchError, type ProblemCode } from "../../../../errors.ts";
import { namesLocalBase } from "../../../../oci/local-base.ts";
import { type Advice, adviceFor } from "../advice.ts";
import type { BuildFailure } from "./build-output.ts";

/** Whether the engine's disk is: BuildKit says so, or what a step runs. */
export function isFull({ message, lastLines }: BuildFailure): boolean {
  return [message, ...lastLines].some((line) => /no space left on device/i.test(line));
}

/**
 * `BASE_UNRESOLVED` when a base image could not be had, `ENGINE_FAILED` on a full disk, else `BUILD_FAILED`.
 * `folder`: where the engine keeps its data, if known.
 */
export function buildFailure(
  cell: string,
  failure: BuildFailure,
  advice: Advice = adviceFor("engine"),
  folder?: string,
): ImgmatchError {
  const { step, message, lastLines } = failure;
  const place = step === null ? "the build failed" : `step ${step} failed`;
  // An engine may quote a step of several lines, or what a program printed.
  const [first = "", ...rest] = message.split(/\r?\n/);
  const { code, fix } = kind(failure, advice, folder);
  return new ImgmatchError({
    code,
    message: `${cell}: ${place}: ${first}`,
    details: [...rest, ...lastLines].map((line) => `    ${line}`),
    ...(fix === null ? {} : { fix }),
  });
}

function kind(
  failure: BuildFailure,
  advice: Advice,
  folder: string | undefined,
): { readonly code: ProblemCode; readonly fix: string | null } {
  const { step, message } = failure;
  if (namesLocalBase(`${step} ${message}`)) {
    const fix =
      "the engine has this base for another platform alone: build it for this cell's too, or leave the cell out with --only";
    return { code: "BASE_UNRESOLVED", fix };
  }
  // moby/buildkit, session/manager.go: what POST /build alone cannot give.
  if (/\bno active sessions\b/.test(message)) {
    const fix =
      "a secret, an SSH agent or a token is asked for, which takes the docker command with buildx: install its packages";
    return { code: "ENGINE_NOT_FOUND", fix };
  }
  const trust = advice.trust(message);
  if (trust !== null) return { code: "BASE_UNRESOLVED", fix: trust };
  const [, base] = /^\[internal\] load metadata for (\S+)/.exec(step ?? "") ?? [];
  if (base !== undefined || /failed to resolve source metadata|pull access denied/.test(message)) {
    const fix = `check that the engine reaches the registry of ${base ?? "the base image"}, that the image exists there, and log in if it is private`;
    return { code: "BASE_UNRESOLVED", fix };
  }
  if (isFull(failure)) return { code: "ENGINE_FAILED", fix: advice.full(folder) };
  return { code: "BUILD_FAILED", fix: null };
}
