/** Patterns of repositories: `registry.example.com/team/*`. Of several that match, the one that says most wins. */

import { matchesGlob } from "../../oci/glob.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { RepositoryPattern } from "./policy.ts";

const hostGrammar = /^(?:\*|(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[a-f0-9:]+\])(?::\d+)?$/;
const pathGrammar = /^[a-z0-9*](?:[a-z0-9._/*-]*[a-z0-9*])?$/;

/** The pattern, or what is wrong with it. */
export function parseRepositoryPattern(text: string): RepositoryPattern | { readonly wrong: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { wrong: "it names no registry" };
  const [host, path] = [text.slice(0, slash), text.slice(slash + 1)];
  if (text.toLowerCase() !== text) return { wrong: "it has upper-case letters" };
  // What has no dot and no port is a path of Docker Hub to every other tool.
  if (!/[.:*]/.test(host) && host !== "localhost") return { wrong: `${host} is no registry` };
  if (!hostGrammar.test(host))
    return { wrong: "its registry may be a host, * for all, or begin with *. for all below a host" };
  if (!pathGrammar.test(path))
    return { wrong: `${JSON.stringify(path)} is no repository, and no pattern of one` };
  return { text, host: plainHost(host), path };
}

/** One registry has several spellings: the case of letters, the port that https has anyway. */
function plainHost(host: string): string {
  return host.toLowerCase().replace(/:443$/, "");
}

export function matchesRepository(
  { host, path }: RepositoryPattern,
  { registry, repository }: Pick<ImageReference, "registry" | "repository">,
): boolean {
  return matchesGlob(host, plainHost(registry)) && matchesGlob(path, repository);
}

/** Above 0 where the first says more: a whole host, then more of one, a whole path, then more of one. */
export function moreSpecific(one: RepositoryPattern, other: RepositoryPattern): number {
  const [mine, theirs] = [weights(one), weights(other)];
  return (
    mine.map((weight, index) => weight - (theirs[index] ?? 0)).find((difference) => difference !== 0) ?? 0
  );
}

function weights({ host, path }: RepositoryPattern): readonly number[] {
  return [host, path].flatMap((part) => [part.includes("*") ? 0 : 1, part.replaceAll("*", "").length]);
}
