import { existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseListenAddress } from "../../../src/node/mirror/server.ts";
import { type Runtime, runtimeConfig, runtimes } from "../../../src/node/mirror/runtime-config.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { makeFolder } from "../../support/folders.ts";
import { runInProcess } from "../../support/run-cli.ts";

const fleets = ["registry.example.com/team/app:1.0", "registry.example.com/team/other", "debian"].map(
  parseImageReference,
);
/** Without the line that says whose they are. */
const filesOf = (runtime: Runtime, failClosed: boolean) =>
  runtimeConfig(runtime, { fleets, address: "127.0.0.1:5047", failClosed, plainHttp: () => false }).files.map(
    ({ path, content }) => ({ path, content: content.replace(/^# written by imgmatch, [0-9a-f]{16}\n/, "") }),
  );

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
    expect(filesOf("crio", true)[1]?.content).toContain(`[[registry]]
prefix = "registry.example.com/team/app"
location = "127.0.0.1:5047/team/app"
insecure = true

[[registry.mirror]]
location = "registry.example.com/team/app"
pull-from-mirror = "digest-only"
`);
  });

  it("name each repository once for podman and CRI-O, whose notes say what else it takes", () => {
    const folder = "/etc/containers/registries.conf.d/50-imgmatch";
    expect(
      filesOf("podman", false).map(({ path, content }) => [path, /^prefix = .*$/m.exec(content)?.[0]]),
    ).toEqual([
      [`${folder}-docker.io+library+debian.conf`, 'prefix = "docker.io/library/debian"'],
      [`${folder}-registry.example.com+team+app.conf`, 'prefix = "registry.example.com/team/app"'],
      [`${folder}-registry.example.com+team+other.conf`, 'prefix = "registry.example.com/team/other"'],
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

  it.each<[Runtime, string]>([
    ["containerd", "etc/containerd/certs.d/registry.example.com/hosts.toml"],
    ["docker", "etc/docker/certs.d/registry.example.com/hosts.toml"],
    ["podman", "etc/containers/registries.conf.d/50-imgmatch-registry.example.com+team+app.conf"],
    ["crio", "etc/containers/registries.conf.d/50-imgmatch-registry.example.com+team+app.conf"],
  ])(
    "of %s leaves alone what somebody else wrote, or changed since, and is taken back by one command",
    async (runtime, path) => {
      const folder = makeFolder({});
      const file = join(folder, path);
      const serve = (...words: string[]) => runInProcess(["serve", "--print-config", runtime, ...words]);
      const install = (fleet: string) => serve(`registry.example.com/team/${fleet}`, "--install", folder);
      const others = ['[host]\n  ca = "/etc/ca.pem"\n', ""];
      for (const text of others) {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, text, { mode: 0o600 });
        const { exit, err } = await install("app");
        expect([exit, err]).toEqual([
          2,
          expect.stringMatching(/FILE_EXISTS: imgmatch did not write this file/),
        ]);
        expect(err).toContain("127.0.0.1:5047");
        expect([readFileSync(file, "utf8"), statSync(file).mode & 0o777]).toEqual([text, 0o600]);
        expect(await serve("--uninstall", folder)).toMatchObject({ exit: 0, out: "" });
        rmSync(file);
      }
      symlinkSync("nowhere", file);
      expect((await install("app")).exit).toBe(2);
      rmSync(file);
      // Another fleet takes nothing away, nor does another way to serve it.
      const other = {
        containerd: file,
        docker: file,
        podman: file.replace("app", "two"),
        crio: file.replace("app", "two"),
      };
      for (const fleet of ["app", "two", "app"]) expect((await install(fleet)).exit).toBe(0);
      expect((await serve("registry.example.com/team/app", "--fail-closed", "--install", folder)).exit).toBe(
        0,
      );
      const installed = [...new Set([file, other[runtime]])];
      for (const each of installed) expect(readFileSync(each, "utf8")).toContain("127.0.0.1:5047");
      writeFileSync(file, `${readFileSync(file, "utf8")}# mine\n`);
      expect((await install("app")).exit).toBe(2);
      writeFileSync(file, readFileSync(file, "utf8").replace("# mine\n", ""));
      const { exit, out } = await serve("--uninstall", folder);
      expect([exit, out]).toEqual([0, installed.map((each) => `${each}\n`).join("")]);
      for (const each of installed) expect(existsSync(each)).toBe(false);
      expect((await serve("--uninstall", folder, "registry.example.com/team/app")).exit).toBe(2);
    },
  );

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
    (text) => expect(() => parseListenAddress(text)).toThrow(/not a loopback address of this machine/),
  );

  it("is IPv4 or IPv6", () => {
    expect(parseListenAddress("localhost:80")).toEqual({ host: "127.0.0.1", port: 80 });
    expect(parseListenAddress("[::1]:0")).toEqual({ host: "::1", port: 0 });
  });
});
