/** The canonical form of the input digest that docs/lock.md states, written down a second time. */

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFleet } from "../../src/fleet/open/open-fleet.ts";
import { root } from "./support/markdown.ts";

const vision = join(root, "docs/examples/vision");
const sha256 = (text: string | Uint8Array) => createHash("sha256").update(text).digest("hex");

test("the input digests of the sample lock follow from the form that docs/lock.md states", async () => {
  const lock = JSON.parse(readFileSync(join(vision, "images/imgmatch.lock.json"), "utf8"));
  const fleet = await openFleet(join(vision, "matrix.yaml"));
  // The template is imgmatch's own: no image is made of it.
  const context = ["app.c", "requirements.txt"].map((path) => {
    return [path, "file", 420, sha256(readFileSync(join(vision, "templates", path)))];
  });
  const built = fleet.cells.filter(({ skipped }) => skipped === null);
  expect(built).toHaveLength(12);
  for (const { cell } of built) {
    const { inputDigest, bases } = lock.images[cell.id];
    const form = [
      "imgmatch-inputs/2",
      `sha256:${sha256(fleet.dockerfileOf(cell).text)}`,
      `sha256:${sha256(JSON.stringify(context))}`,
      [],
      null,
      "linux/amd64",
      bases.map(({ ref, digest }: { ref: string; digest: string }) => [ref, digest]),
      "dockerfile.v0",
    ];
    expect(`sha256:${sha256(JSON.stringify(form))}`, cell.id).toBe(inputDigest);
  }
});
