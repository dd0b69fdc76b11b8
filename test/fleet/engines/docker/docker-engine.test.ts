/** The docker command that hands a build to the engine, and the refusals where none can. */

import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findClient } from "../../../../src/fleet/engines/docker/docker-engine.ts";
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

const find = (path: string, api = engineOf(["Engine"]), rewrites = false) =>
  findClient(api, { PATH: path, A: "1" }, rewrites);

describe("the docker command", () => {
  test("before 23 is a client of BuildKit itself", async () => {
    expect(await find(commandOf("20.10.24+dfsg1", 1))).toMatchObject({
      command: ["build"],
      env: { A: "1", DOCKER_BUILDKIT: "1", BUILDX_BUILDER: "desktop" },
    });
  });

  test("is buildx from 23 on, with the engine's own builder", async () => {
    const command = ["buildx", "build", "--builder", "desktop"];
    expect(await find(commandOf("28.2.2", 0))).toMatchObject({ command });
    expect(await find(commandOf("28.2.2", 0), engineOf(["Engine"]), true)).toMatchObject({ command });
  });

  test("is told a socket that it does not find by itself, and no other", async () => {
    const found = await find(commandOf("28.2.2", 0), engineOf(["Engine"], "default"));
    expect(found.env).toHaveProperty("DOCKER_HOST", "unix:///x.sock");
    expect((await find(commandOf("28.2.2", 0))).env).not.toHaveProperty("DOCKER_HOST");
  });

  test.each<[string, () => Parameters<typeof find>, string, string]>([
    ["that is not there", () => [makeFolder({})], "docker is not installed", "docker-buildx"],
    ["without buildx", () => [commandOf("28.2.2", 1)], "docker has no buildx here", "docker-buildx"],
    [
      "that the engine refuses",
      () => [commandOf("", 0)],
      "docker version says: client is too new",
      "docker-cli",
    ],
    ["that is another program", () => [commandOf("podman", 0)], "docker version says", "docker-cli"],
    [
      "before 23 where files are to get the time of SOURCE_DATE_EPOCH",
      () => [commandOf("20.10.24", 0), engineOf(["Engine"]), true],
      "SOURCE_DATE_EPOCH needs the docker command with buildx: this one is older than 23",
      "docker-buildx",
    ],
    [
      "in front of Podman",
      () => [commandOf("28.2.2", 0), engineOf(["Podman Engine"])],
      "Podman answers at unix:///x.sock",
      "--engine podman",
    ],
  ])("%s is refused", async (_, given, why, fix) => {
    await expect(find(...given())).rejects.toMatchObject({
      code: "ENGINE_NOT_FOUND",
      problems: [{ message: expect.stringContaining(why), fix: expect.stringContaining(fix) }],
    });
  });
});
