import { describe, expect, it } from "vitest";
import type { HostFacts } from "../../src/facts/facts.ts";
import { diagnose, type EngineState, type Finding, type LoginState } from "../../src/node/diagnose.ts";
import { a100, amdHost, cpuHost, gpuHost, mi300x } from "../resolve/support/hosts.ts";

const notFound = { code: "ENGINE_NOT_FOUND", message: "no container engine", fix: "install one" } as const;
const noEngine: EngineState = {
  answer: { ok: false, problem: notFound },
  configured: false,
  command: null,
};
const engine: EngineState = {
  answer: {
    ok: true,
    name: "docker 28.2.2",
    shown: "unix:///var/run/docker.sock",
    platform: "linux/amd64",
    nvidiaRuntime: false,
  },
  configured: false,
  command: "/usr/bin/docker",
};
const noLogins: LoginState = {
  registries: [],
  missingHelpers: [],
  store: null,
  path: "/root/.docker/config.json",
  problem: null,
};

type Arguments = Parameters<typeof diagnose>;
const examine = (...[host, state, logins]: Partial<Arguments>) =>
  diagnose(host ?? cpuHost(), state ?? engine, logins ?? noLogins);
const find = (findings: readonly Finding[], check: string) =>
  findings.filter((finding) => finding.check === check);

describe("diagnose", () => {
  it("finds nothing wrong with a CPU node without an engine", () => {
    const findings = examine(cpuHost({ amd: null }), noEngine);
    expect(findings.map(({ state }) => state)).toEqual(findings.map(() => "ok"));
    expect(find(findings, "engine")[0]?.message).toContain("none here");
    expect(find(findings, "nvidia")[0]?.message).toContain("neither device nor driver");
    expect(find(findings, "runtime")).toEqual([]);
  });

  it("takes an engine that somebody configured and that is not there for a problem", () => {
    const [finding] = find(examine(cpuHost(), { ...noEngine, configured: true }), "engine");
    expect(finding).toMatchObject({ state: "problem", code: "ENGINE_NOT_FOUND", fix: "install one" });
  });

  it("repeats every problem of the host with its cure", () => {
    const broken = { code: "HOST_GPU_LOST", message: "GPU 0 has fallen off", fix: "power-cycle" } as const;
    const findings = diagnose(
      gpuHost([a100], "570.124.06", "12.8", { problems: [broken] }),
      engine,
      noLogins,
    );
    expect(find(findings, "host")).toEqual([{ check: "host", state: "problem", ...broken }]);
  });

  it("names AMD's driver, its GPUs and the device files that this user may not open", () => {
    const host = amdHost([mi300x, { ...mi300x, partition: "CPX", target: null }], "6.14.14", {
      runtime: { nvidia: "none", amd: "cdi" },
    });
    const lines = (facts: HostFacts, closed: readonly string[] = []) =>
      diagnose(facts, engine, noLogins, closed)
        .filter(({ check }) => /^(nvidia|amd|gpu|runtime)$/.test(check))
        .map(({ check, state, message }) => `${state} ${check} ${message}`);
    expect(lines(host, ["/dev/dri/renderD130"])).toEqual([
      "ok nvidia neither device nor driver",
      "ok amd driver 6.14.14",
      "ok gpu 0: AMD Instinct MI300X, gfx942",
      "unknown gpu 1: AMD Instinct MI300X, target unknown, a partition (CPX)",
      "unknown gpu this user may not open /dev/dri/renderD130: ROCm leaves that GPU out",
      "ok runtime containers get the AMD GPUs through CDI",
    ]);
    const own = { driver: null, gpus: host.amd?.gpus.slice(0, 1) ?? [] };
    const inTree = { ...host, amd: own, sources: { "amd.driver": "/sys/module/amdgpu" } };
    expect(lines(inTree)).toContain("ok amd the kernel's own driver, which has no version");
    expect(lines({ ...host, amd: own })).toContain("unknown amd a device is there, its driver is unknown");
    const denied = {
      code: "HOST_AMD_NO_PERMISSION",
      message: "no permission for /dev/kfd",
      fix: "join",
    } as const;
    const shut = diagnose({ ...inTree, problems: [denied] }, engine, noLogins, [
      "/dev/kfd",
      "/dev/dri/renderD128",
    ]);
    expect(shut.map(({ message }) => message)).toContain(
      "this user may not open /dev/kfd, /dev/dri/renderD128",
    );
    expect(find(shut, "host")).toEqual([{ check: "host", state: "problem", ...denied }]);
    expect(find(examine(cpuHost()), "amd")[0]?.state).toBe("unknown");
  });

  it("calls unknown what cannot be read", () => {
    const blind = cpuHost({ kernel: null, cpu: { vendor: null, model: null, features: null, level: null } });
    const findings = examine(blind);
    expect(find(findings, "cpu")[0]?.state).toBe("unknown");
    expect(find(findings, "kernel")[0]?.state).toBe("unknown");
    const unknownGpu = gpuHost([{ ...a100, compute: null }], "570.124.06");
    expect(find(examine(unknownGpu), "gpu")[0]).toMatchObject({ state: "unknown" });
  });

  it("finds GPUs that no container can use", () => {
    const host = gpuHost([a100], "570.124.06", "12.8", { runtime: { nvidia: "none" } });
    expect(find(examine(host), "runtime")[0]).toMatchObject({ state: "problem", code: "LAUNCH_FAILED" });
    const answer = {
      ...engine.answer,
      ...(engine.answer.ok ? { nvidiaRuntime: true } : {}),
    } as EngineState["answer"];
    expect(find(examine(host, { ...engine, answer }), "runtime")[0]).toMatchObject({ state: "ok" });
    const unseen = gpuHost([a100], "570.124.06", "12.8", { runtime: { nvidia: null } });
    expect(find(examine(unseen, noEngine), "runtime")[0]).toMatchObject({ state: "unknown" });
  });

  it("says what becomes of a forward-compatibility package", () => {
    const told = (runtime: HostFacts["runtime"]) =>
      find(examine(gpuHost([a100], "570.124.06", "12.8", { runtime })), "runtime")[0]?.message;
    expect(told({ nvidia: "legacy", toolkit: "1.17.8", compat: "ldconfig" })).toBe(
      "containers get the GPUs through the NVIDIA runtime of toolkit 1.17.8; forward-compatibility packages: ldconfig",
    );
    expect(told({ nvidia: "cdi" })).toBe(
      "containers get the GPUs through CDI; what becomes of a forward-compatibility package is not known",
    );
  });

  it("misses the docker command only beside an engine", () => {
    expect(find(examine(cpuHost(), { ...engine, command: null }), "command")[0]?.state).toBe("problem");
    expect(find(examine(cpuHost(), noEngine), "command")).toEqual([]);
  });

  it("names the registries with logins, and helpers that are not installed", () => {
    const known = { ...noLogins, registries: ["ghcr.io", "registry.example.com"], store: "desktop" };
    expect(find(examine(cpuHost(), engine, known), "logins")[0]?.message).toBe(
      "ghcr.io, registry.example.com; docker-credential-desktop is asked",
    );
    const missing = { ...known, missingHelpers: ["desktop"] };
    expect(find(examine(cpuHost(), engine, missing), "logins")[0]).toMatchObject({
      state: "problem",
      code: "REGISTRY_AUTH",
    });
  });
});
