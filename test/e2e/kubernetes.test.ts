/**
 * Gives a real API server the objects that imgmatch writes for Kubernetes, and compares where the real scheduler and controllers place
 * them with the answer of resolve for each node.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { vendorsOf } from "../../src/lock/requirement.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";
import { readHosts } from "../support/read-hosts.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { mixedLock, ownLock, visionLock } from "../node/launch/support/fleet-locks.ts";
import { isBundled } from "../../src/node/launch/target.ts";
import { fleetLocks, fleetOf, launchedObjects } from "../node/launch/support/kubernetes-objects.ts";
import { imgmatchPrints } from "../node/launch/support/program.ts";
import { anyHost, anyLock } from "../properties/support/machines.ts";
import { makeFolder } from "../support/folders.ts";
import { type RunningKubernetes, startKubernetes, whyNoPrograms } from "./support/kubernetes.ts";
import {
  collectionOf,
  create,
  daemonSetsSettle,
  decidedPods,
  factsNodeOf,
  labelFromOutside,
  labelsOf,
  nodeName,
  nodeOf,
  type Placements,
  placements,
  removeDaemonSets,
  until,
} from "./support/kubernetes-nodes.ts";
import { startServe } from "./support/mirror.ts";
import { isLong, rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";

const whyNoServer = whyNoPrograms("etcd", "kube-apiserver");
const whyNoScheduler = whyNoPrograms("kube-scheduler", "kube-controller-manager");

const lockFile = "docs/examples/vision/images/imgmatch.lock.json";
const hostFile = "docs/examples/vision/hosts/h100.json";
const tagKey = "imgmatch.dev/tag";
const manifest = parseAllDocuments(readFileSync("docs/node/mirror-daemonset.yaml", "utf8")).map((each) =>
  each.toJS(),
);
const fixtures = "test/fixtures/hosts";
const machines = readdirSync(fixtures);
/** Real machines, and random ones: 200 nodes. */
const hosts: readonly (readonly [string, HostFacts])[] = [
  ...machines.map((name) => [nodeName(name), factsIn(join(fixtures, name, "expected.json"))] as const),
  ...fc
    .sample(anyHost, { seed: 1, numRuns: 200 - machines.length })
    .map((host, index) => [`random-${index}`, host] as const),
];

function factsIn(file: string): HostFacts {
  return parseHostFacts(readFileSync(file, "utf8"), file);
}

/** Of the few images that a fleet can be made of in a second. */
function randomLocks(count: number): readonly Lock[] {
  return fc
    .sample(anyLock, { seed: 1, numRuns: 40 })
    .filter(({ images }) => Object.values(images).every(({ requires }) => vendorsOf(requires).length < 2))
    .filter((lock) => Object.keys(lock.images).length <= 6 && winners(lock) > 1)
    .slice(0, count);
}

function winners(lock: Lock): number {
  return new Set(hosts.flatMap(([, host]) => resolveImage(lock, host).match?.cell ?? [])).size;
}

/** By node, the tag of what resolve picks there. */
function wanted(lock: Lock, of = hosts, pins: Readonly<Record<string, string>> = {}): Placements {
  return Object.fromEntries(
    of.flatMap(([name, host]) => {
      const { match } = resolveImage(lock, host, { pins });
      const image = match === null ? undefined : lock.images[match.cell];
      // Left out of a fleet: NVIDIA's plugin would put the host's driver over the image's.
      return image === undefined || isBundled(image) ? [] : [[name, [image.tag]]];
    }),
  );
}

