import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { coverReport } from "../../src/cover/cover-report.ts";
import type { PullStep } from "../../src/cover/pull-plan.ts";
import { pullHead, pullRow } from "../../src/cover/cover-words.ts";
import { readHosts } from "../support/read-hosts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { storedBlobs } from "../../src/oci/registry/stored-blobs.ts";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { cuda, gpuImage, lockOf } from "../resolve/support/locks.ts";

const digestOf = (bytes: string) => `sha256:${createHash("sha256").update(bytes).digest("hex")}` as const;

/** Images of one base each with a layer of its own, as a registry has them. */
const contents = { base: "b".repeat(5000), a: "a".repeat(300), h: "h".repeat(700), config: "{}" };
const descriptor = (name: keyof typeof contents) => ({
  digest: digestOf(contents[name]),
  size: contents[name].length,
});
const manifestOf = (own: "a" | "h") =>
  JSON.stringify({ config: descriptor("config"), layers: [descriptor("base"), descriptor(own)] });
const stored = new Map<string, string>(
  [...Object.values(contents), manifestOf("a"), manifestOf("h")].map((bytes) => [digestOf(bytes), bytes]),
);

function imageOf(compute: string, own: "a" | "h"): Lock["images"][string] {
  const blobs = storedBlobs(JSON.parse(manifestOf(own)));
  if (blobs === null) throw new Error(own);
  const more = {
    digest: digestOf(manifestOf(own)),
    blobs,
    axes: { cuda: "12.8.1", compute, march: "haswell" },
    tag: own,
  };
  const code = cuda("12.8.1", [`sm_${compute.replace(".", "")}`]);
  const requires = { cpu: { march: "haswell", features: findMarch("haswell")?.features ?? [] }, cuda: code };
  return gpuImage(code, { ...more, requires });
}
const lock = lockOf({ ampere: imageOf("8.0", "a"), hopper: imageOf("9.0", "h") });

const other = `k8s.gcr.io/pause@sha256:${"0".repeat(64)}`;
const nameOf = (own: "a" | "h") => `registry.example.com/x@${digestOf(manifestOf(own))}`;

function node(name: string, compute: string, images: readonly (readonly string[])[] | null) {
  const facts = {
    ...{
      schemaVersion: 1,
      platform: "linux/amd64",
      kernel: "6.8.0",
      cpu: { march: "haswell", vendor: "GenuineIntel" },
    },
    nvidia: { driver: "580.95.05", gpus: [{ index: 0, compute, class: "datacenter" }] },
    runtime: { nvidia: "cdi" },
  };
  const annotations = { "imgmatch.dev/facts": JSON.stringify(facts) };
  const nodeInfo = { architecture: "amd64", operatingSystem: "linux", kernelVersion: "6.8.0" };
  const status = { nodeInfo, ...(images === null ? {} : { images: images.map((names) => ({ names })) }) };
  return { kind: "Node", metadata: { name, labels: { "kubernetes.io/arch": "amd64" }, annotations }, status };
}
const planOf = async (nodes: readonly object[], have: readonly string[] = [], of = lock) => {
  const hosts = await readHosts(nodes.map((each) => JSON.stringify(each)).join("\n"), "nodes.json");
  const { pullPlan } = coverReport({ from: "lock", lock: of }, hosts, { have });
  if (pullPlan === undefined) throw new Error("no plan");
  return pullPlan;
};
const said = ({ names, cell, missing, atMost, has }: PullStep) => [names.join(), cell, missing, atMost, has];

