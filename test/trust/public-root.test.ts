/** The trusted root by TUF: a repository of it on loopback, and what one must not get away with. */

import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canonical } from "../../src/io/canonical-json.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { signPredicate } from "../../src/trust/evidence.ts";
import { publicRoot } from "../../src/trust/public-root.ts";
import { signWithIdentity } from "../../src/trust/sign/sign-with-identity.ts";
import { verifyEvidence } from "../../src/trust/verify-evidence.ts";
import { makeFolder } from "../support/folders.ts";
import { type LocalSigstore, startSigstore, tokenOf } from "../support/sigstore.ts";

const canonicalJson = (value: unknown) => JSON.stringify(canonical(value));
const hash = (content: string) => createHash("sha256").update(content).digest("hex");

function createKey() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("hex");
  const key = { keytype: "ed25519", scheme: "ed25519", keyval: { public: raw } };
  const keyid = hash(canonicalJson(key));
  /** Metadata of TUF (theupdateframework.github.io/specification, 4.2). */
  const metadata = (fields: object, expires = new Date(Date.now() + 86_400_000)) => {
    const at = `${expires.toISOString().slice(0, 19)}Z`;
    const signed = { spec_version: "1.0.31", version: 1, expires: at, ...fields };
    const sig = sign(null, Buffer.from(canonicalJson(signed)), privateKey).toString("hex");
    return JSON.stringify({ signatures: [{ keyid, sig }], signed });
  };
  return { key, keyid, metadata };
}

const root = createKey();
const role = { keyids: [root.keyid], threshold: 1 };
const rootJson = root.metadata({
  _type: "root",
  consistent_snapshot: true,
  keys: { [root.keyid]: root.key },
  roles: { root: role, timestamp: role, snapshot: role, targets: role },
});

let sigstore: LocalSigstore;
let server: Server;
let files: Record<string, string>;

/** The files of the repository. */
function repository(trustedRoot: string): Record<string, string> {
  const target = { length: Buffer.byteLength(trustedRoot), hashes: { sha256: hash(trustedRoot) } };
  return {
    "/timestamp.json": root.metadata({ _type: "timestamp", meta: { "snapshot.json": { version: 1 } } }),
    "/1.snapshot.json": root.metadata({ _type: "snapshot", meta: { "targets.json": { version: 1 } } }),
    "/1.targets.json": root.metadata({ _type: "targets", targets: { "trusted_root.json": target } }),
    [`/targets/${target.hashes.sha256}.trusted_root.json`]: trustedRoot,
  };
}

beforeAll(async () => {
  sigstore = await startSigstore();
  server = createServer(({ url = "" }, response) => {
    const file = files[url];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(async () => {
  server.close();
  await sigstore.stop();
});

function options() {
  const folder = makeFolder({ "root.json": rootJson });
  return {
    cachePath: join(folder, "cache"),
    rootPath: join(folder, "root.json"),
    mirrorURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  };
}

describe("the trusted root by TUF", () => {
  it("verifies an identity, where none is given as a file", async () => {
    files = repository(sigstore.trustedRoot);
    const name = "https://github.com/team/app/.github/workflows/release.yml@refs/heads/main";
    const signer = signWithIdentity({
      token: async () => tokenOf(name),
      fulcioUrl: sigstore.url,
      rekorUrl: sigstore.url,
    });
    const digest = digestOf("an image");
    const content = await signer.signStatement({
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ digest: { sha256: digest.slice("sha256:".length) } }],
      predicateType: signPredicate,
      predicate: {},
    });
    const subject = { reference: parseImageReference("registry.example.com/team/app:1.0"), digest };
    const wanted = {
      kind: "identity",
      identity: name,
      issuer: "https://issuer.example.com",
      trustedRoot: null,
    } as const;
    const verified = await verifyEvidence([{ format: "bundle", content }], subject, [wanted], {
      publicRoot: () => publicRoot(options()),
    });
    expect(verified).toMatchObject({ identity: { name } });
  });

  it.each<[name: string, why: RegExp, lie: (honest: Record<string, string>) => Record<string, string>]>([
    [
      "that has another content than was signed",
      /digest|hash/i,
      (honest) => {
        const [target = ""] = Object.keys(honest).filter((path) => path.startsWith("/targets/"));
        return { ...honest, [target]: sigstore.trustedRoot.replace("tlogs", "tlogx") };
      },
    ],
    [
      "whose list another key has signed",
      /targets was signed by 0\/1 keys/,
      (honest) => {
        const signed = JSON.parse(honest["/1.targets.json"] ?? "").signed;
        return { ...honest, "/1.targets.json": createKey().metadata(signed) };
      },
    ],
    [
      "that is not kept up to date any more",
      /timestamp.json is expired/,
      (honest) => ({
        ...honest,
        "/timestamp.json": root.metadata(
          { _type: "timestamp", meta: { "snapshot.json": { version: 1 } } },
          new Date(Date.now() - 1000),
        ),
      }),
    ],
    ["that is not there", /Failed to download/, () => ({})],
  ])("refuses one %s", async (_, why, lie) => {
    files = lie(repository(sigstore.trustedRoot));
    await expect(publicRoot(options())).rejects.toMatchObject({
      code: "TRUSTED_ROOT_INVALID",
      message: expect.stringMatching(why),
    });
  });
});
