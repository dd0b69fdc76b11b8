import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import {
  imageAttester,
  requireAttestable,
  unattestedImages,
} from "../../../src/fleet/publish/attest-image.ts";
import { plainRemote, readOrigin } from "../../../src/fleet/publish/build-origin.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference, withDigest } from "../../../src/oci/reference.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { cellSources } from "../../support/cell-sources.ts";
import { planCells } from "../../../src/fleet/plan/plan-cells.ts";
import { verifyProvenance } from "../../../src/trust/provenance/verify-provenance.ts";
import { ports } from "../../../src/ports.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import type { FullRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { quickClient, someManifest } from "../../oci/registry/support/manifests.ts";
import { createMemoryRegistry } from "./support/memory-registry.ts";
import { type Quirk, quirks, startQuirkyRegistry } from "./support/quirky-registry.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";
import { makeFolder } from "../../support/folders.ts";

const matrixOf = (attest: string, host = "registry.example.com") =>
  parseMatrix(
    `name: app\nversion: "1"\nregistry: ${host}\ntemplate: app.Dockerfile.hbs\n${attest}\naxes: { march: [x86-64-v2, x86-64-v3] }\n`,
    "matrix.yaml",
  );

const codeOf = (work: () => void) => {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems.map(({ code, at }) => [code, at?.line]);
    throw error;
  }
};

describe("what is asked for and cannot be had is refused", () => {
  const whole = "attest: { provenance: max, sbom: true }";
  const own = "attest: { provenance: max }";
  const proxy = { HTTPS_PROXY: "http://user:password@proxy.example.com" };
  const refused = [["ATTEST_UNSUPPORTED", 5]];
  const cases: readonly [string, boolean, string, Readonly<Record<string, string>>, unknown][] = [
    ["nothing", false, "", proxy, null],
    ["all of BuildKit", true, whole, {}, null],
    ["an SBOM of an engine that makes none", false, whole, {}, refused],
    ["provenance of such an engine", false, own, proxy, null],
    ["max with a password in an argument", true, own, proxy, refused],
    ["max with a proxy without one", true, own, { HTTPS_PROXY: "http://proxy.example.com:3128" }, null],
    ["min with a password in an argument", true, "attest: { provenance: min }", proxy, null],
  ];

  it.each(cases)("%s", (_, attests, attest, passedArgs, problems) => {
    expect(codeOf(() => requireAttestable(matrixOf(attest), { attests }, { passedArgs }))).toEqual(problems);
  });
});

function planOf(attest: string, lock = lockOf({}), host?: string) {
  const matrix = matrixOf(attest, host);
  const cells = expandMatrix(matrix);
  const here = { ...lock, repository: matrix.repository };
  return planCells(matrix, cells, cellSources(cells), { lock: here });
}

describe("the attester of a build", () => {
  const build = (registry: FullRegistryClient, pushed: Digest, repository = "registry.example.com/app") => {
    const reference = withDigest(parseImageReference(repository), pushed);
    const times = { startedAt: new Date(0), finishedAt: new Date(1) };
    return { registry, build: { cell: "x86-64-v2", reference, digest: pushed, ...times } };
  };
  const watch = { signal: new AbortController().signal, onLog: () => {} };
  const attest = (wanted: string, attests: boolean, { registry, build: done }: ReturnType<typeof build>) =>
    imageAttester(planOf(wanted, lockOf({}), done.reference.registry), {
      ...{ registry, attests, builder: "docker 28", signer: null, sealing: ports },
      origin: {
        program: null,
        modified: null,
        remote: null,
        builder: null,
        invocation: null,
        revision: "f".repeat(40),
      },
    })?.(done, watch);

  it("attaches what the lock will say, where the engine attests nothing", async () => {
    const registry = createMemoryRegistry();
    const digest = registry.pushImage("1", {}, "a");
    const plan = planOf("attest: { provenance: min }");
    const attested = await attest("attest: { provenance: min }", false, build(registry, digest));
    expect(attested).toEqual({ matrix: plan.matrix.digest, revision: "f".repeat(40) });
    const [planned] = plan.cells;
    const locked = image({
      ...{ digest, axes: planned?.cell.axes ?? {}, platform: "linux/amd64", bases: [], builder: "docker 28" },
      ...{ inputDigest: planned?.inputDigest ?? digest, attested: attested ?? { matrix: digest } },
    });
    const lock = { ...lockOf({ "x86-64-v2": locked }), name: "app", repository: "registry.example.com/app" };
    const { images } = await verifyProvenance(lock, { registry });
    expect(images).toMatchObject([{ builtBy: "imgmatch", problems: [], unstated: [] }]);
  });

  const byName: Readonly<Record<string, () => Quirk>> = quirks;
  it.each(Object.keys(quirks).filter((name) => /^(artifactType|a subject|sha256-)/.test(name)))(
    "names the cure where provenance is refused, which has no form under a tag: %s",
    async (name) => {
      const server = await startQuirkyRegistry(byName[name]?.() as Quirk);
      onTestFinished(() => server.stop());
      const registry = quickClient();
      const repository = `${server.host}/app`;
      await registry.writeManifest(
        withDigest(parseImageReference(repository), someManifest.digest),
        someManifest,
      );
      const { build: done } = build(registry, someManifest.digest, repository);
      const wanted = "attest: { provenance: min }";
      const failure = await attest(wanted, false, { registry, build: done })?.catch((error) => error);
      expect(failure).toBeInstanceOf(ImgmatchError);
      expect(failure.exitCode).toBe(5);
      expect(failure.problems[0]?.fix).toContain("build with --engine buildx");
      expect([...server.store.tags.keys()]).toEqual([]);
    },
  );

  it("finds what is in the index where the registry shows nothing of what is attached", async () => {
    const registry = createMemoryRegistry();
    const content = { buildType: "https://mobyproject.org/buildkit@v1" };
    const digest = registry.pushAttested("1", {}, "a", {
      ...{ type: "https://slsa.dev/provenance/v0.2", content },
    });
    const silent = {
      ...registry,
      readReferrers: () => Promise.reject(new Error("refused")),
    };
    const done = attest("attest: { provenance: min }", true, build(silent, digest));
    await expect(done).resolves.toBeDefined();
  });

  it.each([
    ["provenance and an SBOM", "attest: { provenance: max, sbom: true }", null],
    ["an SBOM", "attest: { provenance: max, sbom: true }", "https://slsa.dev/provenance/v0.2"],
    ["provenance", "attest: { provenance: max, sbom: true }", "https://spdx.dev/Document"],
    [null, "attest: { sbom: true }", "https://spdx.dev/Document"],
  ])("finds an image that was pushed without %s", async (lacks, wanted, type) => {
    const registry = createMemoryRegistry();
    const digest =
      type === null
        ? registry.pushImage("1", {}, "a")
        : registry.pushAttested("1", {}, "a", {
            type,
            content: { buildType: "https://mobyproject.org/buildkit@v1" },
          });
    const done = attest(wanted, true, build(registry, digest));
    if (lacks === null) await expect(done).resolves.toBeDefined();
    else
      await expect(done).rejects.toMatchObject({
        code: "ENGINE_FAILED",
        message: expect.stringMatching(new RegExp(`without ${lacks}$`, "m")),
      });
  });
});

