import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleFromJSON } from "@sigstore/bundle";
import { describe, expect, it } from "vitest";
import { attempt } from "../../src/io/attempt.ts";
import { parseJson } from "../../src/io/json.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import type { Evidence } from "../../src/trust/evidence.ts";
import { isSignedBy, parsePublicKey } from "../../src/trust/public-key.ts";
import { readBundle, readStatement } from "../../src/trust/statement.ts";
import { verifiedIdentity, verifierOf } from "../../src/trust/verify-identity.ts";
import { needs } from "../support/needs.ts";
import { noPublicRoot } from "../../src/trust/no-public-root.ts";
import { verifyEvidence } from "../../src/trust/verify-evidence.ts";

const suites = fileURLToPath(new URL("../../../shared/suites/sigstore-conformance", import.meta.url));
const folder = join(suites, "test/assets/bundle-verify");
const whyNone = existsSync(folder) ? null : "no ../shared/suites/sigstore-conformance beside the checkout";
const cases =
  whyNone === null
    ? readdirSync(folder, { withFileTypes: true }).flatMap((each) => (each.isDirectory() ? [each.name] : []))
    : [];

/** The public root that sigstore's package brings, so that the suite needs no network. */
const publicRoot = Buffer.from(
  JSON.parse(readFileSync("node_modules/@sigstore/tuf/seeds.json", "utf8"))[
    "https://tuf-repo-cdn.sigstore.dev"
  ].targets["trusted_root.json"],
  "base64",
).toString();
const workflow =
  "https://github.com/sigstore-conformance/extremely-dangerous-public-oidc-beacon/.github/workflows/extremely-dangerous-oidc-beacon.yml@refs/heads/main";

/** What verification says of a case: null if it is good. */
async function faultOf(name: string): Promise<string | null> {
  const text = (file: string) => attempt(() => readFileSync(join(folder, name, file), "utf8"), undefined);
  const content = text("bundle.sigstore.json") ?? "";
  const file =
    attempt(() => readFileSync(join(folder, name, "artifact")), null) ?? readFileSync(join(folder, "a.txt"));
  const bundle = attempt(() => bundleFromJSON(parseJson(content)), null);
  if (bundle === null) return "no bundle";
  const key = text("key.pub");
  if (key !== undefined) {
    if (bundle.content.$case !== "messageSignature") throw new Error(`${name}: a key's envelope is new here`);
    const { signature } = bundle.content.messageSignature;
    // A key that is none is a fault too.
    const good = attempt(() => parsePublicKey({ name: "key.pub", pem: key }), null);
    const isGood = good !== null && (await isSignedBy(good, file, signature));
    return isGood ? null : "not signed by this key";
  }
  const root = text("trusted_root.json") ?? publicRoot;
  if (bundle.content.$case === "messageSignature") {
    const verifier = attempt(() => verifierOf(root), null);
    if (verifier === null) return "the root is refused";
    const identity = verifiedIdentity(verifier, bundle, file);
    return "why" in identity ? identity.why : identity.name === workflow ? null : identity.name;
  }
  // A statement in an envelope is what imgmatch reads from a registry: the whole way.
  const digest = `sha256:${createHash("sha256").update(file).digest("hex")}` as const;
  const evidence: Evidence = { format: "bundle", content };
  const read = readBundle(content);
  const statement = typeof read === "string" ? read : readStatement(read.envelope);
  if (typeof statement === "string") return statement;
  return verifyEvidence(
    [evidence],
    { reference: parseImageReference("registry.example.com/a"), digest },
    [
      {
        kind: "identity",
        identity: workflow,
        issuer: "https://token.actions.githubusercontent.com",
        trustedRoot: root,
      },
    ],
    { predicateType: statement.predicateType, publicRoot: noPublicRoot },
  ).then(
    () => null,
    (error: Error) => error.message,
  );
}

describe("sigstore's conformance suite", needs(whyNone), () => {
  it("has the cases of the table", () => {
    const names = readFileSync("test/trust/conformance.md", "utf8");
    expect(cases.filter((name) => !names.includes(`\`${name}\``))).toEqual([]);
    expect(readFileSync("docs/trust.md", "utf8")).toContain(
      `verification of bundles | ${cases.length} | 0 |`,
    );
  });
  it.each(cases)("%s", async (name) => {
    const fault = await faultOf(name);
    if (name.endsWith("_fail")) expect(fault).not.toBe(null);
    else expect(fault).toBe(null);
  });
});
