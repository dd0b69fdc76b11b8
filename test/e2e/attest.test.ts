/** Fleets whose images are attested: by a real BuildKit with its push, or by imgmatch beside the image. */

import { execFileSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { acceptedTypes, isIndexType } from "../../src/oci/media-types.ts";

import { needs } from "../support/needs.ts";
import { type RunningBuilder, startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { startServe } from "./support/mirror.ts";
import { isolateStore, whyNoProgram } from "./support/containers-store.ts";
import { startEngine } from "./support/engine.ts";
import { isLong } from "../support/long.ts";
import { cosigns, whyNoCosign } from "./support/cosign.ts";
import { whyNoDaemon } from "./support/program-version.ts";
import { createProject, type Project } from "./support/project.ts";
import { servedBlobs } from "./support/served-blobs.ts";

const stack = inject("stack");
const engineEnv = stack.available ? stack.engineEnv : {};
const registry = stack.available ? stack.registry : "";
const env = { ...process.env, ...engineEnv };
const unavailable = stack.available ? whyNoBusybox : stack.reason;
const whyNoBuilder = unavailable ?? whyNoBuildx(engineEnv) ?? whyNoBuildkitd();

const marches = "axes: { march: [x86-64-v2, x86-64-v3] }";

/** The least that a generator of SBOMs does (moby/buildkit, docs/attestations/sbom-protocol.md). */
const scanner = `#!/bin/sh
set -eu
busybox cat >"$BUILDKIT_SCAN_DESTINATION/sbom.spdx.json" <<END
{ "_type": "https://in-toto.io/Statement/v0.1", "predicateType": "https://spdx.dev/Document",
  "predicate": { "spdxVersion": "SPDX-2.3", "SPDXID": "SPDXRef-DOCUMENT", "name": "tests",
    "packages": [{ "SPDXID": "SPDXRef-1", "name": "content of $BUILDKIT_SCAN_SOURCE" }] } }
END
`;

async function pushWith(
  { name }: RunningBuilder,
  reference: string,
  dockerfile: string,
  files: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-attest-"));
  try {
    await addBusybox(folder);
    for (const [path, text] of Object.entries({ ...files, Dockerfile: dockerfile }))
      writeFileSync(join(folder, path), text, { mode: 0o755 });
    const flags = ["--builder", name, "--attest", "type=provenance,mode=min", "--push", "--tag", reference];
    execFileSync("docker", ["buildx", "build", ...flags, folder], { env, stdio: "pipe" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** cosign 2 takes a bundle for what it is only with a root at hand, though a key needs none. */
const needsRoot = ["--new-bundle-format", "--trusted-root", "root.json"];

/** Version 3.0.0, built, pushed and signed; the keys are in the project's folder. */
async function signedFleet(project: Project, rest: string, engine: readonly string[]): Promise<void> {
  for (const name of ["signer", "other"]) {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    project.write(`${name}.pem`, privateKey.export({ type: "pkcs8", format: "pem" }) as string);
    project.write(`${name}.pub`, publicKey.export({ type: "spki", format: "pem" }) as string);
  }
  project.matrix(rest, { version: "3.0.0" });
  const built = await project.run("build", "--push", "--sign", "--sign-key", "signer.pem", ...engine);
  expect(built, built.stderr).toMatchObject({ status: 0 });
}

/** As other tools read it. */
function imagetools(name: string, what: "Provenance" | "SBOM") {
  const format = ["--format", `{{json .${what}}}`];
  const words = ["buildx", "imagetools", "inspect", ...format, name];
  return JSON.parse(execFileSync("docker", words, { env, encoding: "utf8" }));
}

describe("A fleet that BuildKit attests", needs(whyNoBuilder), () => {
  let builder: RunningBuilder;
  let project: Project;
  const base = `${registry}/attest/base:1`;
  const generator = `${registry}/attest/scanner:1`;
  const withBuilder = (...args: string[]) =>
    project.run(...args, "--engine", "buildx", "--builder", builder.name);
  const run = async (...args: string[]) => {
    const ran = await project.run(...args);
    expect(ran, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`).toMatchObject({ status: 0 });
    return ran.stdout;
  };

  beforeAll(async () => {
    builder = await startBuilder(engineEnv);
    project = createProject({
      registry: `${registry}/attest`,
      name: "buildkit",
      env: { ...env, IMGMATCH_REVISION: "0".repeat(40) },
      inProcess: true,
    });
    // A base is attested as most are, and its digest is that of its index.
    await pushWith(builder, base, "FROM scratch\nCOPY bin /bin\n");
    await pushWith(
      builder,
      generator,
      'FROM scratch\nCOPY bin /bin\nCOPY scan /scan\nENTRYPOINT ["/scan"]\n',
      {
        scan: scanner,
      },
    );
    project.matrix(
      `base: ${base}\nattest: { provenance: max, sbom: { generator: "${generator}" } }\n${marches}`,
    );
    const built = await withBuilder("build", "--push");
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const published = await withBuilder("publish");
    expect(published, published.stderr).toMatchObject({ status: 0 });
  });
  afterAll(async () => {
    project?.remove();
    await builder?.stop();
  });

  it("has images that are indexes, with provenance and SBOM that other tools read", async () => {
    for (const { digest, manifest, attested, blobs, buildSeconds } of Object.values(project.lock().images)) {
      expect(isIndexType(manifest?.mediaType ?? "")).toBe(true);
      expect(blobs).toEqual(await servedBlobs(project.repository, digest ?? ""));
      expect(buildSeconds).toBeGreaterThan(0);
      expect(attested).toMatchObject({ matrix: expect.any(String), revision: "0".repeat(40) });
      const name = `${project.repository}@${digest}`;
      expect(imagetools(name, "Provenance").SLSA.buildType).toBe("https://mobyproject.org/buildkit@v1");
      expect(imagetools(name, "SBOM").SPDX.packages[0].name).toMatch(/^content of /);
    }
  });

  it("is verified: each claim of the lock that BuildKit repeats", async () => {
    const { provenance } = JSON.parse(await run("verify", "--provenance", "--json"));
    expect(provenance.images).toHaveLength(2);
    for (const image of provenance.images)
      expect(image).toMatchObject({
        ...{ builtBy: "buildkit", signature: "unsigned", problems: [], differences: [] },
        unstated: ["fleet", "axes", "engine"],
      });
    expect(await run("verify", "--provenance")).toContain("unsigned: whoever may write to the repository");
  });

  it("is found out where the lock says otherwise: the base, the inputs, the image itself", async () => {
    const { images, ...head } = project.lock();
    const [[v2, one] = [], [, other] = []] = Object.entries(images);
    if (v2 === undefined || one === undefined || other === undefined) throw new Error("two images");
    const [locked] = one.bases;
    if (locked === undefined) throw new Error("it has a base");
    const lies: readonly [string, object, readonly string[]][] = [
      [
        `base ${base}`,
        { bases: [{ ...locked, digest: other.digest }] },
        [locked.digest, String(other.digest)],
      ],
      ["inputs", { inputDigest: other.inputDigest }, [one.inputDigest, other.inputDigest]],
      ["cell", { digest: other.digest, inputDigest: other.inputDigest }, [v2, "x86-64-v3"]],
    ];
    for (const [claim, lie, values] of lies) {
      project.write("lie.json", JSON.stringify({ ...head, images: { ...images, [v2]: { ...one, ...lie } } }));
      const told = await project.run("verify", "--provenance", "--lock", "lie.json");
      expect(told.status, claim).toBe(6);
      expect(told.stdout).toContain("PROVENANCE_MISMATCH");
      expect(told.stdout).toMatch(/\n {2}fix: look for the change in git log/);
      for (const value of values) expect(told.stdout, claim).toContain(value);
    }
  });

  it("has one answer: by lock, by index, under another version, from a mirror, and by docker pull", async () => {
    const { images } = project.lock();
    const digests = Object.values(images).map(({ digest }) => digest);
    const answer = await run("resolve");
    const named = answer.trim().split("@")[1];
    expect(digests).toContain(named);
    expect(await run("resolve", `${project.repository}:1.0.0`)).toBe(answer);
    await run("promote", "1.0.0", "2.0.0");
    expect(await run("resolve", `${project.repository}:2.0.0`)).toBe(answer);
    expect(await run("inspect", answer.trim())).toContain("linux/amd64");
    // Nothing here is compiled, so the march makes no difference: that is all that it finds.
    const audited = await project.run("audit", "--remote");
    expect(audited.stdout.match(/\b[A-Z]+_[A-Z_]+/g)).toEqual(Array(3).fill("AUDIT_AXIS_UNUSED"));
    expect(await run("check", answer.trim())).toMatch(/^runs here/);
    await run("pull", "--from", `${project.repository}:1.0.0`);
    const held = ["image", "inspect", "--format", "{{json .RepoDigests}}", `${project.repository}:1.0.0`];
    expect(execFileSync("docker", held, { env, encoding: "utf8" })).toContain(named);
    const mirror = await startServe([`${project.repository}:1.0.0`, "--blobs", "proxy"], {
      cwd: project.folder,
      env,
    });
    try {
      const [, path] = project.repository.split(/\/(.*)/);
      const ask = (name: string) =>
        fetch(`http://${mirror.address}/v2/${path}/manifests/${name}?ns=${registry}`, {
          headers: { accept: acceptedTypes },
        });
      const answered = await ask("1.0.0");
      expect(answered.headers.get("docker-content-digest")).toBe(named);
      const { manifests } = (await answered.json()) as { manifests: readonly { digest: string }[] };
      for (const { digest } of manifests) expect((await ask(digest)).status).toBe(200);
    } finally {
      await mirror.stop();
    }
  });

  it("goes whole to another repository, and is adopted there", async () => {
    const [image] = Object.values(project.lock().images);
    const there = `${registry}/attest/adopted`;
    const source = `${project.repository}:${image?.tag}`;
    await run("adopt", source, "--publish-to", there, "--lock", "adopted.json");
    const { stdout } = await project.run("verify", "--provenance", "--lock", "adopted.json");
    expect(stdout).toContain("1 image as the lock says by provenance of buildkit");
    expect(imagetools(`${there}@${image?.digest}`, "SBOM").SPDX.name).toBe("tests");
  });

  it("is built by bake too, and what bake pushed is adopted as it is", async () => {
    const matrix = project.read("matrix.yaml");
    project.write("matrix.yaml", matrix.replace('version: "1.0.0"', 'version: "1.1.0"'));
    project.write("bake.json", await run("export", "bake"));
    const flags = ["--builder", builder.name, "--file", "bake.json", "--push"];
    execFileSync("docker", ["buildx", "bake", ...flags], { env, cwd: project.folder, stdio: "pipe" });
    const built = await withBuilder("build", "--push");
    expect(built.stderr).toContain("2 adopted");
    for (const { manifest } of Object.values(project.lock().images))
      expect(isIndexType(manifest?.mediaType ?? "")).toBe(true);
    const { provenance } = JSON.parse(await run("verify", "--provenance", "--json"));
    for (const image of provenance.images) expect(image).toMatchObject({ builtBy: "buildkit", problems: [] });
    // An image that somebody else pushed without attestations is adopted, and the output says that it has none.
    project.write(
      "matrix.yaml",
      matrix.replace('version: "1.0.0"', 'version: "1.2.0"').replace(/attest:.*\n/, ""),
    );
    expect((await withBuilder("build", "--push")).stderr).toContain("2 built");
    project.write("matrix.yaml", matrix.replace('version: "1.0.0"', 'version: "1.2.0"'));
    expect((await withBuilder("build", "--push")).stderr).toMatch(/PROVENANCE_MISSING: 2 images/);
    const missing = await project.run("verify", "--provenance");
    expect([missing.status, missing.stdout]).toEqual([1, expect.stringContaining("PROVENANCE_MISSING")]);
  });

  it("is signed by --sign: the signature of the index covers what is attested in it", async () => {
    await signedFleet(project, `base: ${base}\nattest: { provenance: max }\n${marches}`, [
      ...["--engine", "buildx", "--builder", builder.name],
    ]);
    const { provenance } = JSON.parse(await run("verify", "--provenance", "--key", "signer.pub", "--json"));
    for (const image of provenance.images)
      expect(image).toMatchObject({ builtBy: "buildkit", signature: "verified", problems: [] });
    expect((await project.run("verify", "--provenance", "--key", "other.pub")).status).toBe(6);
  });

  it("fails, and tags nothing, where the scanner writes no SBOM", async () => {
    const silent = `${registry}/attest/silent:1`;
    await pushWith(builder, silent, 'FROM scratch\nCOPY bin /bin\nENTRYPOINT ["/bin/busybox", "true"]\n');
    project.matrix(`base: ${base}\nattest: { sbom: { generator: "${silent}" } }\n${marches}`, {
      version: "1.3.0",
    });
    const built = await withBuilder("build", "--push", "--only", "march=x86-64-v2");
    expect([built.status, built.stderr]).toEqual([5, expect.stringContaining("without an SBOM")]);
    const tags = await fetch(`http://${registry}/v2/attest/buildkit/tags/list`).then((got) => got.text());
    expect(tags).not.toContain('"1.3.0');
  });
});

describe("A fleet that imgmatch attests", needs(unavailable), () => {
  let project: Project;
  const run = async (...args: string[]) => {
    const ran = await project.run(...args);
    expect(ran, `${args.join(" ")}\n${ran.stdout}${ran.stderr}`).toMatchObject({ status: 0 });
    return ran.stdout;
  };
  const commit = "1".repeat(40);

  beforeAll(async () => {
    const said = {
      ...{ IMGMATCH_REVISION: commit, GITHUB_ACTIONS: "true", GITHUB_SERVER_URL: "https://git.example.com" },
      ...{ GITHUB_WORKFLOW_REF: "team/app/.github/workflows/ci.yml@refs/heads/main" },
    };
    project = createProject({
      registry: `${registry}/attest`,
      name: "beside",
      env: { ...env, ...said },
      inProcess: true,
    });
    project.matrix(`base: scratch\nattest: { provenance: max }\n${marches}`);
    await project.publish();
  });
  afterAll(() => project?.remove());

  it("has provenance beside each image, which says what the lock says", async () => {
    for (const { manifest, attested } of Object.values(project.lock().images)) {
      expect(isIndexType(manifest?.mediaType ?? "")).toBe(false);
      expect(attested).toMatchObject({ revision: commit });
    }
    const { provenance } = JSON.parse(await run("verify", "--provenance", "--json"));
    expect(provenance.images).toHaveLength(2);
    for (const image of provenance.images)
      expect(image).toMatchObject({
        ...{ builtBy: "imgmatch", signature: "unsigned", problems: [], unstated: [] },
        builder: "https://git.example.com/team/app/.github/workflows/ci.yml@refs/heads/main",
      });
  });

  it("has no other tags than before, and neither a build that keeps nor a sweep changes anything", async () => {
    const list = async () =>
      (
        (await fetch(`http://${registry}/v2/attest/beside/tags/list`).then((got) => got.json())) as {
          tags: string[];
        }
      ).tags;
    const before = await list();
    // The registry of the tests has no referrers API.
    expect(before.filter((tag) => tag.startsWith("sha256-"))).toHaveLength(2);
    expect((await project.run("build", "--push")).stderr).toMatch(/^nothing to build/);
    expect(await list()).toEqual(before);
    expect(await run("verify", "--sweep", "--provenance")).toContain(
      "2 images as the lock says by provenance",
    );
    expect((await list()).filter((tag) => !tag.startsWith("imgmatch-"))).toEqual(
      before.filter((tag) => !tag.startsWith("imgmatch-")),
    );
  });

  it("takes its provenance along to another repository", async () => {
    const [image] = Object.values(project.lock().images);
    const there = `${registry}/attest/beside-adopted`;
    await run(
      "adopt",
      `${project.repository}:${image?.tag}`,
      "--publish-to",
      there,
      "--lock",
      "adopted.json",
    );
    expect(await run("verify", "--provenance", "--lock", "adopted.json")).toContain(
      "by provenance of imgmatch",
    );
  });

  it("is signed by --sign, and then believed of whoever was asked for alone", async () => {
    await signedFleet(project, `base: scratch\nattest: { provenance: min }\n${marches}`, []);
    const { provenance } = JSON.parse(await run("verify", "--provenance", "--key", "signer.pub", "--json"));
    for (const image of provenance.images)
      expect(image).toMatchObject({ builtBy: "imgmatch", signature: "verified", problems: [] });
    const other = await project.run("verify", "--provenance", "--key", "other.pub");
    expect([other.status, other.stderr]).toEqual([6, expect.stringContaining("SIGNATURE_WRONG_SIGNER")]);
    expect(await run("verify", "--provenance")).toContain("signed, and by whom was not asked");
  });

  describe("with cosign", needs(whyNoCosign), () => {
    it.each(cosigns)("is verified by cosign $version", ({ program, version }) => {
      const args = version === 2 ? needsRoot : [];
      project.write("root.json", '{"mediaType":"application/vnd.dev.sigstore.trustedroot+json;version=0.1"}');
      for (const { digest } of Object.values(project.lock().images)) {
        const verify = (key: string) =>
          execFileSync(
            program,
            [
              ...["verify-attestation", "--type", "slsaprovenance1", "--insecure-ignore-tlog", ...args],
              ...["--key", key, `${project.repository}@${digest}`],
            ],
            { cwd: project.folder, env: { ...env, HOME: project.folder }, encoding: "utf8", stdio: "pipe" },
          );
        const { payload } = JSON.parse(verify("signer.pub").split("\n")[0] ?? "");
        const { subject, predicate } = JSON.parse(Buffer.from(payload, "base64").toString());
        expect(`sha256:${subject[0].digest.sha256}`).toBe(digest);
        expect(predicate.buildDefinition.buildType).toBe("https://imgmatch.dev/provenance/build/v1");
        expect(() => verify("other.pub")).toThrow(/Command failed/);
      }
    });
  });

  it("is refused, before anything is built, for an SBOM that nobody here makes", async () => {
    project.matrix(`base: scratch\nattest: { provenance: max, sbom: true }\n${marches}`, {
      version: "4.0.0",
    });
    for (const engine of [
      [],
      ...(whyNoBuildx(engineEnv) === null ? [["--engine", "buildx", "--builder", "default"]] : []),
    ]) {
      const { status, stderr } = await project.run("build", "--push", ...engine);
      expect([status, stderr]).toEqual([
        2,
        expect.stringMatching(/matrix\.yaml:7:1: ATTEST_UNSUPPORTED: attest\.sbom/),
      ]);
    }
    expect(Object.values(project.lock().images).every(({ tag }) => tag.startsWith("3.0.0"))).toBe(true);
  });
});

const whyNoPodman = isLong ? whyNoProgram("podman") : "IMGMATCH_LONG=1 asks Podman too";

describe("A fleet that Podman builds", needs(unavailable ?? whyNoPodman), () => {
  it("is attested by imgmatch, as one of any engine that attests nothing", async () => {
    const store = await isolateStore("podman", env);
    const storeEnv = { ...store.env, PATH: `${store.env.PATH}:${dirname(process.execPath)}` };
    const project = createProject({
      registry: `${registry}/attest`,
      name: "podman",
      env: storeEnv,
      inProcess: true,
    });
    try {
      project.matrix(`base: scratch\nattest: { provenance: max }\n${marches}`);
      const built = await project.run("build", "--push", "--engine", "podman");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      const { status, stdout } = await project.run("verify", "--provenance", "--json");
      expect(status).toBe(0);
      for (const image of JSON.parse(stdout).provenance.images)
        expect(image).toMatchObject({ builtBy: "imgmatch", problems: [], unstated: [] });
    } finally {
      project.remove();
      await store.remove();
    }
  });
});

const dockerd29 = process.env.IMGMATCH_DOCKERD29_PROGRAM ?? "";
const whyNoStore = !isLong
  ? "IMGMATCH_LONG=1 asks an engine with a content store too"
  : (whyNoBuildx(engineEnv) ??
    (dockerd29 === "" ? "no Docker 29 (IMGMATCH_DOCKERD29_PROGRAM)" : whyNoDaemon("dockerd", dockerd29)));

describe("A fleet of buildx inside an engine with a content store", needs(unavailable ?? whyNoStore), () => {
  it("is attested by the engine's own BuildKit, and can be a local base", async () => {
    const engine = await startEngine([], dockerd29);
    const inside = { ...process.env, ...engine.env };
    const project = createProject({
      registry: `${registry}/attest`,
      name: "store",
      env: inside,
      inProcess: true,
    });
    try {
      project.matrix(`base: scratch\nattest: { provenance: max }\n${marches}`);
      const built = await project.run("build", "--push", "--engine", "buildx", "--builder", "default");
      expect(built, built.stderr).toMatchObject({ status: 0 });
      const { status, stdout } = await project.run("verify", "--provenance", "--json");
      expect(status, stdout).toBe(0);
      for (const image of JSON.parse(stdout).provenance.images)
        expect(image).toMatchObject({ builtBy: "buildkit", problems: [] });
      // An attested image that only this engine has: its id there is that of an index.
      project.write("base/Dockerfile", "FROM scratch\nCOPY Dockerfile /base\n");
      const words = [
        "buildx",
        "build",
        "--builder",
        "default",
        "--attest",
        "type=provenance,mode=max",
        "--load",
      ];
      execFileSync("docker", [...words, "--tag", "own/base:1", join(project.folder, "base")], {
        env: inside,
        stdio: "pipe",
      });
      project.matrix(`base: own/base:1\nattest: { provenance: max }\n${marches}`, { version: "2.0.0" });
      const onIt = await project.run("build", "--push", "--local-bases");
      expect(onIt, onIt.stderr).toMatchObject({ status: 0 });
      const verified = await project.run("verify", "--provenance", "--json");
      expect(verified.status, verified.stdout).toBe(0);
      for (const image of JSON.parse(verified.stdout).provenance.images)
        expect(image).toMatchObject({ builtBy: "imgmatch", problems: [], unstated: [] });
    } finally {
      project.remove();
      await engine.stop();
    }
  });
});
