import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type EndpointIo, findEndpoint, parseEndpoint } from "../../../src/oci/engine/engine-endpoint.ts";
import type { Environment } from "../../../src/io/world.ts";

function disk(files: Readonly<Record<string, string>>, system: NodeJS.Platform = "linux"): EndpointIo {
  const paths = Object.keys(files);
  return {
    system,
    readText: async (path) => files[path] ?? null,
    exists: async (path) => paths.some((one) => one === path || one.startsWith(`${path}/`)),
  };
}

const context = (name: string, endpoint: object, extra: Readonly<Record<string, string>> = {}) => {
  const id = createHash("sha256").update(name).digest("hex");
  const meta = JSON.stringify({ Name: name, Endpoints: { docker: endpoint } });
  const more = Object.entries(extra).map(([file, text]) => [
    `/h/.docker/contexts/tls/${id}/docker/${file}`,
    text,
  ]);
  return { [`/h/.docker/contexts/meta/${id}/meta.json`]: meta, ...Object.fromEntries(more) };
};
const current = (name: string) => ({
  "/h/.docker/config.json": JSON.stringify({ currentContext: name, auths: {} }),
});
const system = { "/var/run/docker.sock": "" };

async function shown(env: Environment, files: Readonly<Record<string, string>>): Promise<string> {
  const { shown, source } = await findEndpoint({ HOME: "/h", ...env }, disk(files));
  return `${source}: ${shown}`;
}

describe("where the engine is", () => {
  it.each<[string, Environment, Readonly<Record<string, string>>, string]>([
    ["the system's socket", {}, system, "default: unix:///var/run/docker.sock"],
    [
      "a rootless engine",
      { XDG_RUNTIME_DIR: "/run/user/7" },
      { "/run/user/7/docker.sock": "" },
      "default: unix:///run/user/7/docker.sock",
    ],
    [
      "Docker Desktop",
      {},
      { "/h/.docker/run/docker.sock": "" },
      "default: unix:///h/.docker/run/docker.sock",
    ],
    ["an empty DOCKER_HOST", { DOCKER_HOST: "" }, system, "default: unix:///var/run/docker.sock"],
    [
      "DOCKER_HOST before contexts",
      { DOCKER_HOST: "tcp://a:1", DOCKER_CONTEXT: "x" },
      { ...system, ...current("y") },
      "DOCKER_HOST: tcp://a:1",
    ],
    [
      "the current context",
      {},
      { ...system, ...current("far"), ...context("far", { Host: "tcp://far:2376" }) },
      "docker context far: tcp://far:2376",
    ],
    [
      "DOCKER_CONTEXT before the current one",
      { DOCKER_CONTEXT: "b" },
      { ...current("a"), ...context("b", { Host: "unix:///b" }) },
      "docker context b: unix:///b",
    ],
    [
      "the context named default",
      { DOCKER_CONTEXT: "default" },
      { ...system, ...current("a") },
      "default: unix:///var/run/docker.sock",
    ],
  ])("finds %s", async (_, env, files, expected) => {
    expect(await shown(env, files)).toBe(expected);
  });

  it("takes a context's certificates", async () => {
    const files = {
      ...current("far"),
      ...context("far", { Host: "tcp://far:2376", SkipTLSVerify: true }, { "ca.pem": "x" }),
    };
    const found = await findEndpoint({ HOME: "/h" }, disk(files));
    expect(found).toMatchObject({ kind: "tcp", host: "far", port: 2376, tls: { verify: false } });
  });

  it.each<[Environment, object]>([
    [{}, { port: 2375, tls: null }],
    [{ DOCKER_TLS_VERIFY: "1" }, { port: 2376, tls: { folder: "/h/.docker", verify: true } }],
    [
      { DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: "/c" },
      { port: 2376, tls: { folder: "/c", verify: true } },
    ],
    [{ DOCKER_CERT_PATH: "/c" }, { port: 2376, tls: { folder: "/c", verify: false } }],
  ])("reads %j", async (env, expected) => {
    expect(await findEndpoint({ HOME: "/h", DOCKER_HOST: "tcp://e", ...env }, disk({}))).toMatchObject(
      expected,
    );
  });

  it.each<[string, object]>([
    ["tcp://[::1]:99", { host: "::1", port: 99 }],
    ["http://e:80", { host: "e", port: 80, tls: null }],
    ["https://e", { host: "e", port: 2376, tls: { folder: "", verify: true } }],
    ["npipe:////./pipe/docker_engine", { kind: "socket", path: "\\\\.\\pipe\\docker_engine" }],
  ])("reads %s", (address, expected) => {
    expect(parseEndpoint(address, "test", null)).toMatchObject(expected);
  });

  it.each<[string, RegExp]>([
    ["ssh://me@far", /ssh -nNT -L .*:\/var\/run\/docker.sock me@far/],
    ["unix://relative.sock", /not the address of an engine/],
    ["/var/run/docker.sock", /use unix:\/\//],
    ["tcp://", /no host and port/],
    ["tcp://e:70000", /no host and port/],
    ["tcp://e:1/path", /no host and port/],
    ["fd://", /not the address/],
  ])("refuses %s with the fix", (address, message) => {
    expect(() => parseEndpoint(address, "DOCKER_HOST", null)).toThrow(message);
    expect(() => parseEndpoint(address, "DOCKER_HOST", null)).toThrow(
      expect.objectContaining({ code: "ENGINE_UNREACHABLE" }),
    );
  });

  it.each<[string, Readonly<Record<string, string>>, string, RegExp]>([
    [
      "nothing installed",
      {},
      "ENGINE_NOT_FOUND",
      /none of \/var\/run\/docker.sock, .*apt-get install docker.io/s,
    ],
    [
      "a context that does not exist",
      { ...system, ...current("gone") },
      "ENGINE_UNREACHABLE",
      /"gone" does not exist/,
    ],
    [
      "a context without endpoint",
      { ...current("k"), ...context("k", {}) },
      "ENGINE_UNREACHABLE",
      /names no docker endpoint/,
    ],
    [
      "a broken config.json",
      { "/h/.docker/config.json": "{" },
      "ENGINE_UNREACHABLE",
      /config.json is not JSON/,
    ],
  ])("reports %s", async (_, files, code, message) => {
    const finding = findEndpoint({ HOME: "/h" }, disk(files));
    await expect(finding).rejects.toMatchObject({ code });
    await expect(finding).rejects.toThrow(message);
  });
});

it("a password in DOCKER_HOST is shown nowhere", () => {
  expect(parseEndpoint("tcp://ann:hunter2@engine:2375", "DOCKER_HOST", null).shown).toBe(
    "tcp://ann:…@engine:2375",
  );
  for (const address of [
    "ssh://ann:hunter2@engine",
    "ftp://ann:hunter2@engine",
    "tcp://ann:hunter2@:x",
    "tcp://ann:hunter2@engine/path",
    "tcp://ann:hun@ter2@engine:x",
  ]) {
    let message = "";
    try {
      parseEndpoint(address, "DOCKER_HOST", null);
    } catch (error) {
      message = String(error);
    }
    expect(message).toContain("DOCKER_HOST");
    expect(message).not.toContain("ter2");
  }
});
