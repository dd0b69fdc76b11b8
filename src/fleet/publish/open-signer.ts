/** The flags about signing, as the library takes them. */

import { usageError } from "../../errors.ts";
import type { FleetSigner } from "./sign-fleet.ts";
import { readTextFile } from "../../io/files.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import type { Signer } from "../../trust/sign/signer.ts";
import type { SignatureFormat } from "../../trust/sign/sign-images.ts";
import type { World } from "../../io/world.ts";
import { trustedSignersFor } from "../../trust/trust-demands.ts";

export interface SignerChoice {
  readonly sign?: boolean;
  /** A file, `env://NAME`, or an address that cosign understands. */
  readonly signKey?: string;
  readonly signFormat?: SignatureFormat;
  /** A file with a token of OpenID Connect. */
  readonly identityToken?: string;
  readonly fulcioUrl?: string;
  readonly rekorUrl?: string;
  readonly timestampUrl?: string;
  /** A file: `trusted_root.json`. */
  readonly signRoot?: string;
}

type SignFleet = (repository: string, registry: FullRegistryClient) => Promise<FleetSigner>;

/** null without `--sign`. Opens the key, so that its mistakes are told before anything is built. */
export async function openSigner(choice: SignerChoice, world: World): Promise<SignFleet | null> {
  const signer = await signerOf(choice, world);
  if (signer === null) return null;
  const { signFormat: format = "both" } = choice;
  return async (repository, registry) => {
    const { fleetSigning } = await import("./sign-fleet.ts");
    const reference = parseImageReference(repository);
    const others = () => trustedSignersFor(reference, {}, world);
    return fleetSigning(reference, { signer, registry, format, signal: world.signal, others });
  };
}

async function signerOf(flags: SignerChoice, { env }: World): Promise<Signer | null> {
  const { sign, signKey, identityToken, signRoot, ...urls } = flags;
  const { fulcioUrl = env.COSIGN_FULCIO_URL, rekorUrl = env.COSIGN_REKOR_URL } = urls;
  const { timestampUrl = env.COSIGN_TIMESTAMP_SERVER_URL } = urls;
  if (!sign) return refuseWithoutSign(flags);
  for (const url of [fulcioUrl, rekorUrl, timestampUrl]) {
    const isHttp = url === undefined || (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol));
    if (!isHttp) throw usageError(`${url} is not an http address`, "write it as https://host");
  }
  if (signKey !== undefined) {
    if (identityToken !== undefined || flags.fulcioUrl !== undefined)
      throw usageError("--sign-key excludes --identity-token and --fulcio-url", "leave one of them out");
    const [{ openSigningKey }, { signWithKey }] = await Promise.all([
      import("../../trust/sign/signing-key.ts"),
      import("../../trust/sign/make-signer.ts"),
    ]);
    return signWithKey(await openSigningKey(signKey, env), { rekorUrl, timestampUrl });
  }
  const { identityTokenSource, signWithIdentity } = await import("../../trust/sign/sign-with-identity.ts");
  const token = identityTokenSource(identityToken, env);
  if (token === null)
    throw usageError(
      "--sign has neither a key nor an identity",
      "name a key with --sign-key, or give an OIDC token: id-token: write in GitHub Actions, SIGSTORE_ID_TOKEN elsewhere",
    );
  const root = signRoot === undefined ? null : await readTextFile(signRoot, null);
  return signWithIdentity({ token, fulcioUrl, rekorUrl, timestampUrl, trustedRoot: root });
}

function refuseWithoutSign(flags: SignerChoice): null {
  const { signKey, identityToken, fulcioUrl, rekorUrl, timestampUrl, signRoot } = flags;
  const given = { "--sign-key": signKey, "--identity-token": identityToken, "--fulcio-url": fulcioUrl };
  const more = { "--rekor-url": rekorUrl, "--timestamp-url": timestampUrl, "--sign-root": signRoot };
  const [name] = Object.entries({ ...given, ...more }).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw usageError(`${name} needs --sign`, "add --sign");
  return null;
}
