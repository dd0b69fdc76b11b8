import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { parseHostFacts } from "../../../src/facts/parse-facts.ts";
import { readHost } from "../../support/read-hosts.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { createChooser } from "../../../src/node/mirror/answer-request.ts";
import type { Probed } from "../../../src/node/mirror/host-prober.ts";
import type { NodeEvent } from "../../../src/node/mirror/node-api.ts";
import { createNodeKeeper } from "../../../src/node/mirror/node-keeper.ts";
import { cpuHost, gpu, gpuHost, h100 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, lockOf } from "../../resolve/support/locks.ts";

const host = gpuHost([h100], "570.124.06", "12.8");
const broken = gpuHost([h100], "570.124.06", "12.8", {
  problems: [{ code: "HOST_DRIVER_LIBRARY_MISMATCH", message: "580.65.06 is not 570.124.06" }],
});
/** Only for GPUs, and the second one only for newer drivers. */
const fleet: Lock = lockOf({
  old: gpuImage(cuda("12.4.1", ["sm_90"])),
  new: gpuImage(cuda("13.0.1", ["sm_90"], { driver: { mode: "host", minimum: "580.65.06" } })),
});
const imageLabel = "imgmatch.dev/image.cv-tf";
const factsKey = "imgmatch.dev/facts";
const others = { "kubernetes.io/os": "linux", "example.com/imgmatch.dev": "theirs" };
const hang: Probed = { ok: false, reason: "HOST_UNREADABLE: were not read within 20000 ms" };
const running = new AbortController().signal;

/** A node in memory, with what is written to it; `refusal` is what its API server says instead. */
function kept({ facts = host, labels = {} }: { facts?: HostFacts; labels?: Record<string, string> } = {}) {
  const state = {
    probed: { ok: true, facts } as Probed,
    lock: fleet as Lock | null | Error,
    other: null as Lock | null | Error,
    labels: { ...others, ...labels } as Record<string, string>,
    annotations: { "example.com/facts": "theirs" } as Record<string, string>,
    events: [] as NodeEvent[],
    patches: 0,
    refusal: null as string | null,
    log: [] as Readonly<Record<string, unknown>>[],
    ending: running,
  };
  const refuse = () => {
    if (state.refusal !== null) throw new Error(state.refusal);
  };
  const apply = (texts: Record<string, string>, changes: Readonly<Record<string, string | null>>) => {
    for (const [name, text] of Object.entries(changes)) {
      if (text === null) delete texts[name];
      else texts[name] = text;
    }
  };
  const keeper = createNodeKeeper({
    api: {
      read: async () => {
        refuse();
        return { labels: { ...state.labels }, annotations: { ...state.annotations } };
      },
      patch: async (changes) => {
        refuse();
        state.patches++;
        apply(state.labels, changes.labels);
        apply(state.annotations, changes.annotations);
      },
      tell: async (event) => {
        refuse();
        state.events.push(event);
      },
    },
    fleets: (["lock", "other"] as const).map((each) => async () => {
      const lock = state[each];
      if (lock instanceof Error) throw lock;
      return lock;
    }),
    probe: async () => state.probed,
    choose: createChooser({}),
    question: {},
    log: (line) => state.log.push(line),
  });
  const round = async (change: Partial<typeof state> = {}) => {
    Object.assign(state, change);
    await keeper.keep(state.ending);
    return state;
  };
  const annotated = () => parseHostFacts(state.annotations[factsKey] ?? "", factsKey);
  return { state, round, annotated, counts: keeper.counts };
}

