/** Signatures of imgmatch for both cosigns, and theirs for imgmatch: the real programs, registries with and without the referrers API. */

import { generateKeyPairSync } from "node:crypto";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import type { Digest } from "../../src/oci/digest.ts";
import { manifestTypes } from "../../src/oci/media-types.ts";
import { parseImageReference, withDigest, withTag } from "../../src/oci/reference.ts";
import { createRegistryClient } from "../../src/oci/registry/create-client.ts";
import { referrersTag, signatureTag } from "../../src/oci/registry/attachment-tags.ts";
import type { Subject } from "../../src/oci/descriptor.ts";
import { findEvidence } from "../../src/trust/find-evidence.ts";
import { findReferrers } from "../../src/oci/registry/find-referrers.ts";
import { signWithIdentity } from "../../src/trust/sign/sign-with-identity.ts";
import { signWithKey } from "../../src/trust/sign/make-signer.ts";
import { signImages } from "../../src/trust/sign/sign-images.ts";
import type { SignatureFormat } from "../../src/oci/trust-flags.ts";
import { openSigningKey } from "../../src/trust/sign/signing-key.ts";
import type { TrustedSigner } from "../../src/trust/trusted-signers.ts";
import { verifyEvidence } from "../trust/support/verify-evidence.ts";
import { manifestOf } from "../oci/registry/support/manifests.ts";
import { needs } from "../support/needs.ts";
import { type LocalSigstore, startSigstore, tokenOf } from "../support/sigstore.ts";
import {
  cosign2,
  cosign3,
  cosigns,
  cosignWorkbench,
  password,
  startReferrersRegistry,
  whyNoCosign,
  whyNoCosign2,
  whyNoReferrersRegistry,
  type Workbench,
} from "./support/cosign.ts";
import { isLong } from "../support/long.ts";
import { cli } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";
import type { RunningRegistry } from "./support/registry.ts";

