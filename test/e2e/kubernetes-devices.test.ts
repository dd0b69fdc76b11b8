/** Fleets whose GPUs are claimed (DRA): where the real scheduler places their pods, and with which devices, against resolve. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { AmdGpuFacts, GpuFacts, HostFacts } from "../../src/facts/facts.ts";
import { readHosts } from "../support/read-hosts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { mixedLock, ownLock, visionLock } from "../node/launch/support/fleet-locks.ts";
import { fleetOf, type KubernetesObject } from "../node/launch/support/kubernetes-objects.ts";
import { imgmatchPrints } from "../node/launch/support/program.ts";
import { amdGpu as amdFacts, amdHost, cpuHost, gpu, gpuHost, levelV3 } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, requirement, rocmImage } from "../resolve/support/locks.ts";
import { needs } from "../support/needs.ts";
import {
  amdGpu,
  amdPartition,
  type Device,
  deviceClasses,
  exampleDevice,
  migDevice,
  type NvidiaCard,
  type NvidiaDriver,
  nvidiaGpu,
  resourceSlice,
} from "./support/device-slices.ts";
import { type RunningKubernetes, startKubernetes, whyNoPrograms } from "./support/kubernetes.ts";
import {
  collectionOf,
  create,
  decidedPods,
  labelFromOutside,
  labelsOf,
  nodeOf,
} from "./support/kubernetes-nodes.ts";

const whyNot = whyNoPrograms("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager");

const avx512 = ["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"];
const lock = lockOf({
  ampere: gpuImage(cuda("12.8.1", ["sm_80"])),
  // For drivers that the newer toolkit does not run on.
  "ampere-old": gpuImage(cuda("11.8.0", ["sm_80"], { driver: { mode: "host", minimum: "450.80.02" } })),
  hopper: gpuImage(cuda("12.8.1", ["sm_90a"]), {
    requires: requirement(cuda("12.8.1", ["sm_90a"]), [...levelV3, ...avx512].sort()),
  }),
  "hopper-ptx": gpuImage(cuda("12.8.1", ["sm_90", "compute_90"])),
  mi300: rocmImage(["gfx942", "gfx90a:sramecc+"]),
  cpu: image(),
});

interface NodeClass {
  /** The machine as imgmatch labels it. */
  readonly host: HostFacts;
  readonly devices: (node: string) => readonly Device[];
  readonly driver: string;
}

const a100: NvidiaCard = { product: "NVIDIA A100-SXM4-80GB", compute: "8.0", memory: "81920Mi" };
const l4: NvidiaCard = { product: "NVIDIA L4", compute: "8.9", memory: "23034Mi" };
const h100: NvidiaCard = { product: "NVIDIA H100 80GB HBM3", compute: "9.0", memory: "81559Mi" };
const h200: NvidiaCard = { product: "NVIDIA H200", compute: "9.0", memory: "143771Mi" };
const b300: NvidiaCard = { product: "NVIDIA B300 SXM6 AC", compute: "10.3", memory: "275040Mi" };
const r470: NvidiaDriver = { driver: "470.256.2", cuda: "11.4" };
const r535: NvidiaDriver = { driver: "535.104.5", cuda: "12.2" };
const r570: NvidiaDriver = { driver: "570.172.8", cuda: "12.8" };
const r580: NvidiaDriver = { driver: "580.95.5", cuda: "13.0" };

function nvidia(
  cards: readonly NvidiaCard[],
  driver: NvidiaDriver,
  features: readonly string[] = levelV3,
): NodeClass {
  // `570.172.8` is 570.172.08.
  const text = driver.driver.replace(/\.(\d)$/, ".0$1");
  const gpus = cards.map(({ product, compute }) => gpu({ name: product, compute }));
  const cpu = { vendor: "GenuineIntel", model: "Intel(R) Xeon(R)", features, level: null };
  return {
    host: gpuHost(gpus, text, driver.cuda, { cpu, amd: null }),
    devices: (node) => cards.map((card, index) => nvidiaGpu(node, index, card, driver)),
    driver: "gpu.nvidia.com",
  };
}

