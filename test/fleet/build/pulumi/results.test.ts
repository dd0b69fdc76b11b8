import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { adviceFor } from "../../../../src/fleet/build/engines/advice.ts";
import { createRecorder, type RecorderOptions } from "../../../../src/pulumi/results.ts";
import { fakeTime } from "../../../support/fake-time.ts";
import type { ReadyCell } from "../../../../src/fleet/build/jobs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-results-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const planned = { cell: { id: "a" }, tag: "1.0-a" } as unknown as ReadyCell;

const options: RecorderOptions = {
  repository: "10.0.0.1:5000/team/app",
  publisher: null,
  examiner: null,
  signal: new AbortController().signal,
  logFolder: folder,
  advice: adviceFor("engine", "/ca.pem"),
  imageOf: async () => null,
  onEvent: () => {},
  onBuilt: async () => {},
};

async function failed(message: string) {
  const recorder = createRecorder(options);
  recorder.take(planned, { type: "error", name: "a", message });
  recorder.take(planned, { type: "failed", name: "a" });
  const result = (await recorder.end()).get("a");
  return result?.status === "failed" ? result.problems : [];
}

const push = (words: string) =>
  `1 error occurred: rpc error: code = Unknown desc = error reading push output: ${words}`;

describe("an image that Pulumi's plug-in fails at", () => {
  it("is told with the engine's own next step where the engine does not trust the registry", async () => {
    const words = 'Get "https://10.0.0.1:5000/v2/": x509: certificate signed by unknown authority';
    expect(await failed(push(words))).toMatchObject([
      {
        code: "REGISTRY_UNREACHABLE",
        message: `pushing 10.0.0.1:5000/team/app:1.0-a failed: ${words}`,
        fix: expect.stringContaining("cp /ca.pem /etc/docker/certs.d/10.0.0.1:5000/ca.crt"),
      },
    ]);
  });

  it.each([
    [push("denied: requested access to the resource is denied"), "REGISTRY_AUTH"],
    [push('Put "http://127.0.0.1:40123/v2/a/blobs/uploads/1": EOF'), "REGISTRY_FAILED"],
    ["error reading build output: process did not complete", "BUILD_FAILED"],
    ["Cannot connect to the Docker daemon", "ENGINE_UNREACHABLE"],
  ])("%s: %s", async (message, code) => {
    expect(await failed(message)).toMatchObject([{ code }]);
  });
});

describe("an image that Pulumi's plug-in has built", () => {
  const cell = (id: string) => ({ cell: { id }, tag: `1.0-${id}` }) as unknown as ReadyCell;
  const digest = `sha256:${"a".repeat(64)}` as const;

  it("took from its start to its end, however long the images before it are opened", async () => {
    const pass = fakeTime();
    const recorder = createRecorder({ ...options, onBuilt: () => pass(500, 500) });
    recorder.take(cell("a"), { type: "start", name: "a" });
    recorder.take(cell("b"), { type: "start", name: "b" });
    await pass(60, 60);
    for (const name of ["a", "b"]) recorder.take(cell(name), { type: "built", name, repoDigest: digest });
    const results = await recorder.end();
    for (const id of ["a", "b"]) {
      const result = results.get(id);
      const buildMs = result?.status === "built" ? (result.buildMs ?? 0) : 0;
      expect([id, buildMs]).toEqual([id, 60]);
    }
  });

  it("took nothing that is known where somebody else has pushed it", async () => {
    const recorder = createRecorder(options);
    const blobs = { "0123456789abcdef": 12 };
    await recorder.adopt(cell("a"), { digest, manifest: null, blobs });
    const result = (await recorder.end()).get("a");
    expect(result).toMatchObject({ how: "adopted", blobs, buildMs: null });
  });
});
