/** Signs as the identity of a token. A certificate authority confirms it for minutes, and no key is kept. */

import { generateKeyPairSync, sign, X509Certificate } from "node:crypto";
import { usageError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import type { Environment } from "../../io/world.ts";
import { publicRoot } from "../public-root.ts";
import type { TrustedIdentity } from "../trusted-signers.ts";
import type { Signer, SignServices } from "./signer.ts";
import { signingFailure, makeSigner } from "./make-signer.ts";

export interface IdentityOptions extends SignServices {
  /** A token of OpenID Connect for the audience `sigstore`, fresh each time. */
  readonly token: () => Promise<string>;
  /** URL of the certificate authority. Default: the public one, with its transparency log. */
  readonly fulcioUrl?: string | undefined;
  /** `trusted_root.json` that verifies its signatures. Default: the public one's; none with another authority. */
  readonly trustedRoot?: string | null | undefined;
}

/** A certificate that ends sooner than this is replaced first. */
const leastMs = 60_000;

/**
 * Takes one certificate for all images that are signed during its validity. The key ends with the process. Throws `USAGE` for another
 * authority than the public one without anything that confirms the time.
 */
export function signWithIdentity(options: IdentityOptions): Signer {
  const { fulcioUrl, timestampUrl, trustedRoot = null } = options;
  const rekorUrl = options.rekorUrl ?? (fulcioUrl === undefined ? "https://rekor.sigstore.dev" : undefined);
  if (rekorUrl === undefined && timestampUrl === undefined)
    throw usageError(
      "--fulcio-url needs --rekor-url or --timestamp-url, which prove when the certificate was used",
      "give the address of the transparency log, or of the timestamp authority",
    );
  const session = openSession(options);
  const known = async (): Promise<TrustedIdentity | null> => {
    if (trustedRoot === null && fulcioUrl !== undefined) return null;
    const { name, issuer } = await session.identity();
    return { kind: "identity", identity: name, issuer, trustedRoot: trustedRoot ?? (await publicRoot()) };
  };
  return makeSigner(
    { name: "the identity of the token", hint: null, asTrusted: known, sign: session.sign },
    { rekorUrl, timestampUrl },
  );
}

function openSession({ token, fulcioUrl }: IdentityOptions) {
  const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const publicKey = pair.publicKey.export({ type: "spki", format: "pem" }).toString();
  const own = (data: Uint8Array) => sign("sha256", data, pair.privateKey);
  let current: Promise<string> | null = null;
  const issue = async (): Promise<string> => {
    const { FulcioSigner } = await import("@sigstore/sign");
    const keyHolder = {
      sign: async (data: Buffer) => ({
        signature: own(data),
        key: { $case: "publicKey" as const, publicKey },
      }),
    };
    const fulcio = new FulcioSigner({
      ...(fulcioUrl === undefined ? {} : { fulcioBaseURL: fulcioUrl }),
      identityProvider: { getToken: token },
      keyHolder,
    });
    const { key: material } = await fulcio.sign(Buffer.from("certificate")).catch((error) => {
      throw signingFailure("Fulcio", error);
    });
    return material.$case === "x509Certificate" ? material.certificate : "";
  };
  const certificate = async (): Promise<string> => {
    current ??= issue();
    const pem = await current;
    if (new Date(new X509Certificate(pem).validTo).getTime() - Date.now() > leastMs) return pem;
    current = issue();
    return current;
  };
  return {
    sign: async (data: Buffer) => ({
      signature: own(data),
      key: { $case: "x509Certificate" as const, certificate: await certificate() },
    }),
    identity: async () => identityOf(await certificate()),
  };
}

/** The identity in our own certificate. */
async function identityOf(pem: string): Promise<{ readonly name: string; readonly issuer: string }> {
  const { X509Certificate: Certificate } = await import("@sigstore/core");
  const certificate = Certificate.parse(pem);
  // Fulcio, docs/oid-info.md: the issuer as DER, and as bare text before.
  const der = certificate.extension("1.3.6.1.4.1.57264.1.8")?.valueObj.subs[0]?.value;
  const issuer = der ?? certificate.extension("1.3.6.1.4.1.57264.1.1")?.value;
  return { name: certificate.subjectAltName ?? "", issuer: issuer?.toString("utf8") ?? "" };
}

/**
 * A source of a token of OpenID Connect: a file, a variable, or GitHub Actions; null without any. File and GitHub Actions are read each time,
 * as tokens live for minutes.
 */
export function identityTokenSource(
  file: string | undefined,
  env: Environment,
): (() => Promise<string>) | null {
  if (file !== undefined)
    return async () =>
      checkedToken(await readTextFile(file, null, { fix: "name it with --identity-token" }), file);
  const token = env.SIGSTORE_ID_TOKEN;
  if (token !== undefined && token !== "") return async () => checkedToken(token, "SIGSTORE_ID_TOKEN");
  if (env.ACTIONS_ID_TOKEN_REQUEST_URL === undefined) return null;
  return async () => {
    const { CIContextProvider } = await import("@sigstore/sign");
    return new CIContextProvider("sigstore").getToken();
  };
}

/** The authority checks the content. */
function checkedToken(text: string, source: string): string {
  const token = text.trim();
  if (/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return token;
  throw usageError(
    `${source} holds no token of OpenID Connect`,
    "ask the issuer for an ID token with the audience sigstore",
  );
}
