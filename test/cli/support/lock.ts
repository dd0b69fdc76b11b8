/** A lock of one image that was built and runs everywhere, as text. */

/** `bases`: what it was built on; without them nobody can tell its own files from a base's. */
export function cudaFreeLock(repository: string, cell: string, bases: readonly string[]): string {
  const digest = `sha256:${"a".repeat(64)}`;
  const image = {
    axes: { march: "x86-64" },
    platform: process.arch === "arm64" ? "linux/arm64" : "linux/amd64",
    tag: "1-any",
    inputDigest: digest,
    digest,
    requires: { cpu: { march: process.arch === "arm64" ? "armv8-a" : "x86-64", features: [] }, cuda: null },
    bases: bases.map((ref) => ({ ref, digest })),
    builder: "test",
    created: "2026-01-01T00:00:00.000Z",
    size: null,
  };
  const head = { schemaVersion: 2, name: "app", version: "1", repository };
  return `${JSON.stringify({ ...head, images: { [cell]: image } }, null, 2)}\n`;
}
