/** An image has its tag only when it is signed, and an image that a stranger has tagged is not taken over. */

import { describe, expect, it } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import type { CellResult } from "../../../src/fleet/engines/built-cell.ts";
import { buildCell, type CellOptions, type Publishing } from "../../../src/fleet/run/build-cells.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { makeFolder } from "../../support/folders.ts";
import { createMemoryRegistry } from "../publish/support/memory-registry.ts";

const inputDigest: Digest = `sha256:${"1234567890abcdef".repeat(4)}`;
const labels = { "dev.imgmatch.inputs": inputDigest };
const request = {
  ...{ cell: "a", dockerfile: "", contextDir: "/", contextFiles: [], platform: "linux/amd64", target: null },
  ...{ args: {}, labels, tags: [] },
};
const reference = parseImageReference("registry.example.com/team/app:1.0");

function setUp(more: Partial<Publishing["signing"]> & Pick<Partial<CellOptions>, "examine"> = {}) {
  const registry = createMemoryRegistry();
  const signed = new Set<Digest>();
  const { examine = null, ...signing } = more;
  let whileBuilding = () => {};
  const run = (onBuild = () => {}): Promise<CellResult> => {
    whileBuilding = onBuild;
    const none = new AbortController().signal;
    return buildCell(
      { cell: "a", request, reference, inputDigest },
      {
        engine: {
          build: async () => {
            whileBuilding();
            return { id: "mine", size: null };
          },
          push: async (_, to) => registry.pushImage(to.tag ?? "", labels, "mine"),
        },
        publishing: {
          ...{ registry, settleMs: 500, attest: null },
          signing: {
            sign: async (digest) => {
              signed.add(digest);
              return ["tag"];
            },
            requireSigned: async (_, digest) => {
              if (!signed.has(digest))
                throw new ImgmatchError({ code: "SIGNATURE_MISSING", message: "nobody's" });
            },
            ...signing,
          },
        },
        ...{ examine, logFolder: makeFolder({}), onEvent: () => {}, drain: none, stop: none },
      },
    );
  };
  return { registry, signed, run };
}

describe("a build that signs", () => {
  it("signs what it has pushed while the tag does not name it yet, after it was opened", async () => {
    const seen: string[] = [];
    const { registry, run } = setUp({
      examine: async () => {
        seen.push("opened");
        return { measured: null, warnings: [] };
      },
      sign: async (_, { repository }) => {
        seen.push(`signed in ${repository}, tagged: ${registry.tags.has("1.0")}`);
        return ["tag"];
      },
    });
    expect(await run()).toMatchObject({ status: "built", how: "pushed", signed: ["tag"] });
    expect(seen).toEqual(["opened", "signed in team/app, tagged: false"]);
    expect(registry.tags.has("1.0")).toBe(true);
  });

  it("gives no tag to what cannot be signed", async () => {
    const { registry, run } = setUp({
      sign: async () => {
        throw new ImgmatchError({ code: "SIGNING_FAILED", message: "no key" });
      },
    });
    expect(await run()).toMatchObject({ status: "failed", problems: [{ code: "SIGNING_FAILED" }] });
    expect(registry.tags.has("1.0")).toBe(false);
  });

  it("takes over what was signed, and neither finds nor publishes over what a stranger has put there", async () => {
    const { registry, signed, run } = setUp();
    const theirs = registry.pushImage("1.0", labels, "theirs");
    const refused = { status: "failed", problems: [{ code: "SIGNATURE_MISSING" }] };
    expect(await run(() => expect.unreachable())).toMatchObject(refused);
    registry.tags.delete("1.0");
    // Put there while the image is built here.
    expect(await run(() => void registry.pushImage("1.0", labels, "theirs"))).toMatchObject(refused);
    expect(registry.tags.get("1.0")).toBe(theirs);
    signed.add(theirs);
    const taken = { status: "built", how: "adopted", digest: theirs };
    expect(await run()).toMatchObject({ ...taken, image: null });
    registry.tags.delete("1.0");
    expect(await run(() => void registry.pushImage("1.0", labels, "theirs"))).toMatchObject({
      ...taken,
      image: { id: "mine" },
    });
  });
});