describe("A node's labels", () => {
  it("are written when they change, with the facts, and what no longer holds goes: of imgmatch's own alone", async () => {
    const stale = { "imgmatch.dev/gpu.compute.8.0": "8", "imgmatch.dev/image.gone": "1.0" };
    const { state, round, annotated } = kept({ labels: stale });
    await round();
    expect(state.labels).toMatchObject({
      ...others,
      "imgmatch.dev/driver": "570.124.06",
      "imgmatch.dev/gpu.compute.9.0": "1",
      [imageLabel]: "old",
    });
    for (const name of Object.keys(stale)) expect(state.labels).not.toHaveProperty([name]);
    expect(annotated()).toMatchObject({ nvidia: { driver: "570.124.06" } });
    expect(state.annotations["example.com/facts"]).toBe("theirs");
    expect(state.events).toEqual([{ type: "Normal", reason: "ImageChosen", message: "cv-tf: old" }]);

    // The GPU's present load is no change.
    await round({ probed: { ok: true, facts: busy(host) } });
    expect([state.patches, state.events.length]).toEqual([1, 1]);

    const updated = gpuHost([h100], "580.95.05", "13.0");
    await round({ probed: { ok: true, facts: updated } });
    expect(state.labels).toMatchObject({ "imgmatch.dev/driver": "580.95.05", [imageLabel]: "new" });
    expect(annotated().nvidia?.driver).toBe("580.95.05");
    expect(state.events.at(-1)?.message).toBe("cv-tf: new");
    expect([state.patches, state.events.length]).toEqual([2, 2]);
  });

  it("are made true again after somebody else has changed them", async () => {
    const { state, round } = kept();
    await round();
    const before = { ...state.labels };
    state.labels["imgmatch.dev/driver"] = "999";
    delete state.labels["imgmatch.dev/gpu.usable"];
    state.labels["example.com/new"] = "theirs";
    await round();
    expect(state.labels).toEqual({ ...before, "example.com/new": "theirs" });
  });

  it("follow the fleet, and one whose tag is no fleet's any more has none", async () => {
    const { state, round, counts } = kept();
    await round();
    await round({
      lock: { ...fleet, images: { next: gpuImage(cuda("12.4.1", ["sm_90"]), { tag: "2.0" }) } },
    });
    expect([state.labels[imageLabel], state.events.at(-1)?.message]).toEqual(["2.0", "cv-tf: 2.0"]);
    await round({ lock: null });
    expect(state.labels).not.toHaveProperty([imageLabel]);
    expect(counts().chosen).toEqual({});
  });

  it("of a fleet that nobody can read stay on the host that they were written for, and on no other", async () => {
    const { state, round, counts } = kept();
    await round();
    await round({ lock: new Error("the registry is away") });
    expect(state.labels[imageLabel]).toBe("old");
    expect(state.log.at(-1)).toMatchObject({ level: "warning", message: "the registry is away" });
    await round({ probed: { ok: true, facts: gpuHost([h100], "580.95.05", "13.0") } });
    expect(state.labels).not.toHaveProperty([imageLabel]);
    expect(counts().failures).toBe(0);
  });

  it("of a fleet that is read are true beside one that nobody can read", async () => {
    const { state, round } = kept({ labels: { "imgmatch.dev/image.other": "3.0" } });
    const away = new Error("the registry is away");
    await round({ other: { ...fleet, name: "other" } });
    const written = state.labels["imgmatch.dev/image.other"];
    for (let count = 0; count < 3; count++) await round({ other: away });
    expect([state.patches, state.events.length, state.labels[imageLabel]]).toEqual([1, 2, "old"]);
    await round({ lock: { ...fleet, images: {} } });
    expect(state.labels).not.toHaveProperty([imageLabel]);
    expect(state.labels["imgmatch.dev/image.other"]).toBe(written);
  });
});

describe("Labels that answer questions of others", () => {
  it("stay while the host is the same, and go with it", async () => {
    const { state, round } = kept();
    await round();
    const canary = "imgmatch.dev/image.cv-tf-0a1b2c3d";
    state.labels[canary] = "2.0";
    await round();
    await round({ lock: null });
    expect(state.labels[canary]).toBe("2.0");
    await round({ probed: { ok: true, facts: cpuHost() } });
    expect(state.labels).not.toHaveProperty([canary]);
  });
});

