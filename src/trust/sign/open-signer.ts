/** The flags about signing, as the library takes them. */

import type { SignerChoice } from "../../oci/trust-flags.ts";
import { usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { parseImageReference } from "../../oci/reference.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import type { Signer } from "./signer.ts";
import { note, type World } from "../../io/world.ts";
import { trustedSignersFor } from "../trust-demands.ts";

/** null without `--sign`. Opens the key, so that its mistakes are told before anything is built. */
export async function openSigner(choice: SignerChoice, world: World) {
  const signer = await signerOf(choice, world);
  if (signer === null) return null;
  const { signFormat: format = "both" } = choice;
  return async (repository: string, registry: FullRegistryClient) => {
    const { fleetSigning } = await import("./sign-fleet.ts");
    const reference = parseImageReference(repository);
    const others = () => trustedSignersFor(reference, {}, world);
    const tell = (line: string) => note(world, [line]);
    return fleetSigning(reference, { signer, registry, format, signal: world.signal, tell, others });
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
      import("./signing-key.ts"),
      import("./make-signer.ts"),
    ]);
    return signWithKey(await openSigningKey(signKey, env), { rekorUrl, timestampUrl });
  }
  const { identityTokenSource, signWithIdentity } = await import("./sign-with-identity.ts");
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
