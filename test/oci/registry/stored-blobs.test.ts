import { expect, it } from "vitest";
import { storedBlobs } from "../../../src/oci/registry/stored-blobs.ts";

const blob = (digit: string, size: unknown, mediaType = "application/vnd.oci.image.layer.v1.tar+gzip") => ({
  digest: `sha256:${digit.repeat(64)}`,
  size,
  mediaType,
});
const key = (digit: string) => digit.repeat(16);

it("counts the configuration and each layer once", () => {
  const layers = [blob("b", 200), blob("c", 0), blob("b", 200)];
  expect(storedBlobs({ config: blob("a", 10), layers })).toEqual({
    [key("a")]: 10,
    [key("b")]: 200,
    [key("c")]: 0,
  });
});

it("leaves out layers that the registry does not have", () => {
  const layers = [
    blob("b", 200, "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"),
    blob("c", 300, "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"),
    blob("d", 400),
  ];
  expect(storedBlobs({ config: blob("a", 10), layers })).toEqual({ [key("a")]: 10, [key("d")]: 400 });
});

it.each<[string, unknown]>([
  ["no manifest", "text"],
  ["an index", { manifests: [blob("a", 1)] }],
  ["no configuration", { layers: [blob("a", 1)] }],
  ["no size", { config: blob("a", 1), layers: [blob("b", undefined)] }],
  ["a size that is none", { config: blob("a", 1), layers: [blob("b", -1)] }],
  ["a size in text", { config: blob("a", 1), layers: [blob("b", "12")] }],
  ["no digest", { config: blob("a", 1), layers: [{ size: 1 }] }],
  [
    "more layers than an image has",
    { config: blob("a", 1), layers: Array.from({ length: 1000 }, () => blob("b", 1)) },
  ],
])("of %s nothing is known", (_, manifest) => {
  expect(storedBlobs(manifest)).toBeNull();
});
