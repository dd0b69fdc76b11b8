import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { exitCodes, problemCodes } from "../../../src/problem-codes.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { attachProvenance, writeProvenance } from "../../../src/trust/provenance/write-provenance.ts";
import type { BuildRecord } from "../../../src/oci/build-record.ts";
import { imagePurl, readImagePurl } from "../../../src/trust/provenance/attested-build.ts";
import { verifyProvenance } from "../../../src/trust/provenance/verify-provenance.ts";
import { signWithKey } from "../../../src/trust/sign/make-signer.ts";
import { openSigningKey } from "../../../src/trust/sign/signing-key.ts";
import { createMemoryRegistry, type MemoryRegistry } from "../../fleet/publish/support/memory-registry.ts";
import { image as lockedImage, lockOf } from "../../resolve/support/locks.ts";

const commit = "0123456789abcdef0123456789abcdef01234567";
const [matrix, inputs, baseDigest, other] = ["matrix", "inputs", "base", "other"].map((text) =>
  digestOf(text),
) as [Digest, Digest, Digest, Digest];
const base = { ref: "nvidia/cuda:12.8.1-base", digest: baseDigest };

const image = (digest: Digest, more: Partial<LockedImage> = {}): LockedImage =>
  lockedImage({
    digest,
    axes: { cuda: "none", march: "x86-64-v2" },
    platform: "linux/amd64",
    inputDigest: inputs,
    bases: [base],
    builder: "docker 28.2.2",
    attested: { matrix, revision: commit },
    ...more,
  });

const record = (lock: Lock, digest: Digest, more: Partial<BuildRecord> = {}): BuildRecord => ({
  repository: lock.repository,
  digest,
  fleet: { name: lock.name, version: lock.version, matrix },
  cell: "cell",
  axes: { cuda: "none", march: "x86-64-v2" },
  platform: "linux/amd64",
  inputDigest: inputs,
  inputs: null,
  bases: [base],
  engine: "docker 28.2.2",
  origin: {
    ...{ program: "1.0.0", revision: commit, modified: false, remote: "https://example.com/app" },
    ...{ builder: "https://ci.example.com/42", invocation: null },
  },
  started: new Date(0),
  finished: new Date(1000),
  ...more,
});

const lockWith = (locked: LockedImage): Lock => lockOf({ cell: locked });

async function verify(registry: MemoryRegistry, lock: Lock, ...pems: readonly string[]) {
  const signers = pems.map((pem) => ({ kind: "key", name: "cosign.pub", pem }) as const);
  const { images } = await verifyProvenance(lock, {
    registry,
    demands: signers.length === 0 ? [] : [signers],
  });
  const [found] = images;
  if (found === undefined) throw new Error("the lock has an image");
  return { ...found, codes: found.problems.map(({ code }) => code) };
}

async function signer() {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
  const key = await openSigningKey("env://KEY", { KEY: pem, COSIGN_PASSWORD: "" });
  return { signer: signWithKey(key), pem: publicKey.export({ type: "spki", format: "pem" }) as string };
}

/** An image without attestations, and its lock. */
function pushed(more: Partial<LockedImage> = {}, options = {}) {
  const registry = createMemoryRegistry({ listsReferrers: true, ...options });
  const digest = registry.pushImage("1", {}, "content");
  return { registry, digest, lock: lockWith(image(digest, more)) };
}