const mig = { ...a100, profile: "3g.40gb", memory: "40192Mi" };
const mi300x = amdFacts({ name: "AMD Instinct MI300X", target: "gfx942" });
const classes: Readonly<Record<string, NodeClass>> = {
  a100: nvidia([a100, a100], r535),
  "a100-old": nvidia([a100, a100], r470),
  l4: nvidia([l4], r570),
  h100: nvidia([h100, h100], r535, [...levelV3, ...avx512].sort()),
  "h100-v3": nvidia([h100, h100], r570),
  h200: nvidia([h200, h200], r580, [...levelV3, ...avx512].sort()),
  b300: nvidia([b300, b300], r580),
  // No image is for its processor.
  "h100-v2": nvidia([h100], r570, ["cx16", "lahf_lm", "pni", "popcnt"]),
  unlike: nvidia([a100, h100], r570),
  mig: {
    ...nvidia([a100], r570),
    devices: (node) => [0, 1].map((index) => migDevice(node, index, mig, r570)),
  },
  mi300x: {
    host: amdHost([mi300x, mi300x], "6.14.14"),
    devices: () => [
      amdGpu(0, "0x74a1", "AMD_Instinct_MI300X_OAM"),
      amdPartition(1, "0x74a1", "AMD_Instinct_MI300X_OAM"),
    ],
    driver: "gpu.amd.com",
  },
  cpu: { host: cpuHost({ amd: null }), devices: () => [exampleDevice(0)], driver: "gpu.example.com" },
};

const onBus: Readonly<Record<string, string>> = {
  "gpu.nvidia.com": "0302_10de",
  "gpu.amd.com": "1200_1002",
  "gpu.example.com": "0200_8086",
};

/** A kubelet tells more than that. */
function onAmd64(node: KubernetesObject & { readonly status?: object }): KubernetesObject {
  const nodeInfo = {
    ...{ architecture: "amd64", operatingSystem: "linux", kernelVersion: "6.8.0-64-generic" },
    ...{ machineID: "", systemUUID: "", bootID: "", osImage: "", containerRuntimeVersion: "" },
    ...{ kubeletVersion: "", kubeProxyVersion: "" },
  };
  return { ...node, status: { ...node.status, nodeInfo } } as KubernetesObject;
}

/** The machine as a container sees it that has one of its GPUs. */
function withOne({ nvidia, amd, ...host }: HostFacts): readonly HostFacts[] {
  const one = <Gpu extends GpuFacts | AmdGpuFacts>(gpus: readonly Gpu[] = []) =>
    gpus.map((each) => [{ ...each, index: 0 }]);
  return [
    ...one(nvidia?.gpus).map((gpus) => ({ ...host, amd, ...(nvidia && { nvidia: { ...nvidia, gpus } }) })),
    ...one(amd?.gpus).map((gpus) => ({ ...host, nvidia, ...(amd && { amd: { ...amd, gpus } }) })),
  ];
}

const pick = (facts: HostFacts, of: Lock = lock) => {
  const { match } = resolveImage(of, facts);
  return match === null ? null : (of.images[match.cell]?.tag ?? null);
};

