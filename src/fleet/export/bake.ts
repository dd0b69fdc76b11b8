/** The fleet as a `docker-bake.json`: what `docker buildx bake` needs to build the same images without imgmatch. */

import type { BuildRequest } from "../build/engine.ts";
import type { EngineChoice } from "../build/engines/engine-choice.ts";
import { argsWithExtra, attestValues } from "../build/engines/docker-build.ts";

/** A target of the bake file reference (docker/buildx, docs/bake-reference.md). */
export interface BakeTarget {
  readonly context: string;
  readonly "dockerfile-inline": string;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly tags: readonly string[];
  readonly platforms: readonly [string];
  readonly target?: string;
  readonly attest: readonly string[];
  /** As `--secret` of `docker buildx build`. */
  readonly secret?: readonly string[];
  /** As `--ssh` of it. */
  readonly ssh?: readonly string[];
  readonly network?: string;
}

/** Secrets and agents of the steps: the places in which bake finds them, never their values. */
export type BakeSteps = Pick<EngineChoice, "secret" | "ssh" | "network">;

export interface BakeFile {
  readonly group: { readonly default: { readonly targets: readonly string[] } };
  readonly target: Readonly<Record<string, BakeTarget>>;
}

/** @param contextAt a build context as bake is to find it, relative to where it runs */
export function bakeFile(
  requests: readonly BuildRequest[],
  contextAt: (dir: string) => string,
  steps: BakeSteps = {},
): BakeFile {
  const names = targetNames(requests.map(({ cell }) => cell));
  const entries = requests.map((request, index): [string, BakeTarget] => [
    names[index] ?? "",
    bakeTarget(request, contextAt(request.contextDir), steps),
  ]);
  return { group: { default: { targets: names } }, target: Object.fromEntries(entries) };
}

function bakeTarget(
  request: BuildRequest,
  context: string,
  { secret = [], ssh = [], network = "default" }: BakeSteps,
): BakeTarget {
  const { dockerfile, labels, tags, platform, target } = request;
  return {
    context: literal(context),
    "dockerfile-inline": literal(dockerfile),
    args: literals(argsWithExtra(request)),
    labels: literals(labels),
    tags: tags.map(literal),
    platforms: [platform],
    ...(target === null ? {} : { target: literal(target) }),
    // Those that nobody asked for would make an index of every image.
    attest: [
      ...(request.attest?.provenance ? [] : ["type=provenance,disabled=true"]),
      ...attestValues(request).map(literal),
    ],
    ...(secret.length === 0 ? {} : { secret: secret.map(literal) }),
    ...(ssh.length === 0 ? {} : { ssh: ssh.map(literal) }),
    ...(network === "default" ? {} : { network }),
  };
}

/** Bake takes every text of the file for an HCL template (hashicorp/hcl, "Quoted Literals"). */
function literal(text: string): string {
  return text.replace(/[$%](?=\{)/g, "$&$&");
}

function literals(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, literal(text)]));
}

/** Bake allows `[a-zA-Z0-9_-]` only. Cells whose names would then be the same get a number. */
function targetNames(cells: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return cells.map((cell) => {
    const plain = cell.replace(/[^A-Za-z0-9_-]/g, "-");
    const count = (seen.get(plain) ?? 0) + 1;
    seen.set(plain, count);
    return count === 1 ? plain : `${plain}--${count}`;
  });
}

/**
 * Files that are not to be sent, as `.dockerignore` is to name them: a folder stands for all that is in it where nothing of
 * it is sent.
 */
export function pathsToHide(files: readonly string[], sent: Iterable<string>): string[] {
  const kept = new Set([...sent].flatMap(withParents));
  return [...new Set(files.map((path) => withParents(path).find((above) => !kept.has(above)) ?? path))];
}

/** `a/b/c` → `a`, `a/b`, `a/b/c`. */
function withParents(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