describe("A node for which no image fits", () => {
  it.each<[string, HostFacts, RegExp]>([
    ["an older driver", gpuHost([h100], "470.57.02", "11.4"), /^cv-tf: NO_MATCH: .*470\.57\.02/s],
    ["no GPU", cpuHost(), /^cv-tf: NO_MATCH: /],
    ["broken GPUs", broken, /^cv-tf: HOST_BROKEN: .*580\.65\.06 is not 570\.124\.06/s],
  ])("hears the reason once: %s", async (_, facts, reason) => {
    const { state, round, counts } = kept();
    await round();
    for (let count = 0; count < 3; count++) await round({ probed: { ok: true, facts } });
    expect(state.labels).not.toHaveProperty([imageLabel]);
    expect(state.events.slice(1)).toEqual([
      { type: "Warning", reason: "NoImageFits", message: expect.stringMatching(reason) },
    ]);
    expect(counts().chosen).toEqual({ "cv-tf": false });

    await round({ probed: { ok: true, facts: host } });
    expect([state.labels[imageLabel], state.events.at(-1)?.reason]).toEqual(["old", "ImageChosen"]);
    await round({ probed: { ok: true, facts } });
    expect(state.events.at(-1)).toMatchObject({ reason: "NoImageFits" });
  });
});

describe("A host that cannot be read", () => {
  it("is unknown: no fact of before is left, and no fleet comes to it", async () => {
    const { state, round } = kept();
    await round();
    for (let count = 0; count < 3; count++) await round({ probed: hang });
    expect(state.labels).toEqual({
      ...others,
      "imgmatch.dev/vocabulary": "none",
      "imgmatch.dev/broken": "true",
      "imgmatch.dev/gpu.unknown": "true",
    });
    expect(state.annotations).toEqual({ "example.com/facts": "theirs" });
    expect(state.events.slice(1)).toEqual([
      { type: "Warning", reason: "HostUnreadable", message: hang.reason },
    ]);
    const object = { kind: "Node", metadata: { name: "a", labels: state.labels, annotations: {} } };
    const read = await readHost(JSON.stringify(object), "node.json");
    expect([read.nvidia, read.cpu.level]).toEqual([undefined, null]);

    await round({ probed: { ok: true, facts: host } });
    expect(state.labels).toMatchObject({ "imgmatch.dev/driver": "570.124.06", [imageLabel]: "old" });
    expect(state.labels).not.toHaveProperty(["imgmatch.dev/broken"]);
  });

  it("because the program is ending is left alone", async () => {
    const { state, round, counts } = kept();
    await round();
    await round({ probed: hang, ending: AbortSignal.abort() });
    expect([state.patches, state.labels[imageLabel], counts().failures]).toEqual([1, "old", 0]);
  });
});

it("An API server that refuses is asked again, and counted", async () => {
  const { state, round, counts } = kept();
  await round({ refusal: "the API server answered 403" });
  await round({ refusal: "no whole answer in 10000 ms" });
  expect(counts()).toMatchObject({ failures: 2, lastAt: null });
  expect(state.log.map(({ message }) => message)).toEqual([
    "the API server answered 403",
    "no whole answer in 10000 ms",
  ]);
  await round({ refusal: null });
  expect(counts()).toMatchObject({ failures: 2, chosen: { "cv-tf": true } });
  expect(counts().lastAt).toBeGreaterThan(Date.now() - 10_000);
  expect([state.labels[imageLabel], state.events.length]).toEqual(["old", 1]);
});

function busy({ nvidia, ...rest }: HostFacts): HostFacts {
  const use = { processes: 3, memoryMiB: 70_000 };
  return { ...rest, nvidia: nvidia && { ...nvidia, gpus: nvidia.gpus.map((each) => gpu({ ...each, use })) } };
}
