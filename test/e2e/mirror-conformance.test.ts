/** OCI's conformance suite of the distribution specification, "pull", before a node's mirror: all that a runtime would ask it of its image. */

import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { capture } from "../../demo/process.ts";
import { needs } from "../support/needs.ts";
import { whyNot } from "../support/programs.ts";
import { type MirrorFleet, startMirrorFleet, tag, whyNoMirrorFleet } from "./support/mirror-fleet.ts";

const stack = inject("stack");
const { IMGMATCH_OCI_CONFORMANCE_PROGRAM: program = "" } = process.env;
const whyNoSuite =
  program === ""
    ? "IMGMATCH_OCI_CONFORMANCE_PROGRAM names no program (.ci/provide oci-conformance)"
    : whyNot("test", ["-x", program], { install: ".ci/run builds it" });
const whyNoStack = stack.available ? null : stack.reason;

/** A mirror takes nothing in, and lists nothing: for all else the runtime asks the registry. */
const notOfMirrors = ["PUSH", "BLOBS_DELETE", "MANIFESTS_DELETE", "TAGS_DELETE", "TAGS_LIST", "REFERRER"];
const passed = {
  ping: 1,
  "read-only": 1,
  "read-only/head": 1,
  "read-only/head/manifest-head-by-tag": 1,
  "read-only/head/manifest-head-by-digest": 1,
  "read-only/head/blob-head": 2,
  "read-only/pull": 1,
  "read-only/pull/manifest-by-tag": 1,
  "read-only/pull/manifest-by-digest": 1,
  "read-only/pull/blob-get": 2,
  "missing-manifest": 1,
  "missing-manifest/by-digest": 1,
  "missing-manifest/by-tag": 1,
  "invalid-digest-format": 1,
  "invalid-digest-format/manifest-get": 1,
};

interface Blob {
  readonly digest: string;
}

describe("A node's mirror, by OCI's suite", needs(whyNoStack, whyNoSuite, whyNoMirrorFleet), () => {
  let fleet: MirrorFleet;
  beforeAll(async () => {
    if (stack.available) fleet = await startMirrorFleet(stack);
  });
  afterAll(() => fleet?.stop());

  it.each(["proxy", "redirect"])("answers with --blobs %s as a registry does", async (blobs) => {
    const mirror = await fleet.serve("v3", "--blobs", blobs);
    const manifest = await fetch(`http://${mirror.address}/v2/mirror/app/manifests/${tag}`);
    const { config, layers } = (await manifest.json()) as { config: Blob; layers: readonly Blob[] };
    // It prints its report, and then ends with a panic over empty data of its own, as nothing was pushed: the report counts.
    const { stdout } = await capture([program], {
      cwd: fleet.folder,
      env: {
        PATH: process.env.PATH,
        OCI_REGISTRY: mirror.address,
        OCI_TLS: "disabled",
        OCI_REPO1: "mirror/app",
        OCI_RESULTS_DIR: join(fleet.folder, `results-${blobs}`),
        ...Object.fromEntries(notOfMirrors.map((api) => [`OCI_API_${api}`, "false"])),
        OCI_RO_DATA_TAGS: tag,
        OCI_RO_DATA_MANIFESTS: fleet.digests.get("x86-64-v3"),
        OCI_RO_DATA_BLOBS: [config, ...layers].map((each) => each.digest).join(" "),
      },
    });
    const verdicts = [...stdout.matchAll(/^ *OCI Conformance Test\/(\S+): (.+)$/gm)]
      .map(([, name, verdict]) => `${name} ${verdict}`)
      .filter((each) => !each.endsWith(" Disabled"));
    expect(verdicts.sort()).toEqual(
      Object.entries(passed)
        .flatMap(([name, times]) => Array.from({ length: times }, () => `${name} Pass`))
        .sort(),
    );
  });
});
