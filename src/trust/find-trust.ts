/** Judges indexes by the demands of flags and policies. An index must meet every demand. */

import { dirname, resolve } from "node:path";
import { usageError } from "../errors.ts";
import { checked, list } from "../io/checks.ts";
import { registryLimits } from "../io/limits.ts";
import type { FindTrust, IndexTrust, SignedBy } from "../lock/store/index-trust.ts";
import type { Digest } from "../oci/digest.ts";
import type { ImageReference } from "../oci/reference.ts";
import { evidence as evidenceCheck } from "./evidence.ts";
import { findEvidence } from "./find-evidence.ts";
import { type ExpectedPlace, requireExpected } from "./index-place.ts";
import { readTrustedIdentity, readTrustedKey, requireSafe, type TrustedSigner } from "./trusted-signers.ts";
import { findRule, type PolicySigner, type TrustPolicy, type TrustRule } from "./policy/policy.ts";
import { takeForward } from "./seen-indexes.ts";
import { type Verified, verifyEvidence } from "./verify-evidence.ts";
import type { RootSource } from "../oci/trust-flags.ts";

export interface TrustOptions {
  /** An index must meet every policy, so that none weakens another. */
  readonly policies: readonly TrustPolicy[];
  /** One of these must have signed too; empty if only policies name signers. */
  readonly signers: readonly TrustedSigner[];
  /** Folder that remembers the last indexes, to refuse older ones; null if only policies decide. */
  readonly refuseDowngrade: string | null;
  /** The folder of `--cache`, for policies that refuse older indexes and name no folder. */
  readonly cache: string | null;
  /** For keys that a policy names as `env://NAME`. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The trusted signers of each demand: one of each list must have signed. Throws as {@link trustBy}'s. */
export async function findTrustedSigners(
  reference: ImageReference,
  options: TrustOptions,
): Promise<readonly (readonly TrustedSigner[])[]> {
  const demands = await demandsOn(reference, options);
  return demands.flatMap(({ trusted }) => (trusted.length === 0 ? [] : [trusted]));
}

/** The demand of one policy, or of the flags. */
interface Demand {
  /** One of these must have signed; empty if no signature is needed. */
  readonly trusted: readonly TrustedSigner[];
  /** The index that the reference must lead to; null if another demand says it. */
  readonly expected: ExpectedPlace | null;
  /** Folder that remembers indexes; null if an older index is allowed. Throws `USAGE` if no folder is named. */
  readonly memory: () => string | null;
}

/**
 * Trust by keys, identities and policies, for {@link FetchOptions.trust}. Throws `TRUST_NO_RULE` for a reference that no rule of a policy
 * names.
 */
export function trustBy(options: TrustOptions & RootSource): FindTrust {
  const publicRoot = rememberedRoot(options.publicRoot);
  return async (reference) => {
    const demands = await demandsOn(reference, options);
    if (demands.every(({ trusted, memory }) => trusted.length === 0 && memory() === null)) return null;
    return trustOf(reference, demands, publicRoot);
  };
}

async function demandsOn(reference: ImageReference, options: TrustOptions): Promise<readonly Demand[]> {
  const { policies, signers, refuseDowngrade, cache, env } = options;
  const rules = policies.flatMap((policy) => {
    const rule = findRule(policy, reference);
    return rule === null ? [] : [{ policy, rule }];
  });
  const ofPolicies = rules.map(
    async ({ policy, rule }): Promise<Demand> => ({
      trusted:
        rule.signers === "unsigned"
          ? []
          : await Promise.all(rule.signers.map((signer) => readPolicySigner(signer, policy, env))),
      expected: rule,
      memory: () => (rule.downgrade === "refuse" ? (policy.memory ?? cache ?? noMemory(policy, rule)) : null),
    }),
  );
  // Without a policy about signatures, the reference itself names the fleet and the tag to expect.
  const isSaid = rules.some(({ rule }) => rule.signers !== "unsigned");
  const expected = isSaid ? null : { name: null, repository: null };
  return [...(await Promise.all(ofPolicies)), { trusted: signers, expected, memory: () => refuseDowngrade }];
}

function trustOf(
  reference: ImageReference,
  demands: readonly Demand[],
  publicRoot: () => Promise<string>,
): IndexTrust {
  const signed = demands
    .filter(({ trusted }) => trusted.length > 0)
    .map(({ trusted, expected }) => ({ trusted: keysFirst(trusted), expected }));
  const memories = new Set(demands.flatMap(({ memory }) => memory() ?? []));
  async function vouch(digest: Digest, collected: readonly unknown[]): Promise<SignedBy | null> {
    const reading = checked(collected, list(evidenceCheck, registryLimits.referrers * 2), "the evidence");
    const evidence = reading.ok ? reading.value : [];
    const proofs: Verified[] = [];
    for (const { trusted } of signed)
      proofs.push(await verifyEvidence(evidence, { reference, digest }, trusted, { publicRoot }));
    const [first] = proofs;
    if (first === undefined) return null;
    const { signer, identity } = first;
    return { key: signer.kind === "key" ? signer.name : null, identity, digest };
  }
  return {
    asksSignature: signed.length > 0,
    collect: async (registry, digest) =>
      signed.length > 0 ? findEvidence(registry, { reference, digest }) : [],
    vouch,
    judge: async (index, evidence, place) => {
      const signers = await vouch(index.indexDigest, evidence);
      for (const { expected } of signed)
        if (expected !== null) requireExpected(reference, { name: index.name, ...place }, expected);
      for (const folder of memories) await takeForward(folder, reference, index);
      return signers;
    },
  };
}

/** A key needs no trusted root: where one has signed, the root that identities need is not fetched. */
function keysFirst(signers: readonly TrustedSigner[]): readonly TrustedSigner[] {
  return [...signers].sort(
    (one, other) => Number(one.kind === "identity") - Number(other.kind === "identity"),
  );
}

function noMemory({ file }: TrustPolicy, { pattern }: TrustRule): never {
  throw usageError(
    `${file} refuses to go back for ${pattern.text}, and there is no folder to remember in`,
    "write memory: /var/lib/imgmatch into the policy, or name a folder with --cache",
  );
}

const freshMs = 60 * 60_000;

/** Renews the root each hour. If that fails, the old root stays, which does not become false. Throws if there is none yet. */
export function rememberedRoot(
  load: () => Promise<string>,
  now: () => number = Date.now,
): () => Promise<string> {
  let known: { readonly root: string; readonly at: number } | null = null;
  let pending: Promise<string> | null = null;
  const renew = async (): Promise<string> => {
    try {
      const root = await load();
      known = { root, at: now() };
      return root;
    } catch (error) {
      if (known === null) throw error;
      known = { ...known, at: now() };
      return known.root;
    }
  };
  return () => {
    // A clock that was set back makes no root fresh.
    if (known !== null && Math.abs(now() - known.at) < freshMs) return Promise.resolve(known.root);
    pending ??= renew().finally(() => {
      pending = null;
    });
    return pending;
  };
}

/** Paths are relative to the policy's folder. Throws as `readKey` does, and `TRUST_UNSAFE` for a key that others may change. */
export async function readPolicySigner(
  signer: PolicySigner,
  { file }: Pick<TrustPolicy, "file">,
  env: Readonly<Record<string, string | undefined>>,
): Promise<TrustedSigner> {
  const inItsFolder = (path: string): string => {
    const found = resolve(dirname(resolve(file)), path);
    requireSafe(found);
    return found;
  };
  if (signer.kind === "identity") {
    const { identity, issuer, trustedRoot } = signer;
    return readTrustedIdentity(identity, issuer, trustedRoot === null ? null : inItsFolder(trustedRoot));
  }
  const { key, at } = signer;
  if (key.startsWith("-----BEGIN ")) return { kind: "key", name: `in ${at.file}:${at.line}`, pem: key };
  return readTrustedKey(key.startsWith("env://") ? key : inItsFolder(key), env);
}
