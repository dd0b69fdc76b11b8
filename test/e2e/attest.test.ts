/** Fleets whose images are attested: by a real BuildKit with its push, or by imgmatch beside the image. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { isIndexType } from "../../src/oci/media-types.ts";

import { needs } from "../support/needs.ts";
import { type RunningBuilder, startBuilder, whyNoBuildkitd, whyNoBuildx } from "./support/buildkitd.ts";
import { addBusybox, whyNoBusybox } from "./support/busybox.ts";
import { createProject, type Project } from "./support/project.ts";
import { servedBlobs } from "./support/served-blobs.ts";

const stack = inject("stack");
const engineEnv = stack.available ? stack.engineEnv : {};
const registry = stack.available ? stack.registry : "";
const env = { ...process.env, ...engineEnv };
const unavailable = stack.available ? whyNoBusybox : stack.reason;
const whyNoBuilder = unavailable ?? whyNoBuildx(engineEnv) ?? whyNoBuildkitd();

const marches = "axes: { march: [x86-64-v2, x86-64-v3] }";

/** What makes SBOMs has no more to do than this (moby/buildkit, docs/attestations/sbom-protocol.md). */
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

describe("A fleet that BuildKit attests", needs(whyNoBuilder), () => {
  let builder: RunningBuilder;
  let project: Project;
  const base = `${registry}/attest/base:1`;
  const generator = `${registry}/attest/scanner:1`;
  const withBuilder = (...args: string[]) =>
    project.run(...args, "--engine", "buildx", "--builder", builder.name);
  const run = async (...args: string[]) => {
    const ran = await project.run(...args);
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
    return ran.stdout;
  };

  beforeAll(async () => {
    builder = await startBuilder(engineEnv);
    project = createProject({
      registry: `${registry}/attest`,
      name: "buildkit",
      env: { ...env, IMGMATCH_REVISION: "0".repeat(40) },
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
      const read = (what: string) =>
        execFileSync(
          "docker",
          [
            "buildx",
            "imagetools",
            "inspect",
            "--format",
            `{{json .${what}}}`,
            `${project.repository}@${digest}`,
          ],
          { env, encoding: "utf8" },
        );
      expect(JSON.parse(read("Provenance")).SLSA.buildType).toBe("https://mobyproject.org/buildkit@v1");
      expect(JSON.parse(read("SBOM")).SPDX.packages[0].name).toMatch(/^content of /);
    }
  });

  it("is verified: each claim of the lock that BuildKit repeats", async () => {
    const { provenance } = JSON.parse(await run("verify", "--provenance", "--json"));
    expect(provenance.images).toHaveLength(2);
    for (const image of provenance.images)
      expect(image).toMatchObject({
        by: "buildkit",
        signature: "unsigned",
        problems: [],
        differences: [],
        unstated: ["fleet", "axes", "engine"],
      });
    expect(await run("verify", "--provenance")).toContain("unsigned: whoever may write to the repository");
  });
});
