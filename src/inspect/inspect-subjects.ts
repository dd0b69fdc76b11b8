/** Inspects images, wheels, libraries and folders, and checks them against expectations. */

import { resolve } from "node:path";
import { usageError } from "../errors.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../io/limits.ts";
import { replaceOwnFile } from "../io/replace-own-file.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import type { LocalEngine } from "../lock/lock.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { imageBytes } from "./code-bytes.ts";
import { claimsOf } from "./claims/claims-of.ts";
import { judgeClaims } from "./claims/judge-claims.ts";
import {
  checkSubjects,
  type ExpectationAnswer,
  type ExpectationRules,
  rulesOfWords,
} from "./expect/expectation-rules.ts";
import { lookInEngine } from "./image/from-engine.ts";
import { cacheFolder, folderCache, noCache } from "./image/layer-cache.ts";
import { type ImageInspection, inspectionOf, surveyOf } from "./inspection.ts";
import { openOptions, openSubject } from "./open-subject.ts";
import { forGpu } from "./workers/file-inspector.ts";
import { sharedInspector } from "./workers/thread-inspector.ts";
import type { OpenChoice, OpenEvent } from "../lock/statement.ts";

export interface InspectOptions extends OpenChoice, RegistryAccess, Watching<OpenEvent> {
  /** References, images of the engine, archives, layouts, folders, wheels, libraries. */
  readonly subjects: readonly string[];
  /** The words that each of them must meet: `sm_80 !sm_70 march<=x86-64-v3 driver<=550 glibc<=2.28`. */
  readonly expect?: string;
  /** A file with such words by patterns of names. */
  readonly expectFile?: string;
  /** Also write the words that are not met to this file, as SARIF 2.1.0. */
  readonly sarif?: string;
  /** The only place to look for a name that is no path. Default: the engine, then the registry. */
  readonly from?: "engine" | "registry";
  /** The engine whose images are looked up. Default: Docker, and Podman where it is the only one. */
  readonly engine?: LocalEngine;
  /** False opens layers again that are in the cache. */
  readonly cache?: boolean;
  /** Leaves code for CPUs unread, which takes most of the time: its needs are unknown then. */
  readonly only?: "gpu";
}

export interface InspectAnswer {
  readonly schemaVersion: 1;
  /** In the order of the options. */
  readonly subjects: readonly ImageInspection[];
  /** null without expectations. */
  readonly expected: ExpectationAnswer | null;
}

/**
 * Opens images, wheels, libraries and folders. Reads the CPU, GPU and driver that the code in the files needs, and compares these needs
 * with the expectations.
 *
 * Throws `EXPECT_INVALID`, `FILE_EXISTS` for a file that is not such a report, `IMAGE_NOT_FOUND`, `IMAGE_INVALID`, `FILE_NOT_FOUND`, and
 * errors of engine and registry.
 *
 * @example
 * const { subjects, expected } = await inspect({ subjects: ["dist/app.whl"], expect: "sm_80 march<=x86-64-v3" });
 */
export type InspectFunction = (options: InspectOptions, world?: Partial<World>) => Promise<InspectAnswer>;

export async function inspect(asked: InspectOptions, given?: Partial<World>): Promise<InspectAnswer> {
  return inWorld(asked, given, (world) => inspectIn(asked, world));
}

async function inspectIn(asked: InspectOptions, world: World): Promise<InspectAnswer> {
  const { from, cache = true } = asked;
  const rules = await rulesOf(asked, world);
  if (asked.sarif !== undefined && rules === null)
    throw usageError("--sarif needs expectations", "add --expect or --expect-file");
  const options = openOptions(asked, world);
  const gpuAlone = asked.only === "gpu";
  const { inspector = sharedInspector() } = options;
  const kept = gpuAlone ? folderCache(cacheFolder(world.env), true) : options.cache;
  const request = {
    ...options,
    inspector: gpuAlone ? forGpu(inspector) : inspector,
    cache: cache ? kept : noCache,
    look: lookInEngine(world, asked.engine, (line) => note(world, [line])),
    registry: await registryFor(asked, world),
    ...(from && { from }),
  };
  const subjects: ImageInspection[] = [];
  const asksClaims = rules?.some(({ expectations }) =>
    expectations.words.some(({ kind }) => kind === "claims"),
  );
  for (const subject of asked.subjects) {
    const image = await openSubject(subject, world.cwd, request);
    const survey = surveyOf(image);
    const found = { ...inspectionOf(image, survey), subject, bytes: imageBytes(image, survey) };
    const claims = asksClaims ? judgeClaims(claimsOf(image, survey, subject), found) : null;
    subjects.push(claims === null ? found : { ...found, claims });
  }
  const expected = rules && checkSubjects(subjects, rules);
  if (asked.sarif !== undefined && expected !== null) {
    const { sarifFile, sarifOf } = await import("./expect/sarif.ts");
    await replaceOwnFile(resolve(world.cwd, asked.sarif), sarifOf(expected), sarifFile);
  }
  return { schemaVersion: 1, subjects, expected };
}

/** null without expectations. Only a file loads the reader of YAML. */
async function rulesOf(
  { expect, expectFile }: Pick<InspectOptions, "expect" | "expectFile">,
  { cwd }: Pick<World, "cwd">,
): Promise<ExpectationRules | null> {
  if (expect !== undefined && expectFile !== undefined)
    throw usageError("--expect and --expect-file exclude each other", "keep one");
  if (expect !== undefined) return rulesOfWords(expect);
  if (expectFile === undefined) return null;
  const { parseExpectFile } = await import("./expect/parse-expect-file.ts");
  const text = await readTextFile(resolve(cwd, expectFile), inputLimits.expectFile, { shown: expectFile });
  return parseExpectFile(text, expectFile);
}
