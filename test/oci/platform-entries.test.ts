import { expect, test } from "vitest";
import { entryFor } from "../../src/oci/platform-entries.ts";

const attestation = {
  ...{ mediaType: "application/vnd.oci.image.manifest.v1+json", size: 1, digest: `sha256:${"a".repeat(64)}` },
  platform: { os: "unknown", architecture: "unknown" },
};

test("an index says which platforms it has in place of the one that is asked for, also if it has none", () => {
  const arm = { ...attestation, platform: { os: "linux", architecture: "arm64" } };
  expect(entryFor({ manifests: [arm] }, "linux/amd64")).toEqual({
    isNot: "its index has no image for linux/amd64, only for linux/arm64",
  });
  for (const manifests of [[], [attestation, attestation]])
    expect(entryFor({ manifests }, "linux/amd64")).toEqual({
      isNot: "its index has no image for linux/amd64, and none for another platform",
    });
});
