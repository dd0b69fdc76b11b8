/** A trust policy: the signers that each repository's fleets may have, as a file names them. Its most specific rule counts. */

import { ImgmatchError, type Place } from "../../errors.ts";
import { matchesGlob } from "../../io/glob.ts";
import { formatRepository, type ImageReference } from "../../oci/reference.ts";
import { plainRegistry } from "../../oci/registry/registry-endpoint.ts";

export interface TrustPolicy {
  /** For messages; what the policy names lies beside it. */
  readonly file: string;
  readonly rules: readonly TrustRule[];
  /** The treatment of a repository that no rule names. */
  readonly otherwise: "refuse" | "unsigned";
  /** Folder of what was seen last, for rules that refuse to go back; null: the folder of `--cache`. */
  readonly memory: string | null;
}

export interface TrustRule {
  readonly pattern: RepositoryPattern;
  readonly at: Place;
  /** One of them is enough; `unsigned`: no signature is asked for. */
  readonly signers: readonly PolicySigner[] | "unsigned";
  /** The name of the fleet in the index; null: the last part of the repository. */
  readonly name: string | null;
  /** The repository in which the index says that it was published, without the registry, with `*`; null: the one that it is found in. */
  readonly repository: string | null;
  /** Tags, with `*`, that may hold any version. */
  readonly moving: readonly string[];
  readonly downgrade: "allow" | "refuse";
}

/** Host and path apart: a `*` for paths that reached into the host would let anybody's registry in. */
export interface RepositoryPattern {
  readonly text: string;
  readonly host: string;
  readonly path: string;
}

/** A signer as it is written: keys are read when they are needed. */
export type PolicySigner = PolicyKey | PolicyIdentity;

export interface PolicyKey {
  readonly kind: "key";
  /** A path, `env://NAME`, or the key itself as PEM. */
  readonly key: string;
  readonly at: Place;
}

export interface PolicyIdentity {
  readonly kind: "identity";
  /** Of the certificate; `*` stands for any characters. */
  readonly identity: string;
  readonly issuer: string;
  /** A path; null for the public sigstore. */
  readonly trustedRoot: string | null;
  readonly at: Place;
}

const hostGrammar = /^(?:\*|(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[a-f0-9:]+\])(?::\d+)?$/;

const pathGrammar = /^[a-z0-9*](?:[a-z0-9._/*-]*[a-z0-9*])?$/;

/** The pattern, or what is wrong with it. */
export function parseRepositoryPattern(text: string): RepositoryPattern | { readonly wrong: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { wrong: "it names no registry" };
  const [host, path] = [text.slice(0, slash), text.slice(slash + 1)];
  if (text.toLowerCase() !== text) return { wrong: "it has upper-case letters" };
  // A name without dot and port is a path of Docker Hub to every other tool.
  if (!/[.:*]/.test(host) && host !== "localhost") return { wrong: `${host} is no registry` };
  if (!hostGrammar.test(host))
    return { wrong: "its registry may be a host, * for all, or begin with *. for all below a host" };
  if (!pathGrammar.test(path))
    return { wrong: `${JSON.stringify(path)} is no repository, and no pattern of one` };
  return { text, host: plainRegistry(host), path };
}

/**
 * null where the policy asks nothing. Throws `TRUST_NO_RULE` for a repository that no rule names, unless the policy's default says
 * otherwise, and `TRUST_POLICY` where two rules say as much of it and differ.
 */
export function findRule(policy: TrustPolicy, reference: ImageReference): TrustRule | null {
  const [first, second] = policy.rules
    .filter(({ pattern }) => matchesRepository(pattern, reference))
    .sort((one, other) => moreSpecific(other.pattern, one.pattern));
  const repository = formatRepository(reference);
  if (first === undefined) {
    if (policy.otherwise === "unsigned") return null;
    throw new ImgmatchError({
      code: "TRUST_NO_RULE",
      message: `the policy has no rule for ${repository}`,
      fix: `add ${reference.registry}/${reference.repository} to repositories`,
      at: { file: policy.file },
    });
  }
  if (second !== undefined && moreSpecific(first.pattern, second.pattern) === 0)
    throw new ImgmatchError({
      code: "TRUST_POLICY",
      message: `${first.pattern.text} and ${second.pattern.text} both name ${repository}, and neither is more specific`,
      fix: `add ${reference.registry}/${reference.repository} to repositories`,
      at: first.at,
    });
  return first;
}

function matchesRepository(
  { host, path }: RepositoryPattern,
  { registry, repository }: Pick<ImageReference, "registry" | "repository">,
): boolean {
  return matchesGlob(host, plainRegistry(registry)) && matchesGlob(path, repository);
}

/** Above 0 where the first says more: a whole host, then more of one, a whole path, then more of one. */
function moreSpecific(one: RepositoryPattern, other: RepositoryPattern): number {
  const [mine, theirs] = [weights(one), weights(other)];
  return (
    mine.map((weight, index) => weight - (theirs[index] ?? 0)).find((difference) => difference !== 0) ?? 0
  );
}

function weights({ host, path }: RepositoryPattern): readonly number[] {
  return [host, path].flatMap((part) => [part.includes("*") ? 0 : 1, part.replaceAll("*", "").length]);
}
