/** A proxy that answers 403 and HTML where it likes: no yes without a valid signature, and no signature is lost. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import type { Manifest, Subject } from "../../src/oci/descriptor.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import type { FullRegistryClient } from "../../src/oci/registry/create-client.ts";
import { manifestOf } from "../../src/oci/registry/manifests.ts";
import { signatureFormats } from "../../src/oci/trust-flags.ts";
import { findEvidence } from "../../src/trust/find-evidence.ts";
import { signImages } from "../../src/trust/sign/sign-images.ts";
import { verifyEvidence } from "../../src/trust/verify-evidence.ts";
import { createSigningKey } from "../e2e/support/signed-fleet.ts";
import {
  createStore,
  type Quirk,
  type Reply,
  startQuirkyRegistry,
} from "../fleet/publish/support/quirky-registry.ts";
import { numbers } from "../fleet/publish/support/race.ts";
import { quickClient } from "../oci/registry/support/manifests.ts";
import { rounds } from "../support/long.ts";

const keys = [createSigningKey(), createSigningKey(), createSigningKey()] as const;
const images = ["a", "b", "c"].map((note) =>
  manifestOf("application/vnd.oci.image.manifest.v1+json", { layers: [], annotations: { note } }),
);

const page = { headers: { "content-type": "text/html" }, body: "<html>Sign in</html>" };
const answers: readonly Reply[] = [
  { status: 403, body: { errors: [{ code: "DENIED", message: "requested access is denied" }] } },
  { status: 403, ...page },
  { status: 200, ...page },
];

/** Requests of one kind, reads or writes, or all: a proxy may have a rule against one way and none against another. */
const isMeant = {
  all: () => true,
  reads: ({ method }) => method === "GET" || method === "HEAD",
  writes: ({ method }) => method !== "GET" && method !== "HEAD",
  referrers: ({ kind }) => kind === "referrers",
  tags: ({ kind, name }) => kind === "manifests" && name.startsWith("sha256-"),
  blobs: ({ kind }) => kind === "blobs",
} satisfies Readonly<Record<string, (asked: Parameters<Quirk>[0]) => boolean>>;

const proxies = fc.record({
  seed: fc.integer(),
  badness: fc.constantFrom(0.05, 0.3, 1),
  on: fc.constantFrom(...(Object.keys(isMeant) as (keyof typeof isMeant)[])),
});

const acts = fc.record({
  what: fc.constantFrom("sign", "verify", "verify"),
  key: fc.nat({ max: keys.length - 1 }),
  image: fc.nat({ max: images.length - 1 }),
  format: fc.constantFrom(...(Object.keys(signatureFormats) as (keyof typeof signatureFormats)[])),
  proxy: proxies,
});

const code = (error: unknown): string => {
  if (error instanceof ImgmatchError) return error.problems[0].code;
  throw error;
};

/** "yes", or the code of the refusal. */
async function verify(registry: FullRegistryClient, subject: Subject, key: number): Promise<string> {
  const pem = keys[key]?.pem ?? "";
  const judging = findEvidence(registry, subject).then((evidence) =>
    verifyEvidence(evidence, subject, [{ kind: "key", name: "k", pem }], {
      publicRoot: () => Promise.reject(new Error("nobody asks")),
    }),
  );
  return judging.then(() => "yes", code);
}

describe("a proxy that answers 403 and HTML where it likes", () => {
  it("gives no yes without a valid signature, and loses none", { timeout: 120_000 }, async () => {
    const seen = new Set<string>();
    const property = fc.asyncProperty(
      fc.boolean(),
      fc.array(acts, { minLength: 1, maxLength: 12 }),
      async (answersReferrers, done) => {
        let quirk: Quirk = (_, serve) => serve();
        const store = createStore({ answersReferrers });
        const server = await startQuirkyRegistry((asked, serve) => quirk(asked, serve), store);
        try {
          const reference = parseImageReference(`${server.host}/team/app`);
          const registry = quickClient();
          const put = (image: Manifest) =>
            registry.writeManifest({ ...reference, digest: image.digest }, image);
          await Promise.all(images.map(put));
          // Who has tried to sign what, and who has been told that it is signed.
          const tried = new Set<string>();
          const signed = new Map<string, readonly string[]>();
          for (const { what, key, image, format, proxy } of done) {
            const digest = images[image]?.digest as Digest;
            const random = numbers(proxy.seed);
            quirk = (asked, serve) =>
              isMeant[proxy.on](asked) && random() < proxy.badness
                ? (answers[Math.floor(random() * answers.length)] as Reply)
                : serve();
            if (what === "verify") {
              const verdict = await verify(quickClient(), { reference, digest }, key);
              seen.add(verdict);
              if (!tried.has(`${key} ${image}`)) expect(verdict).not.toBe("yes");
              continue;
            }
            tried.add(`${key} ${image}`);
            const signer = keys[key]?.signer as (typeof keys)[0]["signer"];
            const options = { registry: quickClient(), signer, format, settleMs: 0, sleep: async () => {} };
            const said = await signImages(reference, [digest], options).then(({ forms }) => forms, code);
            seen.add(typeof said === "string" ? `sign: ${said}` : `signed: ${said}`);
            if (typeof said === "string") continue;
            signed.set(`${key} ${image}`, [...(signed.get(`${key} ${image}`) ?? []), ...said]);
          }
          quirk = (_, serve) => serve();
          for (const [who, forms] of signed) {
            const [key = 0, image = 0] = who.split(" ").map(Number);
            const subject = { reference, digest: images[image]?.digest as Digest };
            const evidence = await findEvidence(quickClient(), subject);
            for (const form of new Set(forms)) {
              const ofForm = evidence.filter(
                ({ format }) => format === (form === "tag" ? "simple-signing" : "bundle"),
              );
              const pem = keys[key]?.pem ?? "";
              await verifyEvidence(ofForm, subject, [{ kind: "key", name: "k", pem }], {
                publicRoot: () => Promise.reject(new Error("nobody asks")),
              });
            }
          }
        } finally {
          await server.stop();
        }
      },
    );
    await fc.assert(property, { numRuns: rounds(60, 2000), seed: 58 });
    for (const each of ["yes", "SIGNATURE_MISSING", "signed: tag", "signed: bundle", "signed: bundle,tag"])
      expect([...seen]).toContain(each);
  });
});