describe("images that stay without", () => {
  const attest = "attest: { provenance: max }";
  const [planned] = planOf(attest).cells;
  const kept = (more: object) =>
    planOf(
      attest,
      lockOf({ "x86-64-v2": image({ inputDigest: planned?.inputDigest ?? digestOf(""), ...more }) }),
    );

  it("are named once, kept or adopted, and only where the matrix asks for attestations", () => {
    const none = { results: [] };
    expect(unattestedImages(kept({}), none)[0]).toMatchObject({
      code: "PROVENANCE_MISSING",
      message: expect.stringContaining(
        "1 image was there already, and no build of this lock has attested it: x86-64-v2",
      ),
    });
    expect(unattestedImages(kept({ attested: { matrix: digestOf("") } }), none)).toEqual([]);
    expect(unattestedImages(planOf("", lockOf({})), none)).toEqual([]);
    const adopted = { status: "built", how: "adopted", cell: "x86-64-v3" } as never;
    expect(unattestedImages(kept({}), { results: [adopted] })[0]?.message).toContain("2 images were");
  });
});

describe("where a build runs", () => {
  it.each([
    ["https://user:token@git.example.com/team/app.git", "https://git.example.com/team/app.git"],
    ["https://git.example.com:8443/app?token=a#b", "https://git.example.com:8443/app"],
    ["git@github.com:team/app.git", "ssh://github.com/team/app.git"],
    ["ssh://git:pw@git.example.com:22/app", "ssh://git.example.com:22/app"],
    ["/srv/git/app.git", null],
    ["C:\\app", null],
    ["file:///srv/app", null],
    ["", null],
  ])("%j is the remote %j", (remote, plain) => {
    expect(plainRemote(remote)).toBe(plain);
  });

  it("is what git and the CI say, and unknown where they say nothing", async () => {
    const folder = makeFolder({ file: "one\n" });
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], {
        cwd: folder,
        stdio: "pipe",
      });
    const nothing = { remote: null, modified: null, builder: null, invocation: null };
    expect(await readOrigin(folder, {})).toEqual(nothing);
    git("init", "-q");
    git("add", ".");
    git("commit", "-qm", "one");
    git("remote", "add", "origin", "https://me:secret@git.example.com/app");
    expect(await readOrigin(folder, {})).toEqual({
      ...nothing,
      modified: false,
      remote: "https://git.example.com/app",
    });
    execFileSync("sh", ["-c", "echo two >>file"], { cwd: join(folder) });
    expect(await readOrigin(folder, {})).toMatchObject({ modified: true });
    expect(await readOrigin(folder, { IMGMATCH_REVISION: "x" })).toMatchObject({ modified: null });
    const github = {
      ...{ GITHUB_ACTIONS: "true", GITHUB_SERVER_URL: "https://github.com", GITHUB_REPOSITORY: "o/r" },
      ...{ GITHUB_WORKFLOW_REF: "o/r/.github/workflows/ci.yml@refs/heads/main" },
      ...{ GITHUB_RUN_ID: "7", GITHUB_RUN_ATTEMPT: "1" },
    };
    expect(await readOrigin(folder, github)).toMatchObject({
      builder: "https://github.com/o/r/.github/workflows/ci.yml@refs/heads/main",
      invocation: "https://github.com/o/r/actions/runs/7/attempts/1",
    });
    expect(await readOrigin(folder, { GITHUB_ACTIONS: "true" })).toMatchObject({
      builder: null,
      invocation: null,
    });
    const gitlab = {
      GITLAB_CI: "true",
      CI_PROJECT_URL: "https://gitlab.com/o/r",
      CI_RUNNER_ID: "9",
      CI_JOB_URL: "a b",
    };
    expect(await readOrigin(folder, gitlab)).toMatchObject({
      builder: "https://gitlab.com/o/r/-/runners/9",
      invocation: null,
    });
  });
});
