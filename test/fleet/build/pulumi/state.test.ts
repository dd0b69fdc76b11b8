import type { automation } from "@pulumi/pulumi";
import { describe, expect, it } from "vitest";
import { errorLines, readState } from "../../../../src/pulumi/workspace.ts";

const image = {
  urn: "urn:pulumi:dev::p::imgmatch:index:ImageFleet$docker:index/image:Image::fleet-a",
  type: "docker:index/image:Image",
  outputs: { imageName: "r/fleet:t", dockerfile: "d", repoDigest: "r/fleet@sha256:1" },
};

function stackOf(resources: readonly object[], pending: readonly object[] = []) {
  const imported: unknown[] = [];
  const stack = {
    name: "dev",
    exportStack: async () => ({ version: 3, deployment: { resources, pending_operations: pending } }),
    importStack: async (state: unknown) => {
      imported.push(state);
    },
  } as unknown as automation.Stack;
  return { stack, imported };
}

it("a stack's images are those that are not about to be deleted", async () => {
  const { stack, imported } = stackOf([image, { ...image, delete: true, outputs: { imageName: "old" } }]);
  const { images, urns } = await readState(stack);
  const { imageName, dockerfile } = image.outputs;
  expect([...images]).toEqual([
    ["fleet-a", { imageName, dockerfile, path: null, pushed: true, login: null, secrets: [] }],
  ]);
  expect(urns.get("fleet-a")).toBe(image.urn);
  expect(imported).toEqual([]);
});

it("what a killed update has left pending is dropped, and nothing else", async () => {
  const { stack, imported } = stackOf([image], [{ resource: image, type: "creating" }]);
  await readState(stack);
  expect(imported).toEqual([{ version: 3, deployment: { resources: [image], pending_operations: [] } }]);
});

it("a stack with resources of another program is refused before anything changes", async () => {
  const bucket = { urn: "urn:pulumi:dev::p::aws:s3/bucket:Bucket::logs", type: "aws:s3/bucket:Bucket" };
  const { stack, imported } = stackOf([image, bucket], [{}]);
  await expect(readState(stack)).rejects.toThrow(
    /USAGE: the stack dev has 1 resources of another program.*Bucket::logs/,
  );
  expect(imported).toEqual([]);
});

describe("What pulumi says went wrong", () => {
  const command = "Command failed with exit code 1: pulumi up --stack dev";
  const told = (stdout: string, stderr: string) =>
    errorLines(
      new Error(
        `code: -2\n stdout: ${stdout}\n stderr: ${command}\n${stderr}\n err?: Error: ${command}\n${stderr}\n`,
      ),
    );

  it("is its error, once", () => {
    expect(told("", "error: getting stack configuration: incorrect passphrase")).toEqual([
      "error: getting stack configuration: incorrect passphrase",
    ]);
  });

  it("is what stands below Diagnostics, where an update has failed", () => {
    const stdout =
      "Updating (dev):\n\n+ a\n\nDiagnostics:\n  docker:index:Image (a):\n    error: no daemon\n\n";
    expect(told(stdout, "error: update failed")).toEqual([
      "  docker:index:Image (a):",
      "    error: no daemon",
    ]);
  });

  it("is the end of everything else", () => {
    expect(errorLines("one\n\ntwo\nthree", 2)).toEqual(["two", "three"]);
  });
});
