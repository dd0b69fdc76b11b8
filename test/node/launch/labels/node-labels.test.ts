import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatFactsLine } from "../../../../src/facts/format-facts.ts";
import type { HostFacts } from "../../../../src/facts/facts.ts";
import { formatLock } from "../../../../src/lock/format-lock.ts";
import { questionKeys } from "../../../../src/node/launch/labels/image-labels.ts";
import { runInProcess } from "../../../support/run-cli.ts";
import { cpuHost, gpuHost, h100 } from "../../../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf } from "../../../resolve/support/locks.ts";
import { makeFolder } from "../../../support/folders.ts";

const lock = lockOf({ gpu: gpuImage(cuda("12.8.1", ["sm_90"])), cpu: image() });
const { image: key, devices, plain } = questionKeys(lock);
const [device = "", ...others] = devices;
const gpu = gpuHost([h100], "570.124.06", "12.8", { amd: null });
const none = cpuHost({ platform: "linux/riscv64" });

const node = (name: string, facts: HostFacts, labels: Readonly<Record<string, string>> = {}) => ({
  kind: "Node",
  metadata: {
    name,
    labels: Object.fromEntries(
      Object.entries(labels).map(([each, value]) => [`imgmatch.dev/${each}`, value]),
    ),
    annotations: { "imgmatch.dev/facts": formatFactsLine(facts) },
  },
});

async function labels(hosts: readonly object[], ...args: readonly string[]) {
  const folder = makeFolder({
    "hosts.jsonl": hosts.map((each) => JSON.stringify(each)).join("\n"),
    "lock.json": formatLock(lock),
  });
  const files = ["--hosts", join(folder, "hosts.jsonl"), "--lock", join(folder, "lock.json")];
  const { exit, out, err } = await runInProcess(["labels", ...files, ...args]);
  expect(exit, err).toBe(0);
  return { out, err };
}

describe("labels from outside", () => {
  it("are what changes on Kubernetes nodes: added, corrected, taken away where nothing fits", async () => {
    const right = { [key]: "gpu", [device]: "gpu", [plain ?? ""]: "theirs" };
    const { out, err } = await labels([
      node("new-1", gpu),
      node("new-2", gpu),
      node("right", gpu, right),
      node("stale", cpuHost(), right),
      node("lost", none, { ...right, "image.other-0a1b2c3d": "1" }),
      node("never", none),
    ]);
    const words = out
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" ").slice(4).toSorted());
    expect(words).toEqual([
      [`imgmatch.dev/${device}=gpu`, `imgmatch.dev/${key}=gpu`, "new-1", "new-2"],
      [`imgmatch.dev/${device}-`, `imgmatch.dev/${key}=cpu`, "stale"],
      [`imgmatch.dev/${device}-`, `imgmatch.dev/${key}-`, "lost"],
    ]);
    expect(err).toContain("no image of the lock fits lost, never");
  });

  it("of another question are no part of the answer, and --remove takes those of its own away", async () => {
    const both = { [key]: "gpu", "image.cv-tf-0a1b2c3d": "gpu" };
    const { out } = await labels([node("a", gpu, both), node("b", gpu)], "--remove");
    expect(out).toBe(`kubectl label node --overwrite a imgmatch.dev/${key}-\n`);
  });

  it("are patches, JSON, and the words of other systems, where the present labels are not known too", async () => {
    const hosts = [
      { name: "a1", facts: gpu },
      { name: "a2", facts: none },
    ];
    const of = async (format: string) => (await labels(hosts, "--format", format)).out;
    const gone = Object.fromEntries(others.map((each) => [each, null]));
    const [first, second] = [
      { ...gone, [device]: "gpu", [key]: "gpu" },
      { ...gone, [device]: null, [key]: null },
    ];
    expect(JSON.parse(await of("json"))).toEqual({
      schemaVersion: 1,
      hosts: [
        { host: "a1", labels: first },
        { host: "a2", labels: second },
      ],
    });
    const [patch] = (await of("patch")).split("\n");
    expect(JSON.parse(patch ?? "").patch.metadata.labels).toMatchObject({ [`imgmatch.dev/${key}`]: "gpu" });
    const nomad = `imgmatch_${key.replace(/[^A-Za-z0-9]/g, "_")}`;
    expect(await of("nomad")).toBe(
      `nomad node meta apply -node-id=a1 ${nomad}=gpu\nnomad node meta apply -node-id=a2 -unset=${nomad}\n`,
    );
    expect(await of("docker")).toBe(
      `docker node update --label-add imgmatch.${key}=gpu a1\ndocker node update --label-add imgmatch.${key}= a2\n`,
    );
    expect(await of("slurm")).toBe(`NodeName=a1 Features=imgmatch.${key}.gpu\n`);
  });
});