describe("Kubernetes for real", needs(whyNoServer), () => {
  let cluster: RunningKubernetes;

  beforeAll(async () => {
    const controllers =
      whyNoScheduler === null ? (["kube-scheduler", "kube-controller-manager"] as const) : [];
    cluster = await startKubernetes(...controllers);
  });
  afterAll(() => cluster?.stop());

  describe("the API server, with strict field validation", () => {
    const strict = "fieldValidation=Strict&dryRun=All";
    const taken = async (object: Parameters<typeof collectionOf>[0], body: unknown, type?: string) => {
      const answer = await cluster.call("POST", `${collectionOf(object)}?${strict}`, body, type);
      const { name } = object.metadata;
      expect([name, answer.status, answer.body.message, answer.warnings]).toEqual([name, 201, undefined, []]);
      return answer.body;
    };

    it("refuses what it does not know, so that taking something means something", async () => {
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" } };
      const spec = { containers: [{ name: "a", image: "b" }], nodeSelecter: {} };
      const { status, body } = await cluster.call("POST", `${collectionOf(pod)}?${strict}`, { ...pod, spec });
      expect([status, body.message]).toEqual([
        400,
        expect.stringContaining('unknown field "spec.nodeSelecter"'),
      ]);
    });

    it.each(["daemonset", "mirror-daemonset"])("takes docs/node/%s.yaml, in its own text", async (name) => {
      const text = readFileSync(`docs/node/${name}.yaml`, "utf8");
      // Its own namespace is not there where nothing is kept.
      for (const each of text.replaceAll("namespace: imgmatch", "namespace: default").split(/^---\n/m))
        await taken(parse(each), each, "application/yaml");
    });

    it("takes every launch", async () => {
      for (const [, object] of launchedObjects()) await taken(object, object);
    });

    it.each(Object.entries(fleetLocks))(
      "takes a fleet of %s, in the text that is printed",
      async (_name, lock) => {
        const { text, objects } = await fleetOf(await lock());
        const texts = text.split(/^---\n/m);
        expect(texts.length).toBe(objects.length);
        for (const [index, object] of objects.entries())
          await taken(object, texts[index], "application/yaml");
      },
    );

    it.each([[["--task", "batch"]], [["--set", "kind=deployment"]]])(
      "takes a fleet with %s",
      async (args) => {
        for (const object of (await fleetOf(visionLock, ...args)).objects) await taken(object, object);
      },
    );

    it("reads texts as they were meant", async () => {
      const hostile = [
        "010",
        "1:30",
        "no",
        "~",
        "1_000",
        "0x1F",
        ".5",
        "1e3",
        "- a",
        "a: b",
        "$(A)",
        "\u007f\u0085\u2028\ufeffé\t",
        " x ",
      ];
      const env = hostile.flatMap((text, index) => ["--env", `V${index}=${text}`]);
      const argv = [
        "launch",
        "kubernetes",
        "--lock",
        lockFile,
        "--host",
        hostFile,
        "--gpus",
        "1",
        ...env,
        "--",
      ];
      const text = await imgmatchPrints([...argv, ...hostile]);
      const job = { kind: "Job", metadata: { name: "vision" } };
      const { spec } = await taken(job, text, "application/yaml");
      const [container] = spec.template.spec.containers;
      // A dollar sign is doubled, as the kubelet takes `$(A)` for a reference.
      const written = hostile.map((each) => each.replaceAll("$", "$$$$"));
      expect(container.args).toEqual(written);
      expect(container.env.map(({ value }: { value: string }) => value)).toEqual(written);
    });

    it("takes the labels of every machine", async () => {
      for (const [name, host] of hosts) {
        const node = nodeOf(name, await labelsOf(host, visionLock));
        await taken(node, node);
      }
    });
  });

  it("gives back nodes and ResourceSlices from which the GPUs are read", async () => {
    await create(cluster, nodeOf("dra", { "kubernetes.io/arch": "amd64" }));
    const collection = "/apis/resource.k8s.io/v1/resourceslices";
    const attributes = {
      type: { string: "gpu" },
      uuid: { string: "GPU-1" },
      productName: { string: "NVIDIA H100 80GB HBM3" },
      cudaComputeCapability: { version: "9.0.0" },
      driverVersion: { version: "570.124.6" },
      "resource.kubernetes.io/pciBusID": { string: "0000:65:00.0" },
    };
    const device = { name: "gpu-0", attributes, capacity: { memory: { value: "85520809984" } } };
    const publish = async (generation: number, name: string) => {
      const pool = { name: "dra", generation, resourceSliceCount: 1 };
      const spec = { driver: "gpu.nvidia.com", nodeName: "dra", pool, devices: [{ ...device, name }] };
      const slice = { apiVersion: "resource.k8s.io/v1", kind: "ResourceSlice", metadata: { name }, spec };
      const { status, body } = await cluster.call("POST", `${collection}?fieldValidation=Strict`, slice);
      expect([status, body.message]).toEqual([201, undefined]);
    };
    await publish(1, "gpu-7");
    await publish(2, "gpu-0");
    const lists = await Promise.all(["/api/v1/nodes", collection].map((path) => cluster.call("GET", path)));
    const read = await readHosts(lists.map(({ body }) => JSON.stringify(body)).join("\n"), "cluster.json");
    const { nvidia } = read.find(({ name }) => name === "dra")?.facts ?? {};
    expect(nvidia).toMatchObject({ driver: "570.124.06", gpus: [{ compute: "9.0", memoryMiB: 81559 }] });
    expect(nvidia?.gpus).toHaveLength(1);
  });

  describe("the mirror as a Pod, with the rights of its manifest alone", () => {
    const account = "system:serviceaccount:imgmatch:imgmatch-mirror";
    const before = factsIn(hostFile);
    const nvidia = before.nvidia && {
      ...before.nvidia,
      driver: "580.95.05",
      library: "580.95.05",
      cuda: "13.0",
    };
    const updated = { ...before, nvidia };
    const { problems } = factsIn("docs/examples/vision/hosts/mismatch.json");
    const imageKey = "imgmatch.dev/image.vision";

    beforeAll(async () => {
      for (const object of manifest) if (object.kind !== "DaemonSet") await create(cluster, object);
    });

    /** The Pod's account on this node; its kubelet would ask for the token so. */
    const tokenOn = async (nodeName: string) => {
      const pod = {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: `mirror-${nodeName}`, namespace: "imgmatch" },
      };
      const container = { name: "mirror", image: "imgmatch" };
      const serviceAccountName = "imgmatch-mirror";
      await cluster.call("POST", collectionOf(pod), {
        ...pod,
        spec: { nodeName, serviceAccountName, containers: [container] },
      });
      const { uid } = (await cluster.call("GET", `${collectionOf(pod)}/${pod.metadata.name}`)).body.metadata;
      const boundObjectRef = { apiVersion: "v1", kind: "Pod", name: pod.metadata.name, uid };
      const path = "/api/v1/namespaces/imgmatch/serviceaccounts/imgmatch-mirror/token";
      const kind = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" };
      const { body } = await cluster.call("POST", path, {
        ...kind,
        spec: { expirationSeconds: 3600, boundObjectRef },
      });
      return body.status.token as string;
    };

    it("may read and patch nodes and create their events, and nothing else", async () => {
      const can = async (verb: string, resource: string, namespace?: string) => {
        const spec = { user: account, resourceAttributes: { verb, resource, namespace } };
        const kind = { apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" };
        const path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
        return (await cluster.call("POST", path, { ...kind, spec })).body.status.allowed;
      };
      const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
      const allowed = (resource: string, namespace?: string) =>
        Promise.all(verbs.map((verb) => can(verb, resource, namespace))).then((answers) =>
          verbs.filter((_, index) => answers[index]),
        );
      expect(await allowed("nodes")).toEqual(["get", "patch"]);
      expect(await allowed("events", "default")).toEqual(["create"]);
      expect(await Promise.all([allowed("events", "imgmatch"), allowed("pods", "default")])).toEqual([
        [],
        [],
      ]);
    });

    it("may change imgmatch's own names on its own node, and nothing else there", async () => {
      for (const name of ["own", "another"]) {
        await create(cluster, nodeOf(name, { rack: "7" }));
        onTestFinished(async () => void (await cluster.call("DELETE", `/api/v1/nodes/${name}`)));
      }
      const token = await tokenOn("own");
      const patched = async (name: string, patch: object) => {
        const type = "application/merge-patch+json";
        const { status, body } = await cluster.call("PATCH", `/api/v1/nodes/${name}`, patch, type, token);
        return status === 200 ? 200 : body.message;
      };
      const annotations = { "imgmatch.dev/facts": "{}" };
      const own = { metadata: { labels: { "imgmatch.dev/driver": "1" }, annotations } };
      expect(await patched("own", own)).toBe(200);
      // A policy counts some moments after it was made.
      await expect.poll(() => patched("another", own)).toMatch(/the node is not the one of this Pod$/);
      for (const metadata of [
        { labels: { rack: "8" } },
        { labels: { rack: null } },
        { labels: { new: "1" } },
        { annotations: { new: "1" } },
      ])
        expect(await patched("own", { metadata })).toMatch(/below imgmatch.dev\/ may change$/);
      for (const change of [
        { spec: { unschedulable: true } },
        { metadata: { finalizers: ["example.com/never"] } },
        { metadata: { ownerReferences: [{ apiVersion: "v1", kind: "Node", name: "gone", uid: "1" }] } },
      ])
        expect(await patched("own", change)).toMatch(/only labels and annotations may change$/);
      expect(await patched("own", { metadata: { labels: { "imgmatch.dev/driver": null } } })).toBe(200);
    });

    it("keeps labels, facts and events of its node true: a driver update, a fleet update, a broken host", async () => {
      const theirs = { "kubernetes.io/hostname": "kept", "example.com/rack": "7" };
      await create(cluster, nodeOf("kept", { ...theirs, "imgmatch.dev/gpu.compute.8.0": "8" }));
      onTestFinished(async () => void (await cluster.call("DELETE", "/api/v1/nodes/kept")));
      const [{ cluster: server }] = JSON.parse(readFileSync(cluster.kubeconfig, "utf8")).clusters;
      const lockText = readFileSync(lockFile, "utf8");
      const folder = makeFolder({
        "account/token": await tokenOn("kept"),
        "account/ca.crt": readFileSync(server["certificate-authority"], "utf8"),
        "host.json": formatHostFacts(before),
        "lock.json": lockText,
      });
      const flags = ["--label-node", "kept", "--label-every", "1", "--service-account", "account"];
      const { hostname, port } = new URL(server.server);
      const mirror = await startServe([...flags, "--host", "host.json", "--lock", "lock.json"], {
        cwd: folder,
        env: { ...process.env, KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
      });
      onTestFinished(async () => void (await mirror.stop()));

      const labels = async () => (await cluster.call("GET", "/api/v1/nodes/kept")).body.metadata.labels;
      const events = async (): Promise<readonly string[]> => {
        const { body } = await cluster.call("GET", "/api/v1/namespaces/default/events");
        return body.items
          .filter((event: { involvedObject: { name: string } }) => event.involvedObject.name === "kept")
          .map(({ type, reason, message }: Record<string, string>) => `${type} ${reason} ${message}`);
      };
      const facts = async () => {
        const { body } = await cluster.call("GET", "/api/v1/nodes");
        return (await readHosts(JSON.stringify(body), "nodes.json")).find(({ name }) => name === "kept")
          ?.facts;
      };
      const metric = async (name: string) => {
        const text = await (await fetch(`http://${mirror.address}/metrics`)).text();
        return Number(new RegExp(`^${name} (.+)$`, "m").exec(text)?.[1]);
      };
      const shows = async (host: HostFacts, lock: Lock) => {
        const own = await labelsOf(host, lock);
        // An interval, and what a busy machine adds.
        await expect.poll(labels, { interval: 50 }).toEqual({ ...theirs, ...own });
        expect(await facts()).toEqual(idle(host));
        return own[imageKey];
      };
      const told = (event: string) =>
        expect.poll(events, { interval: 50 }).toContainEqual(expect.stringContaining(event));

      const first = await shows(before, visionLock);
      await told(`Normal ImageChosen vision: ${first}`);

      writeFileSync(join(folder, "host.json"), formatHostFacts(updated));
      const second = await shows(updated, visionLock);
      expect(second).not.toBe(first);
      await told(`Normal ImageChosen vision: ${second}`);

      const newText = lockText.replaceAll('"1.4.0', '"1.5.0');
      writeFileSync(join(folder, "lock.json"), newText);
      const third = await shows(updated, parseLock(newText, "lock.json"));
      expect(third).toMatch(/^1\.5\.0-/);
      await told(`Normal ImageChosen vision: ${third}`);

      // Kubernetes replaces the token; for a while this one is none.
      writeFileSync(join(folder, "account/token"), "no token");
      await expect.poll(() => metric("imgmatch_node_labels_failures_total")).toBeGreaterThan(0);
      expect(mirror.log.at(-1)).toMatchObject({ message: expect.stringContaining("answered 401 to GET") });
      const broken = { ...updated, problems };
      writeFileSync(join(folder, "host.json"), formatHostFacts(broken));
      writeFileSync(join(folder, "account/token"), await tokenOn("kept"));
      expect(await shows(broken, parseLock(newText, "lock.json"))).toBeUndefined();
      await told("Warning NoImageFits vision: HOST_BROKEN: ");
      expect(await metric('imgmatch_node_image_chosen\\{fleet="vision"\\}')).toBe(0);

      // Two rounds later nothing is written or told again.
      const lastAt = await metric("imgmatch_node_labels_true_timestamp_seconds");
      const { resourceVersion } = (await cluster.call("GET", "/api/v1/nodes/kept")).body.metadata;
      await expect
        .poll(() => metric("imgmatch_node_labels_true_timestamp_seconds"), { timeout: 30_000 })
        .toBeGreaterThan(lastAt + 1.5);
      expect((await cluster.call("GET", "/api/v1/nodes/kept")).body.metadata.resourceVersion).toBe(
        resourceVersion,
      );
      expect(await events()).toHaveLength(4);
      expect(await mirror.stop()).toBe(0);
    });
  });

  describe("the scheduler and the controllers", needs(whyNoScheduler), () => {
    const gpuHost = factsIn(hostFile);
    const cpuHost = factsIn("docs/examples/vision/hosts/laptop.json");

    beforeAll(async () => {
      await Promise.all(hosts.map(([name, host]) => create(cluster, factsNodeOf(name, host))));
      // A node that says nothing about itself is nobody's.
      await create(cluster, nodeOf("silent", {}));
    });

    const namespaceOf = async (name: string) => {
      await create(cluster, { apiVersion: "v1", kind: "Namespace", metadata: { name }, spec: {} });
      return name;
    };
    /** The fleet as it is printed, in a namespace of its own, after all nodes have their labels from outside. */
    const startFleet = async (name: string, lock: Lock, ...args: readonly string[]) => {
      await labelFromOutside(cluster, lock);
      const { objects } = await fleetOf(lock, "--set", `namespace=${await namespaceOf(name)}`, ...args);
      await Promise.all(objects.map((object) => create(cluster, object)));
      return objects;
    };

    const fleets: readonly (readonly [string, () => Promise<Lock>])[] = [
      // All 58 images take the controller a minute.
      ["this repository's matrix", isLong ? ownLock : async () => onlyMarch(await ownLock(), "x86-64-v3")],
      ["every kind of driver", async () => mixedLock],
      ...randomLocks(rounds(1, 3)).map((lock, index) => [`random lock ${index}`, async () => lock] as const),
    ];

    it.each(fleets)("run as DaemonSets exactly what resolve picks: %s", async (name, lockOf) => {
      const lock = await lockOf();
      const expected = wanted(lock);
      expect(new Set(Object.values(expected).flat()).size).toBeGreaterThan(1);
      const namespace = name.replace(/[^a-z0-9]+/g, "-");
      await startFleet(namespace, lock);
      await daemonSetsSettle(cluster, namespace, Object.keys(expected).length);
      expect(await placements(cluster, namespace)).toEqual(expected);
      await removeDaemonSets(cluster, namespace);
    });

    it("find each pod of a fleet fit for the nodes on which resolve picks its image, and for no other", async () => {
      const namespace = await namespaceOf("pods");
      await labelFromOutside(cluster, visionLock);
      const { objects } = await fleetOf(visionLock, "--set", "kind=pod", "--set", `namespace=${namespace}`);
      // Real machines and random ones: one of three, as each is asked about each image.
      const some = hosts.filter((_, index) => index % 3 === 0);
      const copies = some.flatMap(([node]) =>
        objects.map(({ metadata, spec, ...pod }, index) => ({
          ...pod,
          metadata: { ...metadata, name: `${index}-${node}` },
          spec: { ...spec, nodeSelector: { ...spec.nodeSelector, "kubernetes.io/hostname": node } },
        })),
      );
      await Promise.all(copies.map((pod) => create(cluster, pod)));
      const placed: Record<string, string[]> = {};
      for (const { metadata, spec } of await decidedPods(cluster, namespace, copies.length)) {
        if (spec.nodeName === undefined) continue;
        placed[spec.nodeName] = [...(placed[spec.nodeName] ?? []), metadata.annotations[tagKey]];
      }
      expect(placed).toEqual(wanted(visionLock, some));
    });

    it("bring the mirror to every node, whatever it is kept for", async () => {
      const namespace = await namespaceOf("mirror");
      const taint = (effect: string) => ({ key: "example.com/reserved", value: "yes", effect });
      const kept = ["NoSchedule", "NoExecute"];
      for (const effect of kept)
        await create(cluster, nodeOf(`kept-${effect.toLowerCase()}`, {}, { taints: [taint(effect)] }));
      const object = manifest.find(({ kind }) => kind === "DaemonSet");
      await create(cluster, { ...object, metadata: { ...object.metadata, namespace } });
      const { body } = await cluster.call("GET", "/api/v1/nodes");
      const nodes = body.items.map((node: { metadata: { name: string } }) => node.metadata.name);
      expect(nodes).toContain("kept-noexecute");
      await daemonSetsSettle(cluster, namespace, nodes.length);
      const pods = await decidedPods(cluster, namespace, nodes.length);
      expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(nodes.sort());
      await removeDaemonSets(cluster, namespace);
    });

    it("keep a workload of the plain tag to the nodes for which resolve has an image", async () => {
      const namespace = "served";
      await startFleet(namespace, visionLock, "--set", "image=plain");
      const served = Object.keys(wanted(visionLock));
      expect(served.length).toBeLessThan(hosts.length);
      await daemonSetsSettle(cluster, namespace, served.length);
      const pods = await decidedPods(cluster, namespace, served.length);
      expect(pods.map(({ spec }) => spec.nodeName).sort()).toEqual(served.sort());
      await removeDaemonSets(cluster, namespace);
    });

    it("run a Job of a fleet on a node of its image, and leave one pending that has none", async () => {
      const objects = await startFleet("jobs", visionLock, "--task", "batch");
      const tags = new Map(objects.map(({ metadata }) => [metadata.name, metadata.annotations?.[tagKey]]));
      const expected = wanted(visionLock);
      for (const { metadata, spec } of await decidedPods(cluster, "jobs", objects.length)) {
        const tag = tags.get(metadata.labels["batch.kubernetes.io/job-name"]) ?? "";
        const nodes = Object.keys(expected).filter((node) => expected[node]?.includes(tag));
        if (nodes.length === 0) expect([tag, spec.nodeName]).toEqual([tag, undefined]);
        else expect(nodes).toContain(spec.nodeName);
      }
    });

    it("bring a Deployment for one host to nodes that advertise the same image", async () => {
      const namespace = await namespaceOf("single");
      await labelFromOutside(cluster, visionLock);
      const argv = ["launch", "kubernetes", "--lock", lockFile, "--host", hostFile, "--gpus", "1"];
      const text = await imgmatchPrints([...argv, "--task", "service", "--set", `namespace=${namespace}`]);
      const [object] = parseAllDocuments(text).map((each) => each.toJS());
      await create(cluster, { ...object, spec: { ...object.spec, replicas: 20 } });
      const tag = object.metadata.annotations[tagKey];
      const expected = wanted(visionLock);
      for (const { spec } of await decidedPods(cluster, namespace, 20))
        expect([spec.nodeName, expected[spec.nodeName]]).toEqual([spec.nodeName, [tag]]);
    });

    it("run two versions and two pins of one fleet side by side, and take labels away with a question", async () => {
      const next = parseLock(readFileSync(lockFile, "utf8").replaceAll('"1.4.0', '"1.5.0'), lockFile);
      const asked = [
        [visionLock, "3.11"],
        [visionLock, "3.12"],
        [next, "3.12"],
      ] as const;
      for (const [lock, python] of asked) await labelFromOutside(cluster, lock, "--pin", `python=${python}`);
      const expected = asked.map(([lock, python]) => wanted(lock, hosts, { python }));
      const found: Placements[] = [];
      for (const [index, [lock, python]] of asked.entries()) {
        const namespace = await namespaceOf(`question-${index}`);
        const { objects } = await fleetOf(
          lock,
          "--pin",
          `python=${python}`,
          "--set",
          `namespace=${namespace}`,
        );
        await Promise.all(objects.map((object) => create(cluster, object)));
        await daemonSetsSettle(cluster, namespace, Object.keys(expected[index] ?? {}).length);
        found.push(await placements(cluster, namespace));
      }
      expect(found).toEqual(expected);
      expect(Object.keys(expected[0] ?? {}).length).toBeGreaterThan(30);

      // What is asked for the first time changes nodes, and the same question again none.
      expect(await labelFromOutside(cluster, next, "--pin", "python=3.12")).toBe(0);
      const removed = await labelFromOutside(cluster, next, "--pin", "python=3.12", "--remove");
      expect(removed).toBe(Object.keys(expected[2] ?? {}).length);
      await until("the canary is gone", async () =>
        isDeepStrictEqual(await placements(cluster, "question-2"), {}),
      );
      expect(await placements(cluster, "question-1")).toEqual(expected[1]);
      for (const index of asked.keys()) await removeDaemonSets(cluster, `question-${index}`);
    });

    it("follow the nodes: GPUs behind their taint, and a driver that is gone", async () => {
      const taint = (key: string) => ({ taints: [{ key, value: "present", effect: "NoSchedule" }] });
      await create(cluster, factsNodeOf("changing", gpuHost));
      await create(cluster, factsNodeOf("losing", gpuHost));
      await create(cluster, factsNodeOf("tainted-gpu", gpuHost, taint("nvidia.com/gpu")));
      await create(cluster, factsNodeOf("tainted-cpu", cpuHost, taint("nvidia.com/gpu")));
      await create(cluster, factsNodeOf("tainted-other", gpuHost, taint("example.com/reserved")));
      const added = ["changing", "losing", "tainted-gpu"].map((name) => [name, gpuHost] as const);
      const expected = wanted(visionLock, [...hosts, ...added]);
      await startFleet("example", visionLock);
      await daemonSetsSettle(cluster, "example", Object.keys(expected).length);
      expect(await placements(cluster, "example")).toEqual(expected);

      const { problems } = factsIn("docs/examples/vision/hosts/mismatch.json");
      for (const [name, host] of [
        ["changing", cpuHost],
        ["losing", { ...gpuHost, problems }],
      ] as const) {
        const { annotations } = factsNodeOf(name, host).metadata;
        const patch = { metadata: { annotations } };
        await cluster.call("PATCH", `/api/v1/nodes/${name}`, patch, "application/merge-patch+json");
      }
      expect(await labelFromOutside(cluster, visionLock)).toBe(2);
      const { changing } = wanted(visionLock, [["changing", cpuHost]]);
      expect(changing).not.toEqual(expected.changing);
      await until("the other image is there, and none where the driver is gone", async () => {
        const placed = await placements(cluster, "example");
        return isDeepStrictEqual(placed.changing, changing) && placed.losing === undefined;
      });
      const { body } = await cluster.call("GET", "/api/v1/nodes/losing");
      const left = Object.keys(body.metadata.labels).filter((key) => /\/(image|device)\./.test(key));
      expect(left).toEqual([]);
    });
  });
});

/** The present use of its GPUs is left out. */
function idle({ nvidia, ...rest }: HostFacts): HostFacts {
  const use = { processes: null, memoryMiB: null };
  return { ...rest, nvidia: nvidia && { ...nvidia, gpus: nvidia.gpus.map((gpu) => ({ ...gpu, use })) } };
}

function onlyMarch(lock: Lock, march: string): Lock {
  const images = Object.entries(lock.images).filter(([, { axes }]) => axes.march === march);
  return { ...lock, images: Object.fromEntries(images) };
}