describe("the provenance that imgmatch writes", () => {
  it("says what was known of the build, in the words of SLSA", () => {
    const { lock, digest } = pushed();
    expect(writeProvenance(record(lock, digest))).toEqual({
      _type: "https://in-toto.io/Statement/v1",
      subject: [{ name: lock.repository, digest: { sha256: digest.slice(7) } }],
      predicateType: "https://slsa.dev/provenance/v1",
      predicate: {
        buildDefinition: {
          buildType: "https://imgmatch.dev/provenance/build/v1",
          externalParameters: {
            fleet: lock.name,
            version: lock.version,
            matrix,
            cell: "cell",
            axes: { cuda: "none", march: "x86-64-v2" },
            platform: "linux/amd64",
          },
          internalParameters: { engine: "docker 28.2.2" },
          resolvedDependencies: [
            {
              name: "nvidia/cuda:12.8.1-base",
              uri: `pkg:docker/nvidia/cuda@12.8.1-base?digest=${baseDigest}&platform=linux%2Famd64`,
              digest: { sha256: baseDigest.slice(7) },
            },
            {
              uri: `git+https://example.com/app@${commit}`,
              digest: { gitCommit: commit },
              annotations: { modified: false },
            },
            { name: "inputs", digest: { sha256: inputs.slice(7) } },
          ],
        },
        runDetails: {
          builder: { id: "https://ci.example.com/42", version: { imgmatch: "1.0.0" } },
          metadata: { startedOn: "1970-01-01T00:00:00.000Z", finishedOn: "1970-01-01T00:00:01.000Z" },
        },
      },
    });
  });

  it("leaves out what is not known, and names nobody who built", () => {
    const { lock, digest } = pushed();
    const nothing = {
      program: null,
      revision: "",
      modified: null,
      remote: null,
      builder: null,
      invocation: null,
    };
    const text = JSON.stringify(writeProvenance(record(lock, digest, { origin: nothing, bases: [] })));
    expect(text).toContain('"builder":{"id":"https://imgmatch.dev/builder/unnamed"}');
    expect(text).not.toMatch(/null|git|version":\{|invocationId/);
    const words = { ...nothing, revision: "release-7" };
    expect(JSON.stringify(writeProvenance(record(lock, digest, { origin: words })))).not.toContain(
      "release-7",
    );
  });

  it.each([true, "as configurations", false] as const)(
    "is found beside the image again, with the referrers API: %s",
    async (listsReferrers) => {
      const { registry, digest, lock } = pushed({}, { listsReferrers });
      expect((await verify(registry, lock)).codes).toEqual(["PROVENANCE_MISSING"]);
      await attachProvenance(record(lock, digest), registry, { signer: null });
      expect(await verify(registry, lock)).toMatchObject({
        builtBy: "imgmatch",
        builder: "https://ci.example.com/42",
        signature: "unsigned",
        differences: [],
        unstated: [],
        problems: [],
      });
    },
  );
});

describe("each claim of the lock", () => {
  const claims: readonly [string, Partial<LockedImage>, Partial<BuildRecord>][] = [
    ["inputs", {}, { inputDigest: other }],
    ["fleet", {}, { fleet: { name: "another", version: "1", matrix } }],
    ["cell", {}, { cell: "another" }],
    ["axes", {}, { axes: { cuda: "none", march: "x86-64-v3" } }],
    ["platform", {}, { platform: "linux/arm64" }],
    ["matrix", { attested: { matrix: other } }, {}],
    ["revision", { attested: { matrix, revision: "f".repeat(40) } }, {}],
    ["engine", { builder: "docker 20.10" }, {}],
    ["base nvidia/cuda:12.8.1-base", {}, { bases: [{ ...base, digest: other }] }],
    ["base nvidia/cuda:12.8.1-base", {}, { bases: [] }],
    ["base docker.io/library/more", {}, { bases: [base, { ref: "more", digest: other }] }],
    ["base of an engine", {}, { bases: [base, { ref: "more", digest: other, local: "docker" }] }],
  ];

  it.each(claims)(
    "%s is compared: another one is PROVENANCE_MISMATCH with both values",
    async (claim, locked, said) => {
      const { registry, digest, lock } = pushed(locked);
      await attachProvenance(record(lock, digest, said), registry, { signer: null });
      const found = await verify(registry, lock);
      expect(found.differences.map((each) => each.claim)).toEqual([claim]);
      expect(found.codes).toEqual(["PROVENANCE_MISMATCH"]);
      const [difference] = found.differences;
      for (const value of [difference?.locked, difference?.attested])
        expect(found.problems[0]?.details?.join()).toContain(value ?? "nothing");
      expect(problemCodes[found.codes[0] ?? "USAGE"]).toBe(exitCodes.conflict);
    },
  );

  it("is compared with the statement that agrees, where several builds have attested one image", async () => {
    const { registry, digest, lock } = pushed();
    await attachProvenance(record(lock, digest, { engine: "podman 5" }), registry, { signer: null });
    expect((await verify(registry, lock)).codes).toEqual(["PROVENANCE_MISMATCH"]);
    await attachProvenance(record(lock, digest), registry, { signer: null });
    expect((await verify(registry, lock)).codes).toEqual([]);
  });

  it("of the provenance of another image that was moved here is another subject", async () => {
    const { registry, digest, lock } = pushed();
    const theirs = registry.pushImage("2", {}, "theirs");
    await attachProvenance(record(lock, theirs), registry, { signer: null });
    const [moved] = [...registry.manifests.values()].filter(({ bytes }) =>
      Buffer.from(bytes).toString().includes('"subject"'),
    );
    const bytes = Buffer.from(
      Buffer.from(moved?.bytes ?? "")
        .toString()
        .replace(theirs, digest),
    );
    await registry.writeManifest(
      { ...parseImageReference(lock.repository), digest: digestOf(bytes) },
      {
        digest: digestOf(bytes),
        mediaType: "application/vnd.oci.image.manifest.v1+json",
        size: bytes.length,
        bytes,
      },
    );
    expect((await verify(registry, lock)).differences).toEqual([
      { claim: "subject", locked: digest, attested: theirs },
    ]);
  });

  it("of an image that others built is its digest alone", async () => {
    const { registry, digest, lock } = pushed({ adopted: { cpu: "estimated" }, inputDigest: other });
    await attachProvenance(record(lock, digest), registry, { signer: null });
    expect(await verify(registry, lock)).toMatchObject({ codes: [], unstated: [] });
  });

  it("cannot be compared with what is no provenance of imgmatch or BuildKit", async () => {
    const { registry, digest, lock } = pushed();
    const subject = { reference: parseImageReference(lock.repository), digest };
    const { attach } = await import("../../../src/oci/registry/attach.ts");
    const statements = [
      "{}",
      "not JSON",
      JSON.stringify({
        ...writeProvenance(record(lock, digest)),
        predicateType: "https://spdx.dev/Document",
      }),
      JSON.stringify({
        ...writeProvenance(record(lock, digest)),
        predicate: { buildDefinition: { buildType: "x:y" } },
      }),
    ];
    for (const text of statements)
      await attach(registry, subject, {
        artifactType: "application/vnd.in-toto+json",
        content: Buffer.from(text),
        annotations: {},
      });
    const found = await verify(registry, lock);
    expect(found.codes).toEqual(["PROVENANCE_MISSING"]);
    expect(found.problems[0]?.message).toContain("its provenance is of another tool: x:y");
  });

  it("is a problem of an image that the registry does not have", async () => {
    const { registry, lock } = pushed({ digest: other });
    expect(await verify(registry, lock)).toMatchObject({ codes: ["PROVENANCE_MISSING"], builtBy: null });
  });
});

describe("BuildKit's provenance", () => {
  const purl = imagePurl(base.ref, baseDigest, "linux/amd64");
  const args = {
    "label:dev.imgmatch.inputs": inputs,
    "build-arg:IMGMATCH_CELL": "cell",
    "build-arg:IMGMATCH_MATRIX": matrix,
    "build-arg:IMGMATCH_REVISION": commit,
  };
  const materials = [
    { uri: purl, digest: { sha256: baseDigest.slice(7) } },
    { uri: "pkg:docker/example.com/scanner@1", digest: { sha256: other.slice(7) } },
    { uri: "https://example.com/file", digest: { sha256: other.slice(7) } },
  ];
  const v02 = (given: object | undefined, used: readonly object[] = materials) => ({
    type: "https://slsa.dev/provenance/v0.2",
    content: {
      builder: { id: "" },
      buildType: "https://mobyproject.org/buildkit@v1",
      materials: used,
      invocation: { parameters: { args: given }, environment: { platform: "linux/amd64" } },
    },
  });
  const v1 = {
    type: "https://slsa.dev/provenance/v1",
    content: {
      buildDefinition: {
        buildType: "https://github.com/moby/buildkit/blob/master/docs/attestations/slsa-definitions.md",
        externalParameters: { request: { args } },
        internalParameters: { builderPlatform: "linux/riscv64" },
        resolvedDependencies: materials,
      },
      runDetails: { builder: { id: "https://ci.example.com/7" } },
    },
  };
  const attested = (predicate: { readonly type: string; readonly content: unknown }) => {
    const registry = createMemoryRegistry();
    const digest = registry.pushAttested("1", {}, "content", predicate);
    return { registry, digest, lock: lockWith(image(digest, { builder: "buildx b, BuildKit 0.18.2" })) };
  };

  it.each([
    ["of mode max", v02(args), ["fleet", "axes", "engine"], null],
    [
      "of mode min",
      v02(undefined),
      ["inputs", "fleet", "cell", "axes", "matrix", "revision", "engine"],
      null,
    ],
    ["of SLSA v1", v1, ["fleet", "axes", "platform", "engine"], "https://ci.example.com/7"],
    ["that needed no base", v02(args, []), ["fleet", "axes", "engine", `base ${base.ref}`], null],
  ])("%s is compared as far as it goes", async (_, predicate, unstated, builder) => {
    const { registry, lock } = attested(predicate);
    expect(await verify(registry, lock)).toMatchObject({
      ...{ builtBy: "buildkit", builder, signature: "unsigned", codes: [], unstated },
    });
  });

  it.each([
    ["inputs", v02({ ...args, "label:dev.imgmatch.inputs": other })],
    ["cell", v02({ ...args, "build-arg:IMGMATCH_CELL": "another" })],
    ["matrix", v02({ ...args, "build-arg:IMGMATCH_MATRIX": other })],
    ["revision", v02({ ...args, "build-arg:IMGMATCH_REVISION": "f".repeat(40) })],
    [`base ${base.ref}`, v02(args, [{ uri: purl, digest: { sha256: other.slice(7) } }])],
  ])("of another %s is a mismatch", async (claim, predicate) => {
    const { registry, lock } = attested(predicate);
    const { differences, codes } = await verify(registry, lock);
    expect(differences.map((each) => each.claim)).toEqual([claim]);
    expect(codes).toEqual(["PROVENANCE_MISMATCH"]);
  });

  it("counts only where it is attested of the image in this index", async () => {
    const { registry, digest } = attested(v02(args));
    const index = registry.manifests.get(digest);
    const bytes = Buffer.from(
      Buffer.from(index?.bytes ?? "")
        .toString()
        .replace(/"vnd.docker.reference.digest":"[^"]*"/, `"vnd.docker.reference.digest":"${other}"`),
    );
    const swapped = { ...index, digest: digestOf(bytes), size: bytes.length, bytes } as never;
    await registry.writeManifest(parseImageReference("registry.example.com/a:2"), swapped);
    expect((await verify(registry, lockWith(image(digestOf(bytes))))).codes).toEqual(["PROVENANCE_MISSING"]);
  });
});

describe("signed provenance", () => {
  it("counts where the key that was asked for has signed it, and is named signed where none was", async () => {
    const { registry, digest, lock } = pushed();
    const [mine, theirs] = [await signer(), await signer()];
    await attachProvenance(record(lock, digest), registry, { signer: mine.signer });
    expect(await verify(registry, lock)).toMatchObject({ codes: [], signature: "signed" });
    expect(await verify(registry, lock, mine.pem)).toMatchObject({ codes: [], signature: "verified" });
    expect(await verify(registry, lock, theirs.pem, mine.pem)).toMatchObject({ signature: "verified" });
    expect((await verify(registry, lock, theirs.pem)).codes).toEqual(["SIGNATURE_WRONG_SIGNER"]);
  });

  it("is not believed unsigned, of another image, or with another claim in it", async () => {
    const { registry, digest, lock } = pushed();
    const mine = await signer();
    await attachProvenance(record(lock, digest), registry, { signer: null });
    expect((await verify(registry, lock, mine.pem)).codes).toEqual(["SIGNATURE_MISSING"]);
    // A good bundle, with one character of its statement changed, and one of another digest.
    const bundle = await mine.signer.signStatement(writeProvenance(record(lock, digest)));
    const json = JSON.parse(bundle);
    const payload = Buffer.from(json.dsseEnvelope.payload, "base64").toString().replace("28.2.2", "28.2.3");
    json.dsseEnvelope.payload = Buffer.from(payload).toString("base64");
    const forged = { signStatement: async () => JSON.stringify(json) };
    await attachProvenance(record(lock, digest), registry, { signer: forged });
    const moved = {
      signStatement: async () => mine.signer.signStatement(writeProvenance(record(lock, other))),
    };
    await attachProvenance(record(lock, digest), registry, { signer: moved });
    expect(new Set((await verify(registry, lock, mine.pem)).codes)).toEqual(
      new Set(["SIGNATURE_INVALID", "SIGNATURE_OTHER_DIGEST", "SIGNATURE_MISSING"]),
    );
  });
});

describe("images as package URLs", () => {
  it.each([
    ["debian:12", "docker.io/library/debian", "12"],
    ["127.0.0.1:5000/team/app:1.0", "127.0.0.1:5000/team/app", "1.0"],
    ["registry.example.com/app", "registry.example.com/app", null],
  ])("%s is read as it was written", (ref, repository, tag) => {
    const purl = imagePurl(ref, baseDigest, "linux/amd64");
    expect(purl).toMatch(/^pkg:docker\/[^:@]+(@[^:@]+)?\?digest=sha256:/);
    expect(readImagePurl(purl)).toEqual({ repository, tag, digest: baseDigest });
  });

  it.each([
    "",
    "pkg:npm/left-pad@1",
    "pkg:docker/",
    "pkg:docker/UPPER@1",
    "pkg:docker/%E0%A4%A@1",
    "pkg:docker/a@%",
  ])("%j names no image", (text) => {
    expect(readImagePurl(text)).toBeNull();
  });
});
