import { writeFileSync } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Credential } from "../../../src/oci/registry/credential.ts";
import { askCredentialHelper, storedCredentials } from "../../../src/oci/registry/credentials.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { needs } from "../../support/needs.ts";
import { startFaultServer, status } from "./support/fault-server.ts";
import { quickClient, someManifest } from "./support/manifests.ts";
import { identity, quirks, startQuirkyRegistry } from "../../fleet/publish/support/quirky-registry.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "imgmatch-login-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const ann: Credential = { kind: "password", username: "ann", password: "a:b" };
const annAuth = Buffer.from("ann:a:b").toString("base64");

describe("config.json", () => {
  test.each<[what: string, config: unknown, registry: string, credential: Credential | null]>([
    ["by host", { auths: { "r.example": { auth: annAuth } } }, "r.example", ann],
    ["by host and port", { auths: { "r.example:5000": { auth: annAuth } } }, "r.example:5000", ann],
    ["not another port", { auths: { "r.example:5000": { auth: annAuth } } }, "r.example", null],
    ["by an old address", { auths: { "https://r.example/v1/": { auth: annAuth } } }, "r.example", ann],
    [
      "Docker Hub",
      { auths: { "https://index.docker.io/v1/": { auth: annAuth } } },
      "registry-1.docker.io",
      ann,
    ],
    ["Docker Hub, by name", { auths: { "docker.io": { auth: annAuth } } }, "registry-1.docker.io", ann],
    ["name and password", { auths: { "r.example": { username: "ann", password: "a:b" } } }, "r.example", ann],
    [
      "an identity token goes before the rest",
      { auths: { "r.example": { auth: annAuth, identitytoken: "i" } } },
      "r.example",
      { kind: "identity", token: "i" },
    ],
    [
      "a registry token",
      { auths: { "r.example": { registrytoken: "b" } } },
      "r.example",
      { kind: "bearer", token: "b" },
    ],
    ["an empty entry", { auths: { "r.example": {} } }, "r.example", null],
    ["nothing", {}, "r.example", null],
  ])("%s", async (_, config, registry, credential) => {
    expect(await store(config).find(registry)).toEqual(credential);
  });

  test("no file is no login", async () => {
    expect(await storedCredentials({ DOCKER_CONFIG: join(folder, "none") }).find("r.example")).toBeNull();
  });

  test("what it does not have is in Podman's file, and the cure names podman where docker has none", async () => {
    const env = { DOCKER_CONFIG: join(folder, "none"), HOME: folder, XDG_RUNTIME_DIR: join(folder, "run") };
    expect(storedCredentials(env).program).toBe("docker");
    await mkdir(join(folder, "run/containers"), { recursive: true });
    const auths = (name: string) =>
      JSON.stringify({ auths: { "r.example/team": { username: name, password: "p" } } });
    await writeFile(join(folder, "run/containers/auth.json"), auths("run"));
    expect(await storedCredentials(env).find("r.example")).toMatchObject({ username: "run" });
    await writeFile(join(folder, "own.json"), auths("own"));
    const own = storedCredentials({ ...env, REGISTRY_AUTH_FILE: join(folder, "own.json") });
    expect(await own.find("r.example")).toMatchObject({ username: "own" });
    expect(own.program).toBe("podman");
    const both = storedCredentials({ ...env, DOCKER_CONFIG: folder });
    await writeFile(
      join(folder, "config.json"),
      JSON.stringify({ auths: { "r.example": { auth: annAuth } } }),
    );
    expect(await both.find("r.example")).toEqual(ann);
    const { host } = await startFaultServer(status(401, { "www-authenticate": "Basic" }));
    await expect(
      quickClient({ credentials: own }).findManifest(parseImageReference(`${host}/a:1`)),
    ).rejects.toMatchObject({ problems: [{ fix: expect.stringContaining(`podman login ${host}`) }] });
  });

  test("without DOCKER_CONFIG it is in the home folder", async () => {
    await mkdir(join(folder, ".docker"));
    await writeFile(
      join(folder, ".docker", "config.json"),
      JSON.stringify({ auths: { "r.example": { auth: annAuth } } }),
    );
    expect(await storedCredentials({ HOME: folder }).find("r.example")).toEqual(ann);
    expect(await storedCredentials({ HOME: folder, DOCKER_CONFIG: folder }).find("r.example")).toBeNull();
  });

  test.each([
    ["broken", "{", "not a JSON object"],
    ["a list", "[]", "not a JSON object"],
    ["with an auth that is none", '{"auths":{"r.example":{"auth":"%%%"}}}', "base64"],
  ])("%s", async (_, text, says) => {
    await writeFile(join(folder, "config.json"), text);
    const found = storedCredentials({ DOCKER_CONFIG: folder }).find("r.example");
    await expect(found).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
      message: expect.stringContaining(says),
    });
    await expect(found).rejects.toThrow(join(folder, "config.json"));
  });

  test("that cannot be read", async () => {
    await mkdir(join(folder, "config.json"));
    await expect(storedCredentials({ DOCKER_CONFIG: folder }).find("r.example")).rejects.toMatchObject({
      code: "REGISTRY_AUTH",
    });
  });
});

