/** A trust policy: the trusted signers of each repository. The most specific rule of a file counts. */

import { ImgmatchError, type Place } from "../../errors.ts";
import { matchesGlob } from "../../io/glob.ts";
import { formatRepository, type ImageReference } from "../../oci/reference.ts";
import { plainRegistry } from "../../oci/registry/registry-endpoint.ts";

export interface TrustPolicy {
  /** Relative paths in the policy start in its folder. */
  readonly file: string;
  readonly rules: readonly TrustRule[];
  /** For repositories that no rule names. */
  readonly otherwise: "refuse" | "unsigned";
  /** Folder of the last indexes, for rules that refuse older indexes; null: the folder of `--cache`. */
  readonly memory: string | null;
}

export interface TrustRule {
  readonly pattern: RepositoryPattern;
  readonly at: Place;
  /** The signature of one is enough; `unsigned`: none is needed. */
  readonly signers: readonly PolicySigner[] | "unsigned";
  /** The name that the index must have; null: the last part of the repository. */
  readonly name: string | null;
  /** The repository that the index must name as its own, without the registry, with `*`; null: the repository of the index. */
  readonly repository: string | null;
  readonly downgrade: "allow" | "refuse";
}

/** Host and path apart, so that a `*` of the path never matches a part of the host: that would trust any registry. */
export interface RepositoryPattern {
  readonly text: string;
  readonly host: string;
  readonly path: string;
}

/** A trusted signer as the file names it. Its key is read when something is verified. */
export type PolicySigner = PolicyKey | PolicyIdentity;

export interface PolicyKey {
  readonly kind: "key";
  /** A path, `env://NAME`, or the key itself as PEM. */
  readonly key: string;
  readonly at: Place;
}

export interface PolicyIdentity {
  readonly kind: "identity";
  /** The certificate's, with `*` for any characters. */
  readonly identity: string;
  readonly issuer: string;
  /** A path; null for the public sigstore. */
  readonly trustedRoot: string | null;
}

const hostGrammar = /^(?:\*|(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*|\[[a-f0-9:]+\])(?::\d+)?$/;

const pathGrammar = /^[a-z0-9*](?:[a-z0-9._/*-]*[a-z0-9*])?$/;

/** The pattern, or its fault. */
export function parseRepositoryPattern(text: string): RepositoryPattern | { readonly wrong: string } {
  const slash = text.indexOf("/");
  if (slash < 0) return { wrong: "it names no registry" };
  const [host, path] = [text.slice(0, slash), text.slice(slash + 1)];
  if (text.toLowerCase() !== text) return { wrong: "it has upper-case letters" };
  // Other tools read a name without dot and port as a path of Docker Hub.
  if (!/[.:*]/.test(host) && host !== "localhost") return { wrong: `${host} is no registry` };
  if (!hostGrammar.test(host))
    return { wrong: "its registry may be a host, * for all, or begin with *. for all below a host" };
  if (!pathGrammar.test(path))
    return { wrong: `${JSON.stringify(path)} is no repository, and no pattern of one` };
  return { text, host: plainRegistry(host), path };
}

/**
 * null if the policy's default is `unsigned` and no rule names the repository. Throws `TRUST_NO_RULE` if the default is `refuse`, and
 * `TRUST_POLICY` for two rules of which neither is more specific.
 */
export function findRule(policy: TrustPolicy, reference: ImageReference): TrustRule | null {
  const [first, second] = policy.rules
    .filter(({ pattern: { host } }) => matchesGlob(host, plainRegistry(reference.registry)))
    .filter(({ pattern: { path } }) => matchesGlob(path, reference.repository))
    .sort((one, other) => moreSpecific(other.pattern, one.pattern));
  const repository = formatRepository(reference);
  const fix = `add ${reference.registry}/${reference.repository} to repositories`;
  if (first === undefined) {
    if (policy.otherwise === "unsigned") return null;
    throw new ImgmatchError({
      code: "TRUST_NO_RULE",
      message: `the policy has no rule for ${repository}`,
      fix,
      at: { file: policy.file },
    });
  }
  if (second !== undefined && moreSpecific(first.pattern, second.pattern) === 0)
    throw new ImgmatchError({
      code: "TRUST_POLICY",
      message: `${first.pattern.text} and ${second.pattern.text} both name ${repository}, and neither is more specific`,
      fix,
      at: first.at,
    });
  return first;
}

/** Above 0 if the first is more specific: a whole host, then a longer one, a whole path, then a longer one. */
function moreSpecific(one: RepositoryPattern, other: RepositoryPattern): number {
  const [mine, theirs] = [weights(one), weights(other)];
  return (
    mine.map((weight, index) => weight - (theirs[index] ?? 0)).find((difference) => difference !== 0) ?? 0
  );
}

function weights({ host, path }: RepositoryPattern): readonly number[] {
  return [host, path].flatMap((part) => [part.includes("*") ? 0 : 1, part.replaceAll("*", "").length]);
}