const stack = inject("stack");
const registry = createRegistryClient();
const folder = mkdtempSync(join(tmpdir(), "imgmatch-signatures-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let bench: Workbench;
beforeAll(() => {
  if (whyNoCosign === null) bench = cosignWorkbench(folder);
});

const keyKinds = {
  "P-256": () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  "P-384": () => generateKeyPairSync("ec", { namedCurve: "P-384" }),
  ...(isLong && {
    "P-521": () => generateKeyPairSync("ec", { namedCurve: "P-521" }),
    Ed25519: () => generateKeyPairSync("ed25519"),
    RSA: () => generateKeyPairSync("rsa", { modulusLength: 3072 }),
  }),
};

let images = 0;
/** An image that nothing else is like. */
async function pushImage(repository: string): Promise<Subject> {
  const reference = parseImageReference(repository);
  const config = Buffer.from(JSON.stringify({ architecture: "amd64", os: "linux", image: images++ }));
  const mediaType = "application/vnd.oci.image.config.v1+json";
  const digest = await registry.writeBlob(reference, config);
  const manifest = manifestOf({
    schemaVersion: 2,
    mediaType: manifestTypes.oci,
    config: { mediaType, digest, size: config.byteLength },
    layers: [],
  });
  await registry.writeManifest(withTag(reference, "1"), manifest);
  return { reference, digest: manifest.digest };
}

const nameOf = ({ reference: { registry: host, repository }, digest }: Subject) =>
  `${host}/${repository}@${digest}`;

async function signWith(
  { reference, digest }: Subject,
  key: string,
  format: SignatureFormat,
  settleMs = 0,
): Promise<readonly Digest[]> {
  const signer = signWithKey(await openSigningKey(key, bench.env));
  return (await signImages(reference, [digest], { registry, signer, format, settleMs })).signed;
}

const keyOf = (file: string): TrustedSigner => ({
  kind: "key",
  name: file,
  pem: readFileSync(join(folder, file), "utf8"),
});

const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => "verified",
    (error) => (error instanceof ImgmatchError ? `${error.code} ${error.exitCode}` : String(error)),
  );
const judge = async (subject: Subject, ...signers: TrustedSigner[]) =>
  codeOf(verifyEvidence(await findEvidence(registry, subject), subject, signers));

/** Without a transparency log, which keys have none of; cosign 2 takes a bundle for what it is only with a root at hand. */
function verifyFlags(program: string, format: SignatureFormat): readonly string[] {
  const flags = ["verify", "--insecure-ignore-tlog"];
  return program === cosign2 && format !== "tag"
    ? [...flags, "--new-bundle-format", "--trusted-root", "root.json"]
    : flags;
}
it("cosign 2 takes part beside cosign 3", needs(whyNoCosign2), () => {
  expect(cosigns.map(({ version }) => version)).toEqual([3, 2]);
});

const kinds = [
  {
    kind: "a registry without the referrers API",
    start: async () =>
      stack.available ? { host: stack.registry, stop: async () => {} } : Promise.reject(stack.reason),
    missing: stack.available ? null : stack.reason,
  },
  {
    kind: "a registry with the referrers API",
    start: startReferrersRegistry,
    missing: whyNoReferrersRegistry,
  },
];

describe.each(kinds)("in $kind", ({ kind, start, missing }) => {
  describe("cosign and imgmatch", needs(whyNoCosign, missing), () => {
    const hasApi = kind.includes("with the");
    let server: RunningRegistry;
    beforeAll(async () => {
      if (whyNoCosign !== null || missing !== null) return;
      server = await start();
    });
    afterAll(() => server?.stop());
    const push = (name: string) => pushImage(`${server.host}/signatures/${name}`);

    it.each(Object.keys(keyKinds))("cosign 2 and 3 verify what a key of %s signed", async (name) => {
      const make = keyKinds[name as keyof typeof keyKinds] ?? keyKinds["P-256"];
      const { privateKey, publicKey } = make();
      writeFileSync(join(folder, `${name}.key`), privateKey.export({ type: "pkcs8", format: "pem" }));
      writeFileSync(join(folder, `${name}.pub`), publicKey.export({ type: "spki", format: "pem" }));
      for (const format of ["bundle", "tag"] as const) {
        const subject = await push(`${name.toLowerCase()}-${format}`);
        await signWith(subject, join(folder, `${name}.key`), format);
        for (const { program, version } of cosigns) {
          const flags = [...verifyFlags(program, format), "--key", `${name}.pub`];
          const { status, said } = await bench.run(program, ...flags, nameOf(subject));
          expect(status, `cosign ${version}, ${format}: ${said}`).toBe(0);
        }
      }
    });

    it("imgmatch verifies what cosign 2 and 3 signed, beside its own, and nobody's is lost", async () => {
      const subject = await push("together");
      const signed = await signWith(subject, join(folder, "P-256.key"), "both");
      expect(signed).toEqual([subject.digest]);
      const alone = { 3: ["--signing-config", "services.json"], 2: ["--tlog-upload=false"] };
      for (const { program, version } of cosigns) {
        const args = ["sign", "--key", "cosign.key", ...alone[version], "--yes"];
        const { status, said } = await bench.run(program, ...args, nameOf(subject));
        expect(status, said).toBe(0);
      }
      await signWith(subject, join(folder, "P-384.key"), "both");
      const writesTags = whyNoCosign2 === null;
      for (const file of ["P-256.pub", "cosign.pub", "P-384.pub"])
        for (const format of ["bundle", "simple-signing"]) {
          const evidence = (await findEvidence(registry, subject)).filter((each) => each.format === format);
          const isAlone = format === "simple-signing" && !writesTags;
          expect(evidence).toHaveLength(isAlone ? 2 : 3);
          if (isAlone && file === "cosign.pub") continue;
          expect(await codeOf(verifyEvidence(evidence, subject, [keyOf(file)])), `${file} ${format}`).toBe(
            "verified",
          );
        }
      expect(await registry.readReferrers(subject.reference, subject.digest)).toEqual(
        hasApi ? expect.arrayContaining([]) : null,
      );
    });

    it("what is signed already is not signed again", async () => {
      const subject = await push("again");
      const key = join(folder, "P-256.key");
      expect(await signWith(subject, key, "bundle")).toEqual([subject.digest]);
      expect(await signWith(subject, key, "bundle")).toEqual([]);
      expect(await signWith(subject, key, "both")).toEqual([subject.digest]);
      expect(await signWith(subject, key, "both")).toEqual([]);
      expect(await findEvidence(registry, subject)).toHaveLength(2);
    });

    it("many who sign one image at one moment are all there", async () => {
      const subject = await push("crowd");
      const keys = await Promise.all(
        [1, 2, 3, 4].map(async (number) => {
          const { privateKey, publicKey } = keyKinds["P-256"]();
          writeFileSync(join(folder, `${number}.key`), privateKey.export({ type: "pkcs8", format: "pem" }));
          writeFileSync(join(folder, `${number}.pub`), publicKey.export({ type: "spki", format: "pem" }));
          // On a busy machine a write may be that long on its way.
          await signWith(subject, join(folder, `${number}.key`), "both", 2000);
          return `${number}.pub`;
        }),
      );
      for (const key of keys) expect(await judge(subject, keyOf(key)), key).toBe("verified");
      expect(await findEvidence(registry, subject)).toHaveLength(8);
    });

    it("a wrong key, no signature, and another image's signature are each their own code", async () => {
      const [subject, bare] = [await push("mine"), await push("mine")];
      await signWith(subject, join(folder, "P-256.key"), "both");
      expect(await judge(subject, keyOf("P-384.pub"))).toBe("SIGNATURE_WRONG_SIGNER 6");
      expect(await judge(subject, keyOf("P-384.pub"), keyOf("P-256.pub"))).toBe("verified");
      expect(await judge(bare, keyOf("P-256.pub"))).toBe("SIGNATURE_MISSING 6");
      await moveSignatures(subject, bare);
      expect(await judge(bare, keyOf("P-256.pub"))).toBe("SIGNATURE_OTHER_DIGEST 6");
    });
  });
});

/** An attack by somebody who may write the repository: the same signatures under the other image. */
async function moveSignatures(from: Subject, to: Subject): Promise<void> {
  const simple = await registry.readManifest(withTag(from.reference, signatureTag(from.digest)));
  if (simple === null) throw new Error("no signature under the tag");
  await registry.writeManifest(withTag(to.reference, signatureTag(to.digest)), simple);
  const [referrer] = await findReferrers(registry, from);
  const bundle =
    referrer && (await registry.readManifest(withDigest({ ...from.reference, tag: null }, referrer.digest)));
  if (!bundle || !referrer) throw new Error("no bundle");
  const found = await registry.findManifest(withDigest({ ...to.reference, tag: null }, to.digest));
  const moved = manifestOf({ ...JSON.parse(Buffer.from(bundle.bytes).toString()), subject: found });
  await registry.writeManifest(withDigest({ ...to.reference, tag: null }, moved.digest), moved);
  const { digest, mediaType, size } = moved;
  const index = manifestOf(
    {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: [{ digest, mediaType, size, artifactType: referrer.artifactType }],
    },
    "application/vnd.oci.image.index.v1+json",
  );
  await registry.writeManifest(withTag(to.reference, referrersTag(to.digest)), index);
}

describe("as an identity", needs(whyNoCosign, stack.available ? null : stack.reason), () => {
  const name = "https://github.com/team/app/.github/workflows/release.yml@refs/heads/main";
  const issuer = "https://issuer.example.com";
  let sigstore: LocalSigstore;
  beforeAll(async () => {
    sigstore = await startSigstore();
    writeFileSync(join(folder, "trusted_root.json"), sigstore.trustedRoot);
    writeFileSync(join(folder, "token"), tokenOf(name));
  });
  afterAll(() => sigstore?.stop());

  it("cosign 2 and 3 verify what imgmatch signed", async () => {
    if (!stack.available) return;
    for (const format of ["bundle", "tag"] as const) {
      const subject = await pushImage(`${stack.registry}/identity/${format}`);
      const signer = signWithIdentity({
        token: async () => tokenOf(name),
        fulcioUrl: sigstore.url,
        rekorUrl: sigstore.url,
        trustedRoot: sigstore.trustedRoot,
      });
      const { reference, digest } = subject;
      await signImages(reference, [digest], { registry, signer, format, settleMs: 0 });
      expect((await signImages(reference, [digest], { registry, signer, format })).kept).toEqual([digest]);
      for (const { program, version } of cosigns) {
        const bundle = program === cosign2 && format === "bundle" ? ["--new-bundle-format"] : [];
        const whose = ["--certificate-identity", name, "--certificate-oidc-issuer", issuer];
        const root = ["--trusted-root", "trusted_root.json"];
        const { status, said } = await bench.run(
          program,
          ...["verify", ...bundle, ...whose, ...root, nameOf(subject)],
        );
        expect(status, `cosign ${version}, ${format}: ${said}`).toBe(0);
      }
    }
  });

  it("imgmatch verifies what cosign 3 signed", async () => {
    if (!stack.available) return;
    const subject = await pushImage(`${stack.registry}/identity/theirs`);
    const service = (majorApiVersion: number) => ({
      url: sigstore.url,
      majorApiVersion,
      validFor: { start: "2020-01-01T00:00:00Z" },
      operator: "imgmatch",
    });
    const services = {
      mediaType: "application/vnd.dev.sigstore.signingconfig.v0.2+json",
      caUrls: [service(1)],
      rekorTlogUrls: [service(1)],
      rekorTlogConfig: { selector: "ANY" },
    };
    writeFileSync(join(folder, "own.json"), JSON.stringify(services));
    const token = ["--identity-token", "token", "--signing-config", "own.json"];
    const root = ["--trusted-root", "trusted_root.json", "--yes"];
    const { status, said } = await bench.run(cosign3, "sign", ...token, ...root, nameOf(subject));
    expect(status, said).toBe(0);
    const wanted = { kind: "identity", identity: name, issuer, trustedRoot: sigstore.trustedRoot } as const;
    expect(await judge(subject, wanted)).toBe("verified");
    expect(await judge(subject, { ...wanted, identity: `${name}x` })).toBe("SIGNATURE_WRONG_SIGNER 6");
  });
});

describe("publish --sign", needs(whyNoCosign, stack.available ? null : stack.reason), () => {
  let project: Project;
  beforeAll(async () => {
    if (!stack.available || whyNoCosign !== null) return;
    const env = { ...process.env, ...stack.engineEnv, COSIGN_PASSWORD: password };
    project = createProject({ registry: `${stack.registry}/signed`, name: "app", env, inProcess: true });
    project.matrix("base: scratch\naxes:\n  march: [x86-64]\n  flavour: [plain, spicy]");
    for (const file of ["cosign.key", "cosign.pub"])
      writeFileSync(join(project.folder, file), readFileSync(join(folder, file)));
  });
  afterAll(() => project?.remove());

  const verify = async (reference: string) => {
    for (const { program, version } of cosigns) {
      const flags = [...verifyFlags(program, "both"), "--key", "cosign.pub"];
      const { status, said } = await bench.run(program, ...flags, reference);
      expect(status, `cosign ${version}: ${said}`).toBe(0);
    }
  };

  it("build --push --sign signs every image, and --index the index, once", async () => {
    const built = await project.run("build", "--push", "--sign", "--sign-key", "cosign.key");
    expect(built, built.stderr).toMatchObject({ status: 0 });
    expect(built.stderr).toContain("signed 2 manifests, 0 had this signature already");
    const [first] = Object.values(project.lock().images);
    await verify(`${project.repository}@${first?.digest}`);

    const indexed = await project.run("publish", "--sign", "--sign-key", "cosign.key");
    expect(indexed, indexed.stderr).toMatchObject({ status: 0 });
    expect(indexed.stderr).toContain("signed 1 manifest, 2 had this signature already");
    await verify(indexed.stdout.trim().replace(/:1\.0\.0@/, "@"));
    const resolved = await project.run(
      "resolve",
      `${project.repository}:1.0.0`,
      "--key",
      "cosign.pub",
      "--pin",
      "flavour=plain",
    );
    expect(resolved, resolved.stderr).toMatchObject({ status: 0 });

    const again = await project.run("publish", "--sign", "--sign-key", "cosign.key", "--json");
    expect(JSON.parse(again.stdout.split("\n")[0] ?? "")).toMatchObject({ type: "signatures", signed: [] });
  });

  it("build --sign takes over what is under a tag already where it is known who signed it, and nothing of a stranger's", async () => {
    if (!stack.available) return;
    const env = { ...process.env, ...stack.engineEnv, COSIGN_PASSWORD: password };
    const planted = createProject({
      registry: `${stack.registry}/planted`,
      name: "app",
      env,
      inProcess: true,
    });
    planted.matrix("base: scratch\naxes:\n  march: [x86-64]");
    for (const file of ["cosign.key", "cosign.pub"])
      writeFileSync(join(planted.folder, file), readFileSync(join(folder, file)));
    /** On a machine that knows nothing but the registry. */
    const build = async (...flags: string[]) => {
      rmSync(join(planted.folder, lockFile), { force: true });
      return planted.run("build", "--push", ...flags);
    };
    const signing = ["--sign", "--sign-key", "cosign.key"];
    const stranger = await build();
    expect(stranger, stranger.stderr).toMatchObject({ status: 0 });
    const refused = await build(...signing);
    expect(refused, refused.stderr).toMatchObject({ status: 6 });
    expect(refused.stderr).toMatch(/SIGNATURE_MISSING: .*\n.*find out who pushed it/);
    const locked = existsSync(join(planted.folder, lockFile)) ? Object.values(planted.lock().images) : [];
    expect(locked.flatMap(({ digest }) => digest ?? [])).toEqual([]);

    // Under a policy, what others have signed counts.
    await build();
    const [image] = Object.values(planted.lock().images);
    if (!image?.digest) throw new Error("not built");
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    planted.write("other.key", privateKey.export({ type: "pkcs8", format: "pem" }).toString());
    planted.write("other.pub", publicKey.export({ type: "spki", format: "pem" }).toString());
    const reference = parseImageReference(planted.repository);
    await signWith({ reference, digest: image.digest }, join(planted.folder, "other.key"), "tag");
    expect((await build(...signing)).stderr).toContain("SIGNATURE_WRONG_SIGNER");
    planted.write("imgmatch.trust.yaml", 'repositories: { "*/*": { signers: [{ key: other.pub }] } }\n');
    const taken = await build(...signing);
    expect(taken, taken.stderr).toMatchObject({ status: 0 });
    rmSync(join(planted.folder, "imgmatch.trust.yaml"));
    const known = await build(...signing);
    expect(known, known.stderr).toMatchObject({ status: 0 });
    expect(known.stderr).toContain("signed 0 manifests, 1 had this signature already");
    planted.remove();
  });

  it("publish --sign and promote --sign sign no index with what a stranger has put there", async () => {
    if (!stack.available) return;
    const env = { ...process.env, ...stack.engineEnv, COSIGN_PASSWORD: password };
    const planted = createProject({ registry: `${stack.registry}/union`, name: "app", env, inProcess: true });
    writeFileSync(join(planted.folder, "cosign.key"), readFileSync(join(folder, "cosign.key")));
    const signing = ["--sign", "--sign-key", "cosign.key"];
    // A stranger's cell, which the index of the version has before anybody signs.
    planted.matrix("base: scratch\naxes:\n  march: [x86-64-v2]");
    await planted.publish();
    rmSync(join(planted.folder, lockFile));
    planted.matrix("base: scratch\naxes:\n  march: [x86-64]");
    const built = await planted.run("build", "--push", ...signing);
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const index = await registry.findManifest(parseImageReference(`${planted.repository}:1.0.0`));
    for (const command of [["publish"], ["promote", "1.0.0", "2.0.0"]]) {
      const refused = await planted.run(...command, ...signing);
      expect(refused, refused.stderr).toMatchObject({ status: 6 });
      expect(refused.stderr).toMatch(/SIGNATURE_MISSING: .*\n.*--replace-index/);
    }
    expect(await registry.findManifest(parseImageReference(`${planted.repository}:1.0.0`))).toEqual(index);
    expect(await registry.findManifest(parseImageReference(`${planted.repository}:2.0.0`))).toBeNull();
    const replaced = await planted.run("publish", "--replace-index", ...signing);
    expect(replaced, replaced.stderr).toMatchObject({ status: 0 });
    planted.remove();
  });

  it("promote --sign signs the version that it becomes", async () => {
    const promoted = await project.run("promote", "1.0.0", "2.0.0", "--sign", "--sign-key", "cosign.key");
    expect(promoted, promoted.stderr).toMatchObject({ status: 0 });
    await verify(promoted.stdout.trim().replace(/:2\.0\.0@/, "@"));
  });

  it("signs as the identity of a token, with a sigstore of one's own, and knows it again", async () => {
    const sigstore = await startSigstore();
    const name = "https://github.com/team/app/.github/workflows/release.yml@refs/heads/main";
    project.write("token", tokenOf(name));
    project.write("trusted_root.json", sigstore.trustedRoot);
    const own = ["--identity-token", "token", "--fulcio-url", sigstore.url, "--rekor-url", sigstore.url];
    const sign = () =>
      project.run(
        "publish",
        "--sign",
        ...own,
        "--timestamp-url",
        sigstore.url,
        "--sign-root",
        "trusted_root.json",
      );
    const signed = await sign();
    expect(signed, signed.stderr).toMatchObject({ status: 0 });
    expect(signed.stderr).toContain("signed 3 manifests, 0 had this signature already");
    expect((await sign()).stderr).toContain("signed 0 manifests, 3 had this signature already");
    const whose = [
      "--identity",
      name,
      "--issuer",
      "https://issuer.example.com",
      "--trusted-root",
      "trusted_root.json",
    ];
    const asked = ["resolve", `${project.repository}:1.0.0`, "--pin", "flavour=plain"];
    const resolved = await project.run(...asked, ...whose);
    expect(resolved, resolved.stderr).toMatchObject({ status: 0 });
    const other = await project.run(...asked, ...whose.with(1, "somebody@example.com"));
    expect(other, other.stderr).toMatchObject({ status: 6 });
    await sigstore.stop();
  });

  it("a key from the environment signs, and each mistake is told before anything is built", async () => {
    const { env } = process;
    const run = (more: NodeJS.ProcessEnv, ...args: string[]) =>
      bench.run(process.execPath, cli, "build", "--push", ...args).then((ran) => ({ ...ran, more }));
    expect(await run(env, "--sign")).toMatchObject({ status: 2 });
    const given = { ...bench.env, OWN_KEY: readFileSync(join(folder, "cosign.key"), "utf8") };
    await expect(openSigningKey("env://OWN_KEY", given)).resolves.toMatchObject({ name: "env://OWN_KEY" });
    const codes: readonly (readonly [string, NodeJS.ProcessEnv, string])[] = [
      [join(folder, "cosign.key"), { ...bench.env, COSIGN_PASSWORD: "wrong" }, "KEY_INVALID"],
      [join(folder, "cosign.key"), { PATH: "" }, "KEY_INVALID"],
      [join(folder, "cosign.pub"), bench.env, "KEY_INVALID"],
      [join(folder, "none.key"), bench.env, "FILE_NOT_FOUND"],
      ["env://NOT_SET", bench.env, "KEY_INVALID"],
      ["awskms:///alias/fleet", { PATH: "" }, "COSIGN_NOT_FOUND"],
    ];
    for (const [key, environment, code] of codes)
      expect(await codeOf(openSigningKey(key, environment)), key).toMatch(new RegExp(`^${code} [25]$`));
  });

  it.each(cosigns)("an address of a key service signs through cosign $version", async ({ program }) => {
    if (!stack.available) return;
    // The service is a stand-in, a file; the program is the real one, with every flag as it is given.
    const bin = mkdtempSync(join(folder, "bin-"));
    const script = `#!/bin/sh\nfor a; do shift; [ "$a" = awskms:///alias/fleet ] && a=${join(folder, "cosign.key")}; set -- "$@" "$a"; done\nexec ${program} "$@"\n`;
    writeFileSync(join(bin, "cosign"), script);
    chmodSync(join(bin, "cosign"), 0o755);
    const env = { ...bench.env, PATH: `${bin}:${process.env.PATH}` };
    const subject = await pushImage(`${stack.registry}/signed/service`);
    const signer = signWithKey(await openSigningKey("awskms:///alias/fleet", env));
    await signImages(subject.reference, [subject.digest], { registry, signer, format: "both", settleMs: 0 });
    await verify(nameOf(subject));
  });
});
