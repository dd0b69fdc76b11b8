/** Keys that are to sign: encrypted as cosign does it, damaged, of kinds that nobody verifies. */

import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { parsePublicKey } from "../../../src/trust/public-key.ts";
import { needsCosign } from "../../../src/trust/sign/cosign-key.ts";
import { identityTokenSource } from "../../../src/trust/sign/sign-with-identity.ts";
import { signWithKey } from "../../../src/trust/sign/make-signer.ts";
import { openSigningKey } from "../../../src/trust/sign/signing-key.ts";
import { isNamed } from "../../../src/trust/trusted-signers.ts";
import encrypted from "../../fixtures/signatures/encrypted-key.json" with { type: "json" };

const folder = mkdtempSync(join(tmpdir(), "imgmatch-keys-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let files = 0;
const fileOf = (text: string): string => {
  const file = join(folder, `${files++}.key`);
  writeFileSync(file, text);
  return file;
};
const open = (text: string, env = { COSIGN_PASSWORD: encrypted.password } as Record<string, string>) =>
  openSigningKey(fileOf(text), env);
const problemOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "opened",
    (error) =>
      error instanceof ImgmatchError ? `${error.code}: ${error.problems[0].message}` : String(error),
  );

interface Box {
  kdf: { name: string; params: { N: number; r: number; p: number }; salt: string };
  cipher: { name: string; nonce: string };
  ciphertext: string;
}

/** The same key with something else in its JSON. */
function changed(change: (box: Box) => void): string {
  const body = encrypted.pem.replace(/-----[A-Z ]+-----/g, "");
  const box = JSON.parse(Buffer.from(body, "base64").toString()) as Box;
  change(box);
  const name = "ENCRYPTED SIGSTORE PRIVATE KEY";
  const text = Buffer.from(JSON.stringify(box)).toString("base64");
  return `-----BEGIN ${name}-----\n${text}\n-----END ${name}-----\n`;
}

describe("a key that cosign encrypted", () => {
  it("opens with its password, and is the key that it was", async () => {
    const key = await open(encrypted.pem);
    expect(key.publicKey).toBe(encrypted.publicKey);
    // Whoever signs with it has each signature checked.
    await expect(signWithKey(key).signPayload(Buffer.from("text"))).resolves.toMatchObject({
      certificate: null,
    });
  });

  it("does not open with another password, with none, or damaged", async () => {
    expect(await problemOf(open(encrypted.pem, { COSIGN_PASSWORD: "wrong" }))).toMatch(
      /KEY_INVALID: .*password/,
    );
    expect(await problemOf(open(encrypted.pem, {}))).toMatch(/KEY_INVALID: .* is encrypted/);
    const damage = [
      changed((box) => (box.ciphertext = `AAAA${box.ciphertext.slice(4)}`)),
      changed((box) => (box.ciphertext = "")),
      changed((box) => (box.cipher.nonce = "AAAA")),
      changed((box) => (box.cipher.name = "none")),
      changed((box) => (box.kdf.name = "none")),
      changed((box) => (box.kdf.params.N = 2 ** 30)),
      changed((box) => (box.kdf.params.N = 3)),
      changed((box) => (box.kdf.params.p = 10_000)),
      changed((box) => (box.kdf.params.r = -1)),
      changed((box) => (box.kdf.salt = "???")),
    ];
    for (const text of damage) expect(await problemOf(open(text))).toMatch(/^KEY_INVALID: /);
  });
});

it.each([
  ["an empty file", ""],
  ["a public key", encrypted.publicKey],
  ["a short RSA key", rsa(1024)],
  ["a curve that no verifier has", ec("secp256k1")],
  ["a key for agreeing on secrets", x25519()],
])("%s is KEY_INVALID", async (_, text) => {
  expect(await problemOf(open(text))).toMatch(/^KEY_INVALID: /);
});

it("a private key in the place of a public one is told as what it is", () => {
  expect(() => parsePublicKey({ name: "cosign.key", pem: ec("P-256") })).toThrow(/is a private key/);
});

it("a program that signs with another key than it names is not believed", async () => {
  const key = await open(ec("P-256"));
  const liar = signWithKey({ ...(await open(ec("P-256"))), publicKey: key.publicKey });
  await expect(liar.signPayload(Buffer.from("text"))).rejects.toMatchObject({ code: "SIGNING_FAILED" });
});

it("tells what cosign has to open from files and variables", () => {
  for (const name of [
    "awskms:///alias/a",
    "gcpkms://a",
    "azurekms://a",
    "hashivault://a",
    "k8s://a/b",
    "pkcs11:token=a",
  ])
    expect(needsCosign(name), name).toBe(true);
  for (const name of ["cosign.key", "./a:b", "env://NAME", "C:/keys/a"])
    expect(needsCosign(name), name).toBe(false);
});

it("takes a token from a file, a variable or GitHub, and from nowhere else", async () => {
  expect(identityTokenSource(undefined, {})).toBeNull();
  expect(identityTokenSource(undefined, { ACTIONS_ID_TOKEN_REQUEST_URL: "https://a" })).not.toBeNull();
  expect(await identityTokenSource(undefined, { SIGSTORE_ID_TOKEN: "a.b.c\n" })?.()).toBe("a.b.c");
  expect(await identityTokenSource(fileOf("a.b.c\n"), {})?.()).toBe("a.b.c");
  await expect(identityTokenSource(fileOf("secret"), {})?.()).rejects.toMatchObject({ code: "USAGE" });
});

it("a pattern of a name is one of all of it, with or without anchors", () => {
  expect(isNamed("https://a/b", /https:\/\/a\/.*/)).toBe(true);
  expect(isNamed("https://evil/https://a/b", /https:\/\/a\/.*/)).toBe(false);
  expect(isNamed("ab", /a|b/)).toBe(false);
  expect(isNamed("aXb", "a.b")).toBe(false);
  expect(isNamed("https://a/b/c", { glob: "https://a/*" })).toBe(true);
  expect(isNamed("https://evil/https://a/b", { glob: "https://a/*" })).toBe(false);
  // An expression for it would look for weeks.
  expect(isNamed("a".repeat(100_000), { glob: "*a*a*a*a*a*a*a*b" })).toBe(false);
  expect([isNamed("a", /a/g), isNamed("a", /a/y)]).toEqual([true, true]);
});

function pkcs8(key: { readonly privateKey: import("node:crypto").KeyObject }): string {
  return key.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
function ec(namedCurve: string): string {
  return pkcs8(generateKeyPairSync("ec", { namedCurve }));
}
function rsa(modulusLength: number): string {
  return pkcs8(generateKeyPairSync("rsa", { modulusLength }));
}
function x25519(): string {
  return pkcs8(generateKeyPairSync("x25519"));
}