describe("claimed devices on Kubernetes", needs(whyNot), () => {
  let cluster: RunningKubernetes;

  beforeAll(async () => {
    cluster = await startKubernetes("kube-scheduler", "kube-controller-manager");
    for (const object of deviceClasses) await create(cluster, object);
  }, 90_000);
  const namespaces: string[] = [];
  // No controller takes away what belongs to what is gone. Pods that wait would take the devices of the next test.
  afterEach(async () => {
    for (const namespace of namespaces.splice(0)) {
      for (const kind of ["deployments", "replicasets"])
        await cluster.call("DELETE", `/apis/apps/v1/namespaces/${namespace}/${kind}`);
      await cluster.call("DELETE", `/api/v1/namespaces/${namespace}/pods?fieldSelector=spec.nodeName=`);
    }
  });
  afterAll(() => cluster?.stop());

  const post = async (name: string, { host, devices, driver }: NodeClass, count: number, of: Lock) => {
    // Node Feature Discovery has looked at the bus: what it does not name is not there.
    const bus = { [`feature.node.kubernetes.io/pci-${onBus[driver]}.present`]: "true" };
    const labels = { ...(await labelsOf(host, of)), ...bus };
    const nodes = Array.from({ length: count }, (_, index) => `${name}-${index}`);
    await Promise.all(
      nodes.map(async (node) => {
        await create(cluster, onAmd64(nodeOf(node, labels)));
        await create(cluster, resourceSlice(driver, node, devices(node)));
      }),
    );
    return nodes;
  };

  /** As `kubectl get nodes,resourceslices -o json` gives them to `resolve --hosts`. */
  const hosts = async () => {
    const paths = ["/api/v1/nodes", "/apis/resource.k8s.io/v1/resourceslices"];
    const lists = await Promise.all(paths.map((path) => cluster.call("GET", path)));
    const read = await readHosts(lists.map(({ body }) => JSON.stringify(body)).join("\n"), "cluster.json");
    return new Map(read.map(({ name, facts }) => [name, facts]));
  };

  const namespaceOf = async (name: string) => {
    await create(cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {} });
    namespaces.push(name);
    return name;
  };

  /** With so many copies of each Deployment. Answers with the tag and the pods of each. */
  const start = async (
    namespace: string,
    objects: readonly KubernetesObject[],
    replicas: (tag: string) => number,
  ) => {
    let expected = 0;
    for (const object of objects) {
      const tag = object.metadata.annotations?.["imgmatch.dev/tag"] ?? "";
      const copies = object.kind === "Deployment" ? replicas(tag) : 0;
      expected += copies;
      const spec = copies === 0 ? object.spec : { ...object.spec, replicas: copies };
      await create(cluster, { ...object, spec });
    }
    const tags = new Map(
      objects.map(({ metadata }) => [metadata.name, metadata.annotations?.["imgmatch.dev/tag"]]),
    );
    const pods = await decidedPods(cluster, namespace, expected);
    return pods.map(({ metadata, spec }) => ({
      tag: tags.get(metadata.labels["app.kubernetes.io/name"]) ?? "",
      node: spec.nodeName as string | undefined,
      uid: metadata.uid as string,
    }));
  };

  /**
   * By pod, the devices of the claims that are reserved for it. A pod's status may name another one: under load the controller of 1.36 makes
   * some claims twice (kubernetes#140217).
   */
  const allocated = async (namespace: string) => {
    const path = `/apis/resource.k8s.io/v1/namespaces/${namespace}/resourceclaims`;
    const { body } = await cluster.call("GET", path);
    const devices = new Map<string, readonly { request: string; device: string; pool: string }[]>();
    for (const { status = {} } of body.items)
      for (const { uid } of status.reservedFor ?? [])
        devices.set(uid, [...(devices.get(uid) ?? []), ...(status.allocation?.devices.results ?? [])]);
    return devices;
  };

  it("takes every fleet, its expressions within their cost", async () => {
    const strict = "fieldValidation=Strict&dryRun=All";
    const argv = ["launch", "kubernetes", "--host", "docs/examples/vision/hosts/h100.json", "--dra"];
    const single = JSON.parse(
      await imgmatchPrints([...argv, "--json", "--lock", "docs/examples/vision/images/imgmatch.lock.json"]),
    );
    const all = [
      await fleetOf(await ownLock(), "--dra"),
      await fleetOf(mixedLock, "--dra", "--task", "batch"),
      await fleetOf(lockOf({ spirv: rocmImage(["amdgcnspirv"]), cpu: image() }), "--dra"),
      await fleetOf(visionLock, "--devices", "1xB300,2xH200:100GB,4x9.0,1x3g.40gb,2xRTX 4090"),
      { objects: single.items },
    ].flatMap(({ objects }) => objects as readonly KubernetesObject[]);
    expect(all.length).toBeGreaterThan(100);
    for (const object of all) {
      const { status, body, warnings } = await cluster.call(
        "POST",
        `${collectionOf(object)}?${strict}`,
        object,
      );
      expect([object.metadata.name, status, body.message, warnings]).toEqual([
        object.metadata.name,
        201,
        undefined,
        [],
      ]);
    }
  });

  it("brings each pod to a node and a device for which resolve gives its image, and leaves no such device free", {
    timeout: 150_000,
  }, async () => {
    const nodes = (
      await Promise.all(Object.entries(classes).map(([name, each]) => post(name, each, 17, lock)))
    ).flat();
    expect(nodes.length).toBeGreaterThan(200);
    // A device without a word about itself, and one of an older generation.
    const silentLabels = await labelsOf(classes.a100?.host ?? cpuHost(), lock);
    await create(cluster, onAmd64(nodeOf("silent", silentLabels)));
    const silent = { name: "gpu-0", attributes: { type: { string: "gpu" } }, capacity: {} };
    await create(cluster, resourceSlice("gpu.nvidia.com", "silent", [nvidiaGpu("silent", 7, a100, r535)]));
    await create(cluster, resourceSlice("gpu.nvidia.com", "silent", [silent], 2));

    const read = await hosts();
    const wanted: string[] = [];
    const places = new Set<string>();
    for (const node of nodes) {
      const facts = read.get(node) ?? cpuHost();
      // Devices of class gpu.nvidia.com are whole GPUs.
      if (node.startsWith("mig-")) continue;
      const picks = withOne(facts).map((one) => pick(one));
      for (const tag of picks) if (tag !== null) wanted.push(tag);
      for (const tag of [...picks, pick(facts)]) if (tag !== null) places.add(`${tag} ${node}`);
      // Alike GPUs are as one.
      if (new Set(picks).size === 1) expect([node, pick(facts)]).toEqual([node, picks[0] ?? null]);
    }
    const count = (tag: string) => wanted.filter((each) => each === tag).length;
    expect(Object.fromEntries([...new Set(wanted)].sort().map((tag) => [tag, count(tag)]))).toEqual({
      ampere: 17 * (1 + 1),
      // Of an older driver the older toolkit's own.
      "ampere-old": 17 * (2 + 2),
      hopper: 17 * 4,
      "hopper-ptx": 17 * (2 + 2 + 1),
      mi300: 17 * 2,
    });

    const namespace = await namespaceOf("fleet");
    const { objects } = await fleetOf(lock, "--dra", "--set", `namespace=${namespace}`);
    const pods = await start(namespace, objects, (tag) => (tag === "cpu" ? 40 : count(tag) + 2));
    const bound = pods.filter(({ node }) => node !== undefined);
    expect(bound.filter(({ tag, node }) => !places.has(`${tag} ${node}`))).toEqual([]);
    const placed = bound.map(({ tag }) => tag).filter((tag) => tag !== "cpu");
    expect(placed.sort()).toEqual(wanted.sort());
    expect(bound.filter(({ tag }) => tag === "cpu").length).toBe(40);
    const claimed = bound.filter(({ tag }) => tag !== "cpu");
    const devices = await allocated(namespace);
    expect(claimed.map(({ uid }) => devices.get(uid)?.map(({ pool }) => pool))).toEqual(
      claimed.map(({ node }) => [node]),
    );
    for (const { uid, node = "", tag } of claimed.filter(({ node }) => node?.startsWith("unlike"))) {
      const [{ device = "" } = {}] = devices.get(uid) ?? [];
      expect([node, tag]).toEqual([node, device === "gpu-0" ? "ampere" : "hopper-ptx"]);
    }
  });

  it("gives a workload over several kinds of devices the right number of those that are free, and MIG instances by profile", {
    timeout: 120_000,
  }, async () => {
    const one = lockOf({ all: gpuImage(cuda("12.8.1", ["sm_80", "sm_90", "compute_90"])), cpu: image() });
    const many = (name: string, card: NvidiaCard, count: number, driver = r580) =>
      post(
        name,
        nvidia(
          Array.from({ length: count }, () => card),
          driver,
        ),
        6,
        one,
      );
    await many("few-b300", b300, 3);
    await many("few-h200", h200, 5);
    await many("few-h100", h100, 9);
    // Too old for any image with GPU code.
    await many("few-old", h100, 8, { driver: "470.256.2", cuda: "11.4" });
    // From what the nodes and their ResourceSlices tell.
    await labelFromOutside(cluster, one, "--pin", "cuda=12.8");
    const namespace = await namespaceOf("several");
    // The sidecar shares the claim: no pod gets more devices for it.
    const sidecar = ["--set", "sidecar=registry.example.com/tools/exporter:1.0"];
    const argv = ["--devices", "1xB300,2xH200:140GB,4xH100", "--pin", "cuda=12.8", ...sidecar];
    const { objects } = await fleetOf(one, ...argv, "--set", `namespace=${namespace}`);
    expect(objects.map(({ kind }) => kind)).toEqual(["ResourceClaimTemplate", "Deployment"]);
    const pods = await start(namespace, objects, () => 50);
    const bound = pods.flatMap(({ node, uid }) => (node === undefined ? [] : [{ node, uid }]));
    const devices = await allocated(namespace);
    const got = bound.map(({ node, uid }) => {
      const results = devices.get(uid) ?? [];
      return `${node.replace(/-\d+$/, "")} ${results[0]?.request} ${results.length}`;
    });
    expect(
      [...new Set(got)].sort().map((each) => [each, got.filter((other) => other === each).length]),
    ).toEqual([
      ["few-b300 gpu/1xb300 1", 6 * 3],
      ["few-h100 gpu/4xh100 4", 6 * 2],
      ["few-h200 gpu/2xh200-140gb 2", 6 * 2],
    ]);

    const read = await hosts();
    const picked = bound.map(({ node }) => pick(read.get(node) ?? cpuHost(), one));
    expect(new Set(picked)).toEqual(new Set(["all"]));

    const parted = await namespaceOf("parted");
    const mixed = await fleetOf(
      one,
      "--devices",
      "1x3g.40gb",
      "--pin",
      "cuda=12.8",
      "--set",
      "namespace=parted",
    );
    const placed = (await start(parted, mixed.objects, () => 40)).flatMap(({ node }) => node ?? []);
    expect(placed.length).toBe(17 * 2);
    expect(placed.filter((node) => !node.startsWith("mig-"))).toEqual([]);
  });
});
