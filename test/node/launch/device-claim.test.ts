import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { claimOf, plainWish, wishOf } from "../../../src/node/launch/device-claim.ts";
import { parseDevices } from "../../../src/node/launch/device-wish.ts";
import { servedDevices } from "../../../src/node/launch/fleet/served-devices.ts";
import { questionKeys } from "../../../src/node/launch/labels/image-labels.ts";
import { unitsOf } from "../../../src/node/launch/gpu-units.ts";
import { launch } from "../../../src/index.ts";
import type { Notice } from "../../../src/io/world.ts";
import { formatLock } from "../../../src/lock/format-lock.ts";
import type { Lock } from "../../../src/lock/lock.ts";
import { cuda, gpuImage, image, lockOf, rocm, rocmImage } from "../../resolve/support/locks.ts";
import { makeFolder } from "../../support/folders.ts";
import { visionLock } from "./support/fleet-locks.ts";
import { fleetOf } from "./support/kubernetes-objects.ts";
import { gpuModes } from "./support/requests.ts";

describe("--devices", () => {
  it("reads products, compute capabilities, targets, MIG profiles and memory, the best first", async () => {
    const wishes = await parseDevices(
      "1xB300, 2xH200:140GB,4x9.0,1x3g.40gb,8xMI300X,1xgfx90a,1xRTX 4090,2x80gb",
    );
    const read = wishes.map(({ count, kinds, migProfile, memoryGb }) => [
      count,
      kinds === null ? null : [...kinds].slice(0, 2),
      migProfile,
      memoryGb,
    ]);
    expect(read).toEqual([
      [1, ["10.3"], null, null],
      [2, ["9.0"], null, 140],
      [4, ["9.0"], null, null],
      [1, ["8.0", "8.6"], "3g.40gb", null],
      [8, ["gfx942"], null, null],
      [1, ["gfx90a"], null, null],
      [1, ["8.9"], null, null],
      [2, null, null, 80],
    ]);
  });

  it.each([
    ["B300", /is no number of devices of one kind/],
    ["0xB300", /is no number of devices of one kind/],
    ["33xB300", /is no number of devices of one kind/],
    ["1xH100:A100", /is no number of devices of one kind/],
    ["1xH1000", /names H1000, which is no GPU that imgmatch knows/],
    ["1xL4,1xL4", /names 1xL4 twice/],
    ["1x1g.5gb,1xA100,1xH100,1xH200,1xL4,1xL40,1xT4,1xV100,1xB200", /9 alternatives: 8 at most/],
  ])("refuses %s", async (text, message) => {
    await expect(parseDevices(text)).rejects.toThrow(message);
  });

  it("takes whole words of a product's name, between whatever the driver writes", async () => {
    const [h100] = await parseDevices("1xH100");
    const named = (name: string) => new RegExp(h100?.product ?? "^$", "i").test(name);
    expect(["NVIDIA H100 80GB HBM3", "nvidia_h100-pcie", "H100"].filter(named)).toHaveLength(3);
    expect(["NVIDIA GH100", "NVIDIA H1000"].filter(named)).toEqual([]);
  });
});