describe("a plan of pulls", () => {
  it("has what is missing after the layers that hosts have, by what they have", async () => {
    const { steps, bytes } = await planOf([
      node("h1", "9.0", [[nameOf("a"), "registry.example.com/x:a"]]),
      node("h2", "9.0", [[nameOf("h")]]),
      node("h3", "9.0", []),
      node("h4", "9.0", []),
    ]);
    expect(steps.map(said)).toEqual([
      ["h3,h4", "hopper", 5702, false, []],
      ["h1", "hopper", 700, false, ["ampere"]],
      ["h2", "hopper", 0, false, ["hopper"]],
    ]);
    expect(bytes).toBe(2 * 5702 + 700);
    expect(steps[0]).toMatchObject({ digest: digestOf(manifestOf("h")), bytes: 5702, class: "c1" });
    expect(steps[0]?.reference).toMatch(new RegExp(`@${digestOf(manifestOf("h"))}$`));
  });

  it("says at most where images are there whose layers nobody knows, and where none are listed", async () => {
    const full = Array.from({ length: 50 }, () => [nameOf("a")]);
    const plan = await planOf([
      node("listed", "9.0", [[nameOf("a")], [other]]),
      node("full", "9.0", full),
      node("untold", "9.0", null),
      node("there", "8.0", [[nameOf("a")], [other]]),
    ]);
    expect(plan.steps.map(said)).toEqual([
      ["untold", "hopper", 5702, true, []],
      ["listed,full", "hopper", 700, true, ["ampere"]],
      ["there", "ampere", 0, false, ["ampere"]],
    ]);
    expect(plan.steps.map((step) => pullRow(step)[2])).toEqual(["at most 0 MB", "at most 0 MB", "0 MB"]);
  });

  it("takes what every host has from the user, by digest or cell", async () => {
    for (const have of ["ampere", digestOf(manifestOf("a")), nameOf("a")])
      expect((await planOf([node("h", "9.0", [])], [have])).steps.map(said)).toEqual([
        ["h", "hopper", 700, false, ["ampere"]],
      ]);
    await expect(planOf([node("h", "9.0", [])], ["toString"])).rejects.toMatchObject({ code: "USAGE" });
  });

  it("does not guess the size of an image that the lock does not have", async () => {
    const { blobs: _, ...unsized } = imageOf("9.0", "h");
    const without = lockOf({ ampere: imageOf("8.0", "a"), hopper: unsized });
    const plan = await planOf([node("h", "9.0", [])], [], without);
    expect(plan).toMatchObject({ bytes: 0, unknownHosts: 1, steps: [{ missing: null, bytes: null }] });
    expect(pullHead(plan, {})).toBe("to pull: 0 MB in all, and 1 host of unknown size");
    const beside = lockOf({
      ampere: { ...unsized, digest: digestOf("x"), requires: imageOf("8.0", "a").requires },
      hopper: imageOf("9.0", "h"),
    });
    expect((await planOf([node("h", "9.0", [])], ["ampere"], beside)).steps.map(said)).toEqual([
      ["h", "hopper", 5702, true, ["ampere"]],
    ]);
  });

  it("has the bytes that a registry serves to who pulls it", async () => {
    let served = 0;
    const { host } = await startFaultServer(({ path }, response) => {
      const bytes = stored.get(path.split("/").at(-1) ?? "");
      if (path.includes("/blobs/")) served += bytes?.length ?? 0;
      response.writeHead(bytes === undefined ? 404 : 200).end(bytes);
    });
    /** As a runtime does: the manifest, and each blob that is not there. */
    const pull = async (digest: string, there: Set<string>) => {
      const get = async (path: string) => (await fetch(`http://${host}/v2/x/${path}`)).text();
      const { config, layers } = JSON.parse(await get(`manifests/${digest}`));
      for (const { digest: blob } of [config, ...layers]) {
        if (!there.has(blob)) expect(digestOf(await get(`blobs/${blob}`))).toBe(blob);
        there.add(blob);
      }
    };
    const nodes = [
      node("empty", "9.0", []),
      node("ampere", "8.0", [[nameOf("h")]]),
      node("hopper", "9.0", [[nameOf("a")]]),
      node("done", "9.0", [[nameOf("h")]]),
    ];
    const { steps, bytes } = await planOf(nodes);
    for (const { digest, has, names, missing } of steps) {
      const there = new Set<string>();
      for (const cell of has) await pull(lock.images[cell]?.digest ?? "", there);
      served = 0;
      await pull(digest, there);
      expect([names, served]).toEqual([names, missing]);
    }
    expect(bytes).toBe(5702 + 300 + 700);
  });
});

describe("the weight of cells that go", () => {
  it("is what only they have, beside the hosts that lose native code", async () => {
    const hosts = await readHosts(JSON.stringify(node("h", "9.0", [])), "n");
    const { whatIf } = coverReport({ from: "lock", lock }, hosts, { whatIf: ["drop:compute=9.0"] });
    expect(whatIf).toMatchObject({
      dropped: { images: 1, registryBytes: 700 },
      notNative: { hosts: 1, classes: ["c1"] },
    });
  });
});
