/** A lock of one image that runs everywhere, as text. */

export function cudaFreeLock(repository: string): string {
  const digest = `sha256:${"a".repeat(64)}`;
  const image = {
    axes: { march: "x86-64" },
    platform: process.arch === "arm64" ? "linux/arm64" : "linux/amd64",
    tag: "1-any",
    inputDigest: digest,
    digest,
    requires: { cpu: { march: process.arch === "arm64" ? "armv8-a" : "x86-64", features: [] }, cuda: null },
    bases: [],
    builder: "test",
    created: null,
    size: null,
  };
  const head = { schemaVersion: 1, name: "app", version: "1", repository, matrixDigest: digest };
  return `${JSON.stringify({ ...head, images: { any: image } }, null, 2)}\n`;
}
