/** The node's mirror before CRI-O, which is given `serve --print-config crio` and pulled through as a kubelet does it. */

import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { needs } from "../support/needs.ts";
import { crioVersion, startCrio, whyNoCrio } from "./support/crio.ts";
import {
  digestsOf,
  loginTo,
  type MirrorFleet,
  startMirrorFleet,
  whyNoMirrorFleet,
} from "./support/mirror-fleet.ts";

const stack = inject("stack");

describe(
  `A node's own mirror before CRI-O ${crioVersion}`,
  needs(stack.available ? null : stack.reason, whyNoMirrorFleet, whyNoCrio),
  () => {
    let fleet: MirrorFleet;
    beforeAll(async () => {
      if (stack.available) fleet = await startMirrorFleet(stack);
    });
    afterAll(() => fleet?.stop());
    const node = async (...given: Parameters<typeof startCrio>) => {
      const crio = await startCrio(...given);
      onTestFinished(crio.stop);
      return crio;
    };

    it.each([
      ["v2", "redirect"],
      ["v3", "proxy"],
    ])("gives a node of level %s its own image of the one name, with --blobs %s", async (level, blobs) => {
      const mirror = await fleet.serve(level, "--blobs", blobs);
      const crio = await node(await fleet.config("crio", mirror.address));
      await crio.pull(fleet.name);
      expect(await crio.digests(fleet.name)).toEqual([fleet.digests.get(`x86-64-${level}`)]);
      expect(mirror.log.some(({ outcome }) => outcome === "image")).toBe(true);
      // Without the mirror, a plain pull; CRI-O asks again, as a kubelet has it do for `Always`.
      await mirror.stop();
      await crio.pull(fleet.name);
      expect(await crio.digests(fleet.name)).toContain(fleet.digests.get("x86-64"));
    });

    it("failing closed, has no image where none fits or the mirror is down", async () => {
      const unfit = await fleet.serve("arm", "--fail-closed", "--blobs", "redirect");
      const crio = await node(await fleet.config("crio", unfit.address, undefined, "--fail-closed"));
      await expect(crio.pull(fleet.name)).rejects.toThrow(/NO_MATCH: .*ARCH_MISMATCH/);
      await unfit.stop();
      await expect(crio.pull(fleet.name)).rejects.toThrow(/connection refused/);
      expect(await crio.digests(fleet.name)).toEqual([]);
    });

    it("of a private registry, with the login of its global_auth_file, and not with a Pod's secret", async () => {
      const { host, reference, project } = await fleet.privateFleet();
      const mirror = await fleet.serveOther(reference, "v3", "--blobs", "proxy");
      const config = await fleet.config("crio", mirror.address, reference);
      const without = await node(config);
      await without.pull(reference, "builder:open-sesame").catch(() => {});
      expect(await without.digests(reference)).not.toContain(digestsOf(project).get("x86-64-v3"));
      expect(mirror.log.some(({ outcome }) => outcome === "image")).toBe(false);
      const { auths: there } = JSON.parse(loginTo(host));
      const { auths: here } = JSON.parse(loginTo(mirror.address));
      const crio = await node(config, { globalAuth: JSON.stringify({ auths: { ...there, ...here } }) });
      await crio.pull(reference);
      expect(await crio.digests(reference)).toEqual([digestsOf(project).get("x86-64-v3")]);
    });
  },
);
