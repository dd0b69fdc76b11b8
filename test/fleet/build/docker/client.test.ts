/** The docker command that hands a build to the engine, and the refusals where no command can. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findClient, requireClient } from "../../../../src/fleet/build/engines/docker/docker-client.ts";
import type { DockerApi } from "../../../../src/oci/engine/api.ts";
import { makeFolder } from "../../../support/folders.ts";

const socket = { kind: "socket", path: "/x.sock", shown: "unix:///x.sock", source: "DOCKER_HOST" } as const;

function engineOf(components: readonly string[], source = "DOCKER_HOST"): DockerApi {
  const answer = { Components: components.map((Name) => ({ Name })) };
  return { endpoint: { ...socket, source }, read: async () => answer } as unknown as DockerApi;
}

/** A docker command that says this version; `buildx`: the status of `docker buildx version`. */
function commandOf(version: string, buildx: number): string {
  const folder = makeFolder({
    docker: `#!/bin/sh
case "$1" in
version) ${version === "" ? "echo client is too new >&2; exit 1" : `echo "${version} desktop"`} ;;
buildx) exit ${buildx} ;;
esac
`,
  });
  chmodSync(join(folder, "docker"), 0o755);
  return folder;
}

const find = (path: string, api = engineOf(["Engine"])) => findClient(api, { PATH: path, A: "1" });

describe("the docker command", () => {
  test("before 23 is a client of BuildKit itself", async () => {
    expect(await find(commandOf("20.10.24+dfsg1", 1))).toMatchObject({
      client: { command: ["build"], env: { A: "1", DOCKER_BUILDKIT: "1", BUILDX_BUILDER: "desktop" } },
      isBuildx: false,
    });
  });

  test("is buildx from 23 on, with the engine's own builder", async () => {
    expect(await find(commandOf("28.2.2", 0))).toMatchObject({
      client: { command: ["buildx", "build", "--builder", "desktop"] },
      isBuildx: true,
    });
  });

  test("is told a socket that it does not find by itself, and no other", async () => {
    const found = await find(commandOf("28.2.2", 0), engineOf(["Engine"], "default"));
    expect(found.client?.env).toHaveProperty("DOCKER_HOST", "unix:///x.sock");
    expect((await find(commandOf("28.2.2", 0))).client?.env).not.toHaveProperty("DOCKER_HOST");
  });

  test.each<[string, () => Parameters<typeof find>, string]>([
    ["that is not there", () => [makeFolder({})], "docker is not installed"],
    ["without buildx", () => [commandOf("28.2.2", 1)], "docker has no buildx here"],
    ["that the engine refuses", () => [commandOf("", 0)], "docker version says: client is too new"],
    ["that is another program", () => [commandOf("podman", 0)], "docker version says"],
    [
      "in front of Podman",
      () => [commandOf("28.2.2", 0), engineOf(["Podman Engine"])],
      "Podman answers at unix:///x.sock",
    ],
  ])("%s is none", async (_, given, why) => {
    expect(await find(...given())).toEqual({ client: null, why: expect.stringContaining(why) });
  });
});

describe("without it", () => {
  const secrets = [{ id: "t", flag: "id=t,env=T" }];
  const ssh = [{ id: "default", paths: [], flag: "default" }];
  const none = { client: null, why: "docker has no buildx here" } as const;
  const old = { client: { env: {}, command: ["build"] }, isBuildx: false } as const;
  const plain = { secrets: [], ssh: [], rewrites: false };

  test.each([
    [none, { ...plain, secrets }, "--secret needs the docker command with buildx: docker has no buildx here"],
    [none, { ...plain, ssh }, "--ssh needs"],
    [none, { ...plain, rewrites: true }, "SOURCE_DATE_EPOCH needs"],
    [
      old,
      { ...plain, rewrites: true },
      "SOURCE_DATE_EPOCH needs the docker command with buildx: this one is older",
    ],
  ])("%j refuses %j", (found, wishes, words) => {
    expect(() => requireClient(found, wishes)).toThrow(
      expect.objectContaining({
        code: "ENGINE_NOT_FOUND",
        problems: [
          expect.objectContaining({
            message: expect.stringContaining(words),
            fix: expect.stringContaining("buildx"),
          }),
        ],
      }),
    );
  });

  test("nothing else is refused, nor anything with it", () => {
    requireClient(none, plain);
    requireClient(old, { ...plain, secrets, ssh });
    requireClient({ ...old, isBuildx: true }, { secrets, ssh, rewrites: true });
  });
});
