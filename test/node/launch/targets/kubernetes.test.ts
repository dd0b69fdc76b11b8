import { describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { kubernetes } from "../../../../src/node/launch/targets/kubernetes.ts";
import { gpuModes } from "../support/requests.ts";

const request: LaunchRequest = { ...gpuModes.CDI, args: [] };
const specOf = (change: Partial<LaunchRequest>) => {
  const output = kubernetes.launch({ ...request, ...change });
  const [document] = output.form === "documents" ? output.documents : [];
  // biome-ignore lint/suspicious/noExplicitAny: a Job
  return (document as any).spec.template.spec;
};
const mount = (source: string, target: string) => ({ source, target, readOnly: false });

describe("a launch on Kubernetes", () => {
  it.each<[string, Partial<LaunchRequest>, RegExp]>([
    ["two mounts to one path", { mounts: [mount("/a", "/x"), mount("/b", "/x")] }, /mount twice to \/x/],
    ["a mount of a path with ..", { mounts: [mount("/a/../b", "/x")] }, /path with \.\./],
    ["a mount to a path with a colon", { mounts: [mount("/a", "/x:y")] }, /colon/],
    ["a namespace that cannot be", { settings: { namespace: "Team_A" } }, /namespace "Team_A"/],
    ["a name that cannot be", { name: "Team_A" }, /name an object "Team_A"/],
    [
      "a batch that runs for ever",
      { settings: { kind: "deployment" }, task: "batch" },
      /run a batch as a deployment/,
    ],
    ["a service as a Job", { settings: { kind: "job" }, task: "service" }, /as a job/],
    ["a kind that is none", { settings: { kind: "cronjob" } }, /write a cronjob/],
  ])("refuses %s, as the API would", (_what, change, message) => {
    expect(() => specOf(change)).toThrow(message);
  });

  it("takes a path whose names begin with dots", () => {
    expect(specOf({ mounts: [mount("/srv/..data", "/x")] }).volumes).toHaveLength(1);
  });

  it("asks for a MIG profile with media extensions by the name of its resource", () => {
    const { host } = gpuModes.MIG;
    const gpus = (host.nvidia?.gpus ?? []).map((gpu) => ({
      ...gpu,
      mig: [{ uuid: `MIG-${gpu.index}`, profile: "1g.10gb+me" }],
    }));
    const nvidia = host.nvidia == null ? null : { ...host.nvidia, gpus };
    const [main] = specOf({ ...gpuModes.MIG, host: { ...host, nvidia } }).containers;
    expect(main.resources.limits).toEqual({ "nvidia.com/mig-1g.10gb.me": String(gpus.length) });
  });

  it("tolerates the taint of GPU nodes where it asks for GPUs, and only there", () => {
    const gpus = [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }];
    expect(specOf(gpuModes.CDI).tolerations).toEqual(gpus);
    expect(specOf(gpuModes.MIG).tolerations).toEqual(gpus);
    expect(specOf(gpuModes["no GPU"]).tolerations).toBeUndefined();
    expect(specOf(gpuModes.AMD).tolerations).toEqual([{ ...gpus[0], key: "amd.com/gpu" }]);
  });

  it("asks for AMD GPUs, or for partitions by the name that the user says", () => {
    const limits = (settings: LaunchRequest["settings"]) =>
      specOf({ ...gpuModes.AMD, settings: settings ?? {} }).containers[0].resources.limits;
    expect(limits({})).toEqual({ "amd.com/gpu": "2" });
    expect(limits({ resource: "amd.com/cpx_nps4" })).toEqual({ "amd.com/cpx_nps4": "2" });
    for (const resource of [
      "nvidia.com/gpu",
      "amd.com/",
      "cpx_nps4",
      "kubernetes.io/gpu",
      "A_B/gpu",
      "x/y/z",
    ])
      expect(() => limits({ resource })).toThrow(/LAUNCH_UNSUPPORTED.*amd\.com\/NAME/s);
  });

  it("asks for the resource of any other plugin, and tolerates its taint", () => {
    const resource = "aliyun.com/gpu-mem";
    const { containers, tolerations } = specOf({ settings: { resource } });
    expect(containers[0].resources.limits).toEqual({ [resource]: "2" });
    expect(tolerations).toEqual([{ key: resource, operator: "Exists", effect: "NoSchedule" }]);
  });

  it("runs an image that bundles its driver by a plugin that hands over devices alone", () => {
    const bundled = gpuModes["bundled driver"];
    for (const settings of [{}, { resource: "nvidia.com/gpu" }, { resource: "nvidia.com/gpu.shared" }])
      expect(() => specOf({ ...bundled, settings })).toThrow(
        /^LAUNCH_UNSUPPORTED: kubernetes cannot run the image: it bundles a driver, .*\n {2}fix: .*--set resource=DOMAIN\/NAME/,
      );
    const limits = specOf({ ...bundled, settings: { resource: "org.qnib/gpu" } }).containers[0].resources
      .limits;
    expect(limits).toEqual({ "org.qnib/gpu": "2" });
  });
});
