/** `imgmatch check IMAGE|REFERENCE`: will this one image run here, by the lock that has it, or by what it says about itself. Exits 3 unless that is proved. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { type FoundImage, findImage } from "../inspect/find-image.ts";
import { type LockedImage, lockPath } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/lock-file.ts";
import { isDigest } from "../oci/digest.ts";
import { parseImageReference } from "../oci/reference.ts";
import type { IndexReader, SignedBy } from "../lock/index-trust.ts";
import { requiresLabel } from "../fleet/dockerfile/metadata.ts";
import { problemLines } from "../resolve/answer-lines.ts";
import { signedLine } from "./report/signed.ts";
import { checkLines, checkToJson } from "./report/check.ts";
import { checkImage } from "../resolve/check-image.ts";
import type { CommandContext } from "./command-context.ts";
import { type HostChoice, hostFor } from "../host/host-choice.ts";
import { type RegistryAccess, registryFor } from "../oci/registry/registry-access.ts";
import { asksTrust, signaturesFor, type TrustDemands } from "../trust/trust-demands.ts";
import { print, tell } from "./print.ts";
import { missOf } from "./resolve.ts";

export interface CheckFlags extends HostChoice, RegistryAccess, TrustDemands {
  /** Image id or reference. */
  readonly image: string;
  readonly lock?: string;
}

export async function check(flags: CheckFlags, context: CommandContext): Promise<ExitCode> {
  const host = await hostFor(flags, context);
  tell(problemLines(host), context);
  const registry = await registryFor(flags, context);
  const image = await findImage(flags.image, {
    env: context.env,
    registry,
    platform: host.platform,
    // What this machine's engine has is what it would run; about another machine it knows nothing.
    first: flags.host === undefined ? "engine" : "registry",
  });
  const signed = await vouch(image, registry, flags, context);
  const requires = image.labels[requiresLabel] ?? null;
  const locked = await lockedImage(image, flags.lock);
  const verdict = checkImage({ platform: image.platform, requires, env: image.env, locked }, host);
  print(
    context,
    flags,
    { ...checkToJson(image, verdict, host.problems), ...(signed && { signed }) },
    (style) => [
      ...checkLines(image, { ...verdict, inLock: locked !== undefined }, host, style),
      ...(signed === null ? [] : [`  ${signedLine(signed)}`]),
    ],
  );
  return verdict.fits ? exitCodes.ok : missOf(verdict.reasons.map(({ code }) => code));
}

/** An image of the engine is there already, however it came: it is asked for a signature where flags ask for one. */
async function vouch(
  { source, reference, digest }: FoundImage,
  registry: IndexReader,
  flags: CheckFlags,
  context: CommandContext,
): Promise<SignedBy | null> {
  if (source === "engine" && !asksTrust(flags)) return null;
  const trust = await signaturesFor(flags, context);
  if (trust === null) return null;
  if (!isDigest(digest))
    throw new ImgmatchError({
      code: "SIGNATURE_MISSING",
      message: `${reference} was never pushed from or pulled to this engine: it has no digest that somebody could have signed`,
      fix: "push it and have it signed",
    });
  const { vouchForImage } = await import("../lock/vouch-for-image.ts");
  return vouchForImage(parseImageReference(reference), digest, { registry, trust });
}

/** By digest alone: a tag may have moved. */
async function lockedImage(
  { digest, reference, source }: FoundImage,
  file: string | undefined,
): Promise<LockedImage | undefined> {
  const lock = await (file === undefined ? readLockIfPresent(lockPath) : readLock(file));
  // An id of the engine is no reference.
  const asked = source === "registry" ? parseImageReference(reference).digest : null;
  const found = Object.values(lock?.images ?? {}).filter(
    (image) => image.digest !== null && (image.digest === digest || image.digest === asked),
  );
  return found.length === 1 ? found[0] : undefined;
}
