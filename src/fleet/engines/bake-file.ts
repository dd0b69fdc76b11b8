/** Writes the fleet as a `docker-bake.json`, with which `docker buildx bake` builds the same images without imgmatch. */

import type { BuildRequest } from "./engine.ts";
import type { EngineChoice } from "./engine-choice.ts";
import { argsWithExtra, attestValues } from "./docker-build.ts";

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
  /** In the form of `--secret` of `docker buildx build`. */
  readonly secret?: readonly string[];
  /** In the form of its `--ssh`. */
  readonly ssh?: readonly string[];
  readonly network?: string;
}

/** The places of secrets and agents, never their values. */
export type BakeSteps = Pick<EngineChoice, "secret" | "ssh" | "network">;

export interface BakeFile {
  readonly group: { readonly default: { readonly targets: readonly string[] } };
  readonly target: Readonly<Record<string, BakeTarget>>;
}

/** @param contextAt the path of a build context from the folder in which bake runs */
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
    // Bake's default provenance would make an index of every image.
    attest: [
      ...(request.attest?.provenance ? [] : ["type=provenance,disabled=true"]),
      ...attestValues(request).map(literal),
    ],
    ...(secret.length === 0 ? {} : { secret: secret.map(literal) }),
    ...(ssh.length === 0 ? {} : { ssh: ssh.map(literal) }),
    ...(network === "default" ? {} : { network }),
  };
}

/** Escapes `${` and `%{`: bake takes every text for an HCL template (hashicorp/hcl, "Quoted Literals"). */
function literal(text: string): string {
  return text.replace(/[$%](?=\{)/g, "$&$&");
}

function literals(texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, literal(text)]));
}

/** Bake allows only `[a-zA-Z0-9_-]`. Cells with equal names get a number. */
function targetNames(cells: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return cells.map((cell) => {
    const plain = cell.replace(/[^A-Za-z0-9_-]/g, "-");
    const count = (seen.get(plain) ?? 0) + 1;
    seen.set(plain, count);
    return count === 1 ? plain : `${plain}--${count}`;
  });
}

/** Paths for `.dockerignore` that hide the files that are not sent. A folder of which nothing is sent is one path. */
export function pathsToHide(files: readonly string[], sent: Iterable<string>): string[] {
  const kept = new Set([...sent].flatMap(withParents));
  return [...new Set(files.map((path) => withParents(path).find((above) => !kept.has(above)) ?? path))];
}

/** `a/b/c` → `a`, `a/b`, `a/b/c`. */
function withParents(path: string): string[] {
  const parts = path.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}