describe("a claim", () => {
  const celOf = (lock: Lock, cell: string) => {
    const serves = servedDevices(lock).get(cell) ?? [];
    return claimOf(serves, [plainWish(1)], cell)?.alternatives[0]?.cel;
  };

  it("asks for each attribute before it reads it, and compares versions as the driver writes them", () => {
    const fixed = cuda("9.2.148", ["sm_70"], { driver: { mode: "bundled", version: "396.44" } });
    expect(celOf(lockOf({ a: gpuImage(fixed) }), "a")).toBe(
      [
        'cel.bind(gpu, device.attributes["gpu.nvidia.com"],',
        '  "cudaComputeCapability" in gpu &&',
        '  "driverVersion" in gpu &&',
        '  gpu.cudaComputeCapability in [semver("7.0.0"), semver("7.5.0")] && gpu.driverVersion.compareTo(semver("396.44.0")) >= 0 && gpu.driverVersion.compareTo(semver("396.44.0")) <= 0)',
      ].join("\n"),
    );
    expect(celOf(lockOf({ a: rocmImage(["gfx1201"]) }), "a")).toMatch(
      /"deviceID" in gpu && gpu\.deviceID.*matches\("\^0x\(.*"productName" in gpu && gpu\.productName/s,
    );
  });

  it("of an image for both vendors takes the devices of either, NVIDIA's first", () => {
    const both = gpuImage(cuda("12.8.1", ["sm_80"]));
    const lock = lockOf({ a: { ...both, requires: { ...both.requires, rocm: rocm("7.2", ["gfx942"]) } } });
    const { alternatives = [] } = claimOf(servedDevices(lock).get("a") ?? [], [plainWish(1)], "a") ?? {};
    expect(alternatives.map(({ name, deviceClass }) => [name, deviceClass])).toEqual([
      ["nvidia-gpu", "gpu.nvidia.com"],
      ["amd-gpu", "gpu.amd.com"],
    ]);
  });

  it("takes MIG instances by their profile, of one kind alone", () => {
    const { host } = gpuModes.MIG;
    const serves = servedDevices(lockOf({ a: gpuImage(cuda("12.8.1", ["sm_80"])) })).get("a") ?? [];
    const [claimed] = claimOf(serves, [wishOf(unitsOf(host))], "a")?.alternatives ?? [];
    expect(claimed).toMatchObject({ deviceClass: "mig.nvidia.com", count: 2 });
    expect(claimed?.cel).toContain('"profile" in gpu && gpu.profile == "3g.20gb"'.replace(" && ", " &&\n  "));
    const mixed = [...unitsOf(host), ...unitsOf(gpuModes.CDI.host)];
    expect(() => wishOf(mixed)).toThrow(/different kinds for one container: 3g\.20gb, whole GPUs/);
  });

  it("is within Kubernetes' length for code that runs on every target of AMD", () => {
    expect(celOf(lockOf({ a: rocmImage(["amdgcnspirv"]) }), "a")?.length).toBeLessThan(10_240);
  });

  const ask = (lock: Lock, change: Partial<Parameters<typeof launch>[0]>) => {
    const lockFile = join(makeFolder({ "lock.json": formatLock(lock) }), "lock.json");
    return launch({ target: "kubernetes", lock: lockFile, ...change });
  };
  const small = lockOf({ a: gpuImage(cuda("12.8.1", ["sm_80"])), b: image() });

  it.each<[string, Partial<Parameters<typeof launch>[0]>, RegExp]>([
    ["another target", { target: "nomad", dra: true, fleet: true }, /nomad cannot claim devices/],
    ["a DaemonSet", { dra: true, fleet: true, set: ["kind=daemonset"] }, /whose pods would wait/],
    ["devices and a number", { devices: "1xA100", gpus: "2", fleet: true }, /exclude each other/],
    ["devices that no image serves", { devices: "1xB300,1xA100", fleet: true }, /serve 1xB300: no image/],
    ["the plain tag", { dra: true, fleet: true, set: ["image=plain"] }, /another image on each node/],
    [
      "the plain tag of one host",
      { set: ["image=plain"], hostType: "p4d.24xlarge", driver: ["570.172.08"] },
      /use --fleet/,
    ],
  ])("refuses %s", async (_what, change, message) => {
    await expect(ask(small, change)).rejects.toThrow(message);
  });

  it("of the plain tag says which nodes its request for GPUs cannot reach", async () => {
    const lock = lockOf({ a: gpuImage(cuda("12.8.1", ["sm_80"])), b: image(), c: rocmImage(["gfx942"]) });
    const notesOf = async (of: Lock, change: object) => {
      const notes: string[] = [];
      const onEvent = (event: Notice) => event.type === "note" && notes.push(event.text);
      await ask(of, { fleet: true, set: ["image=plain"], onEvent, ...change });
      return notes.filter((line) => line.startsWith("not reached"));
    };
    expect(await notesOf(lock, { gpus: "1" })).toEqual([
      "not reached: nodes with the image b, c, because the workload asks for GPUs of NVIDIA; leave --set image=plain out for a workload of each image",
    ]);
    expect(await notesOf(lock, { gpus: "1", pin: ["cuda=12.8.1"] })).toEqual([]);
    expect(await notesOf(lock, {})).toEqual([]);
  });

  it("of one host asks for its GPUs, or for devices that its image serves", async () => {
    const argv = { hostType: "p4d.24xlarge", driver: ["570.172.08"] };
    const requests = async (change: object) => {
      const answer = await ask(small, { ...argv, ...change });
      // biome-ignore lint/suspicious/noExplicitAny: a template
      const [template, job] = "documents" in (answer as object) ? ((answer as any).documents as any[]) : [];
      expect(job.spec.template.spec.nodeSelector).toEqual({
        [`imgmatch.dev/${questionKeys(small).image}`]: "a",
      });
      return template.spec.spec.devices;
    };
    const { requests: own, constraints } = await requests({ dra: true });
    expect(own[0].exactly).toMatchObject({ deviceClassName: "gpu.nvidia.com", count: 8 });
    expect(constraints).toEqual([{ requests: ["gpu"], matchAttribute: "gpu.nvidia.com/productName" }]);
    const several = await requests({ devices: "2xA100:80GB,4xA10" });
    expect(several.requests[0].firstAvailable.map(({ name, count }: never) => [name, count])).toEqual([
      ["2xa100-80gb", 2],
      ["4xa10", 4],
    ]);
    expect(several.constraints[1].requests).toEqual(["gpu/4xa10"]);
    await expect(requests({ devices: "1xH100" })).rejects.toThrow(/claim 1xH100 for a, which has no code/);
  });

  it("of a fleet stands before its Deployment, and images without GPU code have none", async () => {
    const { objects } = await fleetOf(small, "--dra");
    expect(objects.map(({ kind }) => kind)).toEqual(["ResourceClaimTemplate", "Deployment", "Deployment"]);
    const [template, workload] = objects;
    const { resourceClaims, containers } = workload?.spec.template.spec ?? {};
    expect(resourceClaims).toEqual([{ name: "gpu", resourceClaimTemplateName: template?.metadata.name }]);
    expect(containers[0].resources).toEqual({ claims: [{ name: "gpu" }] });
  });

  it("is shared by the containers of a pod", async () => {
    const sidecar = "registry.example.com/tools/exporter:1.0";
    const { objects } = await fleetOf(small, "--dra", "--set", `sidecar=${sidecar}`);
    const [, claiming, without] = objects.map(({ spec }) => spec.template?.spec);
    expect(claiming.resourceClaims).toHaveLength(1);
    expect(claiming.containers[0].resources).toEqual({ claims: [{ name: "gpu" }] });
    expect(claiming.initContainers).toEqual([
      {
        ...{ name: "sidecar", image: sidecar },
        ...{ restartPolicy: "Always", resources: { claims: [{ name: "gpu" }] } },
      },
    ]);
    // An image without GPU code has no devices to share.
    expect(without).not.toHaveProperty("initContainers");
    await expect(fleetOf(small, "--set", `sidecar=${sidecar}`)).rejects.toThrow(
      /without a claim[\s\S]*--dra/,
    );
    await expect(fleetOf(small, "--dra", "--set", "sidecar=http://x")).rejects.toThrow(/REFERENCE_INVALID/);
  });
});

describe("--set image=plain", () => {
  it("writes what docs/launch/served-nodes.yaml shows, with the version's own label", async () => {
    const shown = parseAllDocuments(readFileSync("docs/launch/served-nodes.yaml", "utf8"))[0]?.toJS();
    const { objects } = await fleetOf(visionLock, "--set", "image=plain");
    expect(objects.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([["DaemonSet", "vision"]]);
    const { affinity, containers } = objects[0]?.spec.template.spec ?? {};
    const asked = JSON.stringify(shown.spec.template.spec.affinity);
    const { image: key } = questionKeys(visionLock);
    expect(JSON.stringify(affinity)).toBe(asked.replace("image.vision", key));
    expect(containers).toEqual(shown.spec.template.spec.containers);
    const amd = await fleetOf(lockOf({ a: rocmImage(["gfx942"]) }), "--set", "image=plain", "--gpus", "2");
    const [main] = amd.objects[0]?.spec.template.spec.containers ?? [];
    expect(main.resources).toEqual({ limits: { "amd.com/gpu": "2" } });
  });
});
