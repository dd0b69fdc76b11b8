import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseListenAddress } from "../../../src/node/mirror/listen-address.ts";
import { type Runtime, runtimeConfig, runtimes } from "../../../src/node/mirror/runtime-config.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

const fleets = ["registry.example.com/team/app:1.0", "registry.example.com/team/other", "debian"].map(
  parseImageReference,
);
const filesOf = (runtime: Runtime, failClosed: boolean) =>
  runtimeConfig(runtime, { fleets, address: "127.0.0.1:5047", failClosed, plainHttp: () => false }).files;

describe("The files that a runtime is to be given", () => {
  it("are one for each registry of containerd, and of Docker, the mirror before the registry", () => {
    const files = filesOf("containerd", false);
    expect(files.map(({ path }) => path)).toEqual([
      "/etc/containerd/certs.d/docker.io/hosts.toml",
      "/etc/containerd/certs.d/registry.example.com/hosts.toml",
    ]);
    expect(files[0]?.content).toContain('server = "https://registry-1.docker.io"\n');
    expect(files[1]?.content).toBe(`server = "https://registry.example.com"

[host."http://127.0.0.1:5047"]
  capabilities = ["pull", "resolve"]
`);
    expect(
      filesOf("docker", false).map(({ path, content }) => [path.replace("docker/", "containerd/"), content]),
    ).toEqual(files.map(({ path, content }) => [path, content]));
  });

  it("leave, failing closed, the registry to content by digest", () => {
    expect(filesOf("containerd", true)[1]?.content).toBe(`server = "http://127.0.0.1:5047"

[host."http://127.0.0.1:5047"]
  capabilities = ["pull", "resolve"]

[host."https://registry.example.com"]
  capabilities = ["pull"]
`);
    expect(filesOf("crio", true)[0]?.content).toContain(`[[registry]]
prefix = "registry.example.com/team/app"
location = "127.0.0.1:5047/team/app"
insecure = true

[[registry.mirror]]
location = "registry.example.com/team/app"
pull-from-mirror = "digest-only"
`);
  });

  it("name each repository once for podman and CRI-O, whose notes say what else it takes", () => {
    const [file] = filesOf("podman", false);
    expect(file?.path).toBe("/etc/containers/registries.conf.d/50-imgmatch.conf");
    expect(file?.content.match(/^prefix = .*$/gm)).toEqual([
      'prefix = "docker.io/library/debian"',
      'prefix = "registry.example.com/team/app"',
      'prefix = "registry.example.com/team/other"',
    ]);
    for (const runtime of runtimes.filter((each) => each !== "containerd")) {
      const { notes } = runtimeConfig(runtime, {
        fleets,
        address: "a",
        failClosed: false,
        plainHttp: () => false,
      });
      expect(notes.join("\n")).toContain("--blobs redirect");
    }
  });
});

describe("--install", () => {
  it("writes the files in their places below a folder, again and again, and names them", async () => {
    const folder = makeFolder({});
    const words = ["serve", "--print-config", "containerd", "registry.example.com/team/app"];
    const path = join(folder, "etc/containerd/certs.d/registry.example.com/hosts.toml");
    for (let count = 0; count < 2; count++) {
      const { exit, out, err } = await runInProcess([...words, "--install", folder]);
      expect([exit, out]).toEqual([0, `${path}\n`]);
      expect(err).toContain("config_path");
    }
    const { out: printed } = await runInProcess(words);
    const text = readFileSync(path, "utf8");
    expect(printed).toBe(`# /etc/containerd/certs.d/registry.example.com/hosts.toml\n${text}`);
  });

  it("is nothing without --print-config", async () => {
    const { exit, err } = await runInProcess(["serve", "--install", "/", "registry.example.com/team/app"]);
    expect([exit, err]).toEqual([
      2,
      expect.stringMatching(/^USAGE: --install .*\n {2}fix: .*--print-config/),
    ]);
  });
});

describe("Where the mirror listens", () => {
  it.each(["0.0.0.0:5047", "192.168.0.1:80", "example.com:80", "127.0.0.1", "127.0.0.1:70000", ":80"])(
    "is loopback, and not %s",
    (text) => expect(() => parseListenAddress(text)).toThrow(/no address on this machine's loopback/),
  );

  it("is IPv4 or IPv6", () => {
    expect(parseListenAddress("localhost:80")).toEqual({ host: "127.0.0.1", port: 80 });
    expect(parseListenAddress("[::1]:0")).toEqual({ host: "::1", port: 0 });
  });
});
