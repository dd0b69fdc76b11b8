import { describe, expect, it } from "vitest";
import { hasRuntime, isContainer } from "../../src/host/container-runtime.ts";
import type { HostIo } from "../../src/host/host-io.ts";

const container = (files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv = {}) =>
  isContainer({
    env,
    exists: (path: string) => Object.hasOwn(files, path),
    readText: (path: string) => files[path] ?? null,
  } as unknown as HostIo);

describe("a container", () => {
  const v2 = { "/proc/1/cgroup": "0::/init.scope\n" };
  const environ = { "/proc/1/environ": "PATH=/bin\0HOME=/\0" };

  it.each([
    ["Docker", { "/.dockerenv": "" }, {}],
    ["Podman", { "/run/.containerenv": "" }, {}],
    ["a pod", v2, { KUBERNETES_SERVICE_HOST: "10.0.0.1" }],
    ["Docker's cgroup", { "/proc/1/cgroup": "12:devices:/docker/0123\n" }, {}],
    ["LXC with systemd", { ...v2, "/run/systemd/container": "lxc\n" }, {}],
    ["LXC without systemd", { ...v2, "/proc/1/environ": "PATH=/bin\0container=lxc\0" }, {}],
  ])("is %s", (_, files, env) => {
    expect(container(files, env)).toBe(true);
  });

  it.each([
    ["a host", { ...v2, ...environ }],
    ["WSL2 with systemd", { ...v2, ...environ, "/run/systemd/container": "wsl\n" }],
    ["a host with a variable that ends alike", { ...v2, "/proc/1/environ": "my_container=x\0" }],
  ])("is not %s", (_, files) => {
    expect(container(files)).toBe(false);
  });
});

it("finds the nvidia runtime of docker, and none in a broken file", () => {
  expect(hasRuntime('{"runtimes":{"nvidia":{"path":"x"}}}', "nvidia")).toBe(true);
  expect(hasRuntime('{"runtimes":{}}', "nvidia")).toBe(false);
  expect(hasRuntime('{"runtimes":{"nvidia"', "nvidia")).toBe(false);
});
