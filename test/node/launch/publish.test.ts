import { describe, expect, it } from "vitest";
import { launchTargets } from "../../../src/node/launch/launch-targets.ts";
import type { Json, LaunchRequest, LaunchTarget } from "../../../src/node/launch/target.ts";
import { kubernetes } from "../../../src/node/launch/targets/kubernetes.ts";
import { marathon } from "../../../src/node/launch/targets/mesos-frameworks.ts";
import { workloadOf } from "../../../src/node/launch/workload.ts";
import { gpuModes } from "./support/requests.ts";

const request: LaunchRequest = { ...gpuModes["no GPU"], args: [], task: "service" };
const portsOf = (target: LaunchTarget, ...publish: string[]) => workloadOf(target, {}, { publish }).ports;
const documents = (target: LaunchTarget, more: Partial<LaunchRequest>) => {
  const output = target.launch({ ...request, ...more });
  // biome-ignore lint/suspicious/noExplicitAny: differs by kind
  return (output.form === "documents" ? output.documents : []) as any[];
};

describe("--publish", () => {
  it("is a port of the host and one of the container, or one number for both", () => {
    expect(portsOf(kubernetes, "8888", "80:8080", "53:53/udp", "53:53/tcp")).toEqual([
      { host: 8888, container: 8888, protocol: "tcp" },
      { host: 80, container: 8080, protocol: "tcp" },
      { host: 53, container: 53, protocol: "udp" },
      { host: 53, container: 53, protocol: "tcp" },
    ]);
  });

  it.each(["0", "65536", "80:", ":80", "80:0", "127.0.0.1:80:80", "80-90:80-90", "80/sctp", "http", ""])(
    "refuses %j",
    (text) => expect(() => portsOf(kubernetes, text)).toThrow(/^USAGE: --publish .*is not HOST:CONTAINER/),
  );

  it("refuses a port of the host that is given twice", () => {
    expect(() => portsOf(kubernetes, "80:8080", "80:9090")).toThrow("--publish gives 80/tcp twice");
  });

  it("is refused by the targets that publish none, each with its reason", () => {
    const refused = Object.values<LaunchTarget>(launchTargets).flatMap((target) => {
      try {
        portsOf(target, "8888");
        return [];
      } catch (error) {
        expect(String(error)).toMatch(`LAUNCH_UNSUPPORTED: ${target.name} cannot publish 8888: `);
        return [target.name];
      }
    });
    expect(refused.sort()).toEqual(["apptainer", "chronos", "mesos", "slurm", "zun"]);
  });

  it("is the agent's own port on Marathon", () => {
    const [app] = documents(marathon, { ports: portsOf(marathon, "8888") ?? [] });
    expect(app).toMatchObject({ portDefinitions: [{ port: 8888, protocol: "tcp" }], requirePorts: true });
    expect(() => documents(marathon, { ports: portsOf(marathon, "80:8080") ?? [] })).toThrow(
      /marathon cannot publish 80:8080/,
    );
  });
});

describe("a Service of Kubernetes", () => {
  const ports = portsOf(kubernetes, "80:8080", "53/udp") ?? [];
  const selects = (service: { spec: { selector: object } }, labels: Json) =>
    expect(labels).toMatchObject(service.spec.selector);

  it.each(["pod", "job", "deployment", "daemonset"])("leads to the ports of a %s", (kind) => {
    const task = kind === "job" ? "batch" : "service";
    const [workload, service] = documents(kubernetes, { ports, task, settings: { kind } });
    expect(service).toMatchObject({
      kind: "Service",
      metadata: { name: workload.metadata.name },
      spec: {
        ports: [
          { port: 80, targetPort: 8080, protocol: "TCP" },
          { port: 53, targetPort: 53, protocol: "UDP" },
        ],
      },
    });
    const pod = kind === "pod" ? workload : workload.spec.template;
    selects(service, pod.metadata.labels);
    expect(pod.spec.containers[0].ports).toEqual([
      { containerPort: 8080, protocol: "TCP" },
      { containerPort: 53, protocol: "UDP" },
    ]);
  });

  it("is one for all workloads of a fleet", () => {
    const launches = ["app-a", "app-b"].map((name) => ({ ...request, name, ports }));
    // biome-ignore lint/suspicious/noExplicitAny: differs by kind
    const all = kubernetes.fleet(launches, "app") as any[];
    expect(all.map(({ kind, metadata }) => [kind, metadata.name])).toEqual([
      ["DaemonSet", "app-a"],
      ["DaemonSet", "app-b"],
      ["Service", "app"],
    ]);
    for (const { spec } of all.slice(0, 2)) selects(all[2], spec.template.metadata.labels);
  });

  it("is absent without ports", () => {
    expect(documents(kubernetes, {})).toHaveLength(1);
  });
});