describe(
  "credential helpers",
  needs(process.platform === "win32" ? "Windows: it has no shell scripts" : null),
  () => {
    test("the registry's own goes before the general one, and that before the file", async () => {
      await helper("own", 'echo "{\\"Username\\":\\"own\\",\\"Secret\\":\\"$(cat)\\"}"');
      await helper("general", 'echo "{\\"Username\\":\\"general\\",\\"Secret\\":\\"$(cat)\\"}"');
      const credentials = store({
        auths: { "own.example": { auth: annAuth }, "r.example": { auth: annAuth } },
        credHelpers: { "own.example": "own" },
        credsStore: "general",
      });
      expect(await credentials.find("own.example")).toMatchObject({
        username: "own",
        password: "own.example",
      });
      expect(await credentials.find("r.example")).toMatchObject({
        username: "general",
        password: "r.example",
      });
      expect(await credentials.find("registry-1.docker.io")).toMatchObject({
        password: "https://index.docker.io/v1/",
      });
    });

    test("is asked once per registry", async () => {
      const calls = join(folder, "calls");
      await helper("counting", `echo x >> ${calls}; echo '{"Username":"u","Secret":"s"}'`);
      const credentials = store({ credsStore: "counting" });
      await Promise.all([1, 2, 3].map(() => credentials.find("r.example")));
      expect(await readFile(calls, "utf8")).toBe("x\n");
    });

    test("an identity token", async () => {
      await helper("cloud", `echo '{"ServerURL":"r.example","Username":"<token>","Secret":"t"}'`);
      expect(await store({ credsStore: "cloud" }).find("r.example")).toEqual({
        kind: "identity",
        token: "t",
      });
    });

    test.each(["identitytoken", "helper", "password"])(
      "a token in place of a password reads and writes, stored as %s",
      async (form) => {
        const server = await startQuirkyRegistry(quirks["an identity token"]());
        const { username, token } = identity;
        await helper("acr-env", `echo '{"Username":"<token>","Secret":"${token}"}'`);
        const basic = (secret: string) => Buffer.from(`${username}:${secret}`).toString("base64");
        const forms: Readonly<Record<string, unknown>> = {
          identitytoken: { auths: { [server.host]: { auth: basic(""), identitytoken: token } } },
          helper: { credHelpers: { [server.host]: "acr-env" } },
          password: { auths: { [server.host]: { auth: basic(token) } } },
        };
        const client = quickClient({ credentials: store(forms[form]) });
        const reference = parseImageReference(`${server.host}/team/app:1`);
        await client.writeManifest(reference, someManifest);
        expect(await client.findManifest(reference)).toMatchObject({ digest: someManifest.digest });
        const tokens = server.asked.filter(({ url }) => url.pathname === "/token");
        expect(new Set(tokens.map(({ method }) => method))).toEqual(
          new Set([form === "password" ? "GET" : "POST"]),
        );
        await server.stop();
      },
    );

    test("one that knows no login leaves it to the file", async () => {
      await helper("empty", "echo 'credentials not found in native keychain'; exit 1");
      const credentials = store({ credsStore: "empty", auths: { "r.example": { auth: annAuth } } });
      expect(await credentials.find("r.example")).toEqual(ann);
      expect(await credentials.find("other.example")).toBeNull();
    });

    test.each([
      ["fails", "echo 'token expired'; exit 1", "failed with status 1: token expired"],
      ["fails with its login", `echo '{"Username":"a","Secret":"x y"}'; exit 1`, "failed with status 1"],
      [
        "fails with a secret",
        `echo 'bad key ${"k".repeat(40)} in https://r.example/some/long/path/of/words'; exit 1`,
        "failed with status 1: bad key … in https://r.example/some/long/path/of/words",
      ],
      ["answers nonsense", "echo hello", "something else than a login"],
      ["hides in another folder", "", "no valid name"],
      ["is missing", null, "not installed"],
    ])("one that %s is an error, never no login", async (what, script, says) => {
      const name = what.startsWith("hides") ? "../x" : "odd";
      if (script !== null && name === "odd") await helper(name, script);
      await expect(store({ credsStore: name }).find("r.example")).rejects.toMatchObject({
        code: "REGISTRY_AUTH",
        message: expect.stringContaining(says),
      });
      await expect(store({ credsStore: name }).find("r.example")).rejects.not.toThrow(/x y|kkkk/);
    });

    test("one that hangs is ended", async () => {
      const pidFile = join(folder, "pid");
      await helper("slow", `echo $$ > ${pidFile}; exec sleep 60`);
      const asked = askCredentialHelper("slow", "r.example", {
        env: env(),
        path: "config.json",
        timeoutMs: 2000,
      });
      await expect(asked).rejects.toThrow("gave no answer in 2000 ms");
      const pid = Number(await readFile(pidFile, "utf8"));
      await expect.poll(() => isRunning(pid)).toBe(false);
    });
  },
);

function store(config: unknown): ReturnType<typeof storedCredentials> {
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  return storedCredentials(env());
}

function env(): Record<string, string> {
  return { DOCKER_CONFIG: folder, PATH: `${folder}${delimiter}${process.env.PATH}` };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function helper(name: string, script: string): Promise<void> {
  const path = join(folder, `docker-credential-${name}`);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
}
