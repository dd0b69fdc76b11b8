import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { adviceFor } from "../../../src/build/engines/advice.ts";
import { createRecorder } from "../../../src/build/engines/pulumi/results.ts";
import type { ReadyCell } from "../../../src/build/jobs.ts";

const folder = mkdtempSync(join(tmpdir(), "imgmatch-results-"));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const planned = { cell: { id: "a" }, tag: "1.0-a" } as unknown as ReadyCell;

async function failed(message: string) {
  const recorder = createRecorder({
    repository: "10.0.0.1:5000/team/app",
    publisher: null,
    examiner: null,
    signal: new AbortController().signal,
    logFolder: folder,
    advice: adviceFor("engine", "/ca.pem"),
    imageOf: async () => null,
    onEvent: () => {},
    onBuilt: async () => {},
  });
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
