/** Turns a failed build into a problem: of the Dockerfile, of a base image, or of the engine's disk. */

import { ImgmatchError } from "../../errors.ts";
import { allMarches } from "../../hardware/cpu-marches.ts";
import type { ProblemCode } from "../../problem-codes.ts";
import { namesLocalBase } from "../../oci/local-base.ts";
import { parseDockerfile } from "../dockerfile/instructions.ts";
import type { Advice } from "./advice.ts";
import type { BuildRequest } from "./engine.ts";

export interface BuildFailure {
  /** The step as BuildKit names it, for example `[2/3] RUN make`; null when no step is to blame. */
  readonly step: string | null;
  readonly message: string;
  /** The last lines that the failing step printed. */
  readonly lastLines: readonly string[];
}

/** The engine's disk is full: BuildKit says so, or a program of a step. */
export function isFull({ message, lastLines }: BuildFailure): boolean {
  return [message, ...lastLines].some((line) => /no space left on device/i.test(line));
}

/**
 * `BASE_UNRESOLVED` when a base image could not be had, `ENGINE_FAILED` on a full disk, else `BUILD_FAILED`.
 * `folder`: where the engine keeps its data, if known.
 */
export function buildFailure(
  { cell, dockerfile, platform }: Pick<BuildRequest, "cell" | "dockerfile" | "platform">,
  failure: BuildFailure,
  advice: Advice,
  folder?: string,
): ImgmatchError {
  const { step, message, lastLines } = failure;
  const place = step === null ? "the build failed" : `step ${step} failed`;
  // An engine may quote a step of several lines, or what a program printed.
  const [first = "", ...rest] = message.split(/\r?\n/);
  const { code, fix } =
    unreadDocument(failure, dockerfile) ?? foreignProgram(failure, platform) ?? kind(failure, advice, folder);
  return new ImgmatchError({
    code,
    message: `${cell}: ${place}: ${first}`,
    details: [...rest, ...lastLines].map((line) => `    ${line}`),
    ...(fix === null ? {} : { fix }),
  });
}

/**
 * A front end without here-documents takes their lines for instructions, and `<<END` for the name of a file (moby/buildkit, dockerfile 1.4;
 * containers/podman#25421: Podman 4.9 with Buildah 1.33 does not read them). It counts the lines of the rendered Dockerfile: the instruction is
 * named, which the user has written.
 */
function unreadDocument({ message }: BuildFailure, dockerfile: string) {
  if (!/unknown instruction|stat: .*"\/<</i.test(message)) return null;
  const found = parseDockerfile(dockerfile).instructions.find(({ documents }) => documents !== "");
  if (found === undefined) return null;
  const code: ProblemCode = "BUILD_FAILED";
  const fix = `this engine reads no here-documents, as in: ${found.text.trim()}; begin the Dockerfile with # syntax=docker/dockerfile:1 for Docker, build with Docker 23, Podman 5 or Buildah 1.35 and newer, or write the lines into a file and COPY it`;
  return { code, fix };
}

/** The kernel's word for a program of another architecture, as a shell and runc pass it on. */
function foreignProgram({ message, lastLines }: BuildFailure, platform: string) {
  if (![message, ...lastLines].some((line) => /exec format error/i.test(line))) return null;
  const code: ProblemCode = "BUILD_FAILED";
  const fix = `the builder starts no programs of ${platform}, or the step starts one of another platform: register QEMU on the builder's machine (apt-get install qemu-user-static), build on a machine of ${platform} (--engine buildx --builder NAME), or correct the step`;
  return { code, fix };
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
  const trust = advice.trust(message);
  if (trust !== null) return { code: "BASE_UNRESOLVED", fix: trust };
  const [, base] = /^\[internal\] load metadata for (\S+)/.exec(step ?? "") ?? [];
  if (base !== undefined || /failed to resolve source metadata|pull access denied/.test(message)) {
    const fix = `check that the engine reaches the registry of ${base ?? "the base image"} and that the image exists; log in if the image is private`;
    return { code: "BASE_UNRESOLVED", fix };
  }
  // BuildKit before 0.10 (Docker before 23) has no named contexts.
  if (message.includes("moby.buildkit.frontend.contexts"))
    return { code: "ENGINE_FAILED", fix: "build with Docker 23 or newer: this engine takes no contexts" };
  if (isFull(failure)) return { code: "ENGINE_FAILED", fix: advice.full(folder) };
  return { code: "BUILD_FAILED", fix: unknownMarch(failure) };
}

/** The words of gcc and of clang for the value of an option that they do not have. */
const refusals = [
  /(?:bad|unknown) value \W*([\w.+-]+?)\W* for \W*-m(?:arch|cpu)\b/,
  /unknown target CPU \W*([\w.+-]+)/,
  /unsupported argument \W*([\w.+-]+?)\W* to option \W*-m(?:arch|cpu)=/,
];

/** Names the first compilers that have the march; null where no compiler refused one of the tables. */
function unknownMarch({ message, lastLines }: BuildFailure): string | null {
  const refused = [message, ...lastLines].flatMap((line) =>
    refusals.flatMap((each) => each.exec(line)?.[1] ?? []),
  );
  const march = allMarches().find(({ name, compilerName }) =>
    refused.some((word) => [name, compilerName].includes(word)),
  );
  if (march === undefined) return null;
  const { gcc, clang } = march.compiler;
  const first = Object.entries({ gcc, clang }).flatMap(([compiler, version]) =>
    version === null ? [] : [version === "0" ? `every ${compiler}` : `${compiler} ${version}`],
  );
  if (first.length === 0) return null;
  return `the first compilers with ${march.compilerName} are ${first.join(" and ")}: build with one of them, or exclude the march where the compiler is older`;
}
