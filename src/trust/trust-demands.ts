/** Turns flags and trust policies into the demands on a fleet: whose signature the index needs, and whether an older index is refused. */

import { join } from "node:path";
import { usageError } from "../errors.ts";
import { isThere } from "../io/files.ts";
import type { ImageReference } from "../oci/reference.ts";
import type { FindTrust } from "../lock/store/index-trust.ts";
import type { TrustOptions } from "./find-trust.ts";
import type { TrustPolicy } from "./policy/policy.ts";
import { namesSigner } from "./asks-trust.ts";
import type { RootSource, TrustDemands } from "../oci/trust-flags.ts";
import type { TrustedSigner } from "./trusted-signers.ts";
import type { World } from "../io/world.ts";

/** The policy of the current folder, if no flag names a signer or another policy. */
const policyName = "imgmatch.trust.yaml";

/**
 * null if neither a flag nor a policy demands anything: then nothing was loaded. The machine's policy always counts, so that no policy of a
 * checkout or a user weakens it.
 */
export async function trustFor(flags: TrustDemands, world: World & RootSource): Promise<FindTrust | null> {
  return trustBy(await trustOptions(flags, world), world);
}

/** The demands of policies alone: the flags name signers of other fleets. */
export async function policyTrustFor(
  flags: TrustDemands,
  world: World & RootSource,
): Promise<FindTrust | null> {
  const options = await trustOptions(flags, world);
  const asks = options !== null && options.policies.length > 0;
  return trustBy(asks ? { ...options, signers: [], refuseDowngrade: null } : null, world);
}

/** The demands on signatures alone, for commands that start nothing: an older index is no danger there. */
export async function signatureTrustFor(
  flags: TrustDemands,
  world: World & RootSource,
): Promise<FindTrust | null> {
  const options = await trustOptions(flags, world);
  const policies = (options?.policies ?? []).map((policy) => ({
    ...policy,
    rules: policy.rules.map((rule) => ({ ...rule, downgrade: "allow" as const })),
  }));
  return trustBy(options && { ...options, policies }, world);
}

async function trustBy(options: TrustOptions | null, { publicRoot }: RootSource): Promise<FindTrust | null> {
  return options && (await import("./find-trust.ts")).trustBy({ ...options, publicRoot });
}

/** The trusted signers of a repository: one of each list must have signed; empty if neither flag nor policy names any. */
export async function trustedSignersFor(
  reference: ImageReference,
  flags: TrustDemands,
  world: World,
): Promise<readonly (readonly TrustedSigner[])[]> {
  const options = await trustOptions(flags, world);
  if (options === null) return [];
  return (await import("./find-trust.ts")).findTrustedSigners(reference, options);
}

async function trustOptions(flags: TrustDemands, world: World): Promise<TrustOptions | null> {
  const { trust, cache, downgrade = true } = flags;
  const asksSigner = namesSigner(flags);
  if (asksSigner && trust !== undefined)
    throw usageError(`flags and --trust ${trust} both name signers`, "leave one of them out");
  if (!downgrade && cache === undefined)
    throw usageError("--no-downgrade keeps its memory in the cache", "name a folder with --cache");
  const own = asksSigner ? [] : ownPolicy(trust, world);
  const files = [...(isThere(world.machinePolicy) ? [world.machinePolicy] : []), ...own];
  if (files.length === 0 && !asksSigner && downgrade) return null;
  const { readTrustedSigners } = await import("./trusted-signers.ts");
  return {
    policies: files.length === 0 ? [] : await readPolicies(files),
    signers: await readTrustedSigners(flags, world.env),
    refuseDowngrade: downgrade ? null : (cache ?? null),
    cache: cache ?? null,
    env: world.env,
  };
}

/** Only a policy loads the reader of YAML. */
async function readPolicies(files: readonly string[]): Promise<readonly TrustPolicy[]> {
  const { readTrustPolicy } = await import("./policy/read-policy.ts");
  return Promise.all(files.map((file) => readTrustPolicy(file)));
}

/** The first of: `--trust`, `IMGMATCH_TRUST`, the file in the current folder. */
function ownPolicy(trust: string | undefined, { env, cwd }: World): readonly string[] {
  const named = trust ?? env.IMGMATCH_TRUST;
  if (named !== undefined && named !== "") return [named];
  const here = join(cwd, policyName);
  // Throws where nobody can tell: that is no reason to demand less.
  return isThere(here) ? [here] : [];
}
