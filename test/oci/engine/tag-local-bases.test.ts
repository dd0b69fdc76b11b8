/** Images that only an engine has: how they are found, and the names that they have while a build needs them. */

import { chmodSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createLocalBaseLookup } from "../../../src/fleet/engines/local-images.ts";
import { connectDocker } from "../../../src/oci/engine/api.ts";
import { createLocalBases } from "../../../src/oci/engine/tag-local-bases.ts";
import type { Digest } from "../../../src/oci/digest.ts";
import { makeFolder } from "../../support/folders.ts";

const id = (character: string): Digest => `sha256:${character.repeat(64)}`;

describe("the engine's images", () => {
  let server: Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  interface FakeEngine {
    /** Name or id → what the engine says of it. */
    readonly images?: Readonly<Record<string, object>>;
    readonly info?: object;
  }

  async function startEngine({ images = {}, info = {} }: FakeEngine) {
    const asked: string[] = [];
    const path = join(makeFolder({}), "docker.sock");
    server = createServer((request, response) => {
      const url = decodeURIComponent(request.url ?? "");
      if (url === "/_ping") return response.setHeader("Api-Version", "1.41").end("OK");
      if (request.method !== "GET") asked.push(`${request.method} ${url.replace("/v1.41", "")}`);
      const [, name] = /\/images\/(.+)\/json$/.exec(url) ?? [];
      if (name !== undefined && images[name] === undefined)
        return response.writeHead(404).end(`{"message":"No such image: ${name}"}`);
      return response.end(JSON.stringify(name === undefined ? info : images[name]));
    });
    await new Promise<void>((resolve) => server?.listen(path, resolve));
    return { env: { DOCKER_HOST: `unix://${path}` }, asked };
  }

  test("are found by name, unless their registry is to be asked for them", async () => {
    const pulled = { Id: id("b"), RepoDigests: [`debian@${id("d")}`] };
    const images = { "own/base": { Id: id("a") }, "debian:12": pulled, "other/debian:12": pulled };
    const { env } = await startEngine({ images });
    const find = await createLocalBaseLookup("docker", env);
    expect(await find("own/base")).toEqual({ engine: "docker", id: id("a") });
    expect(await find("other/debian:12")).toEqual({ engine: "docker", id: id("b") });
    expect(await find("debian:12")).toBeNull();
    expect(await find("nobody/has:1")).toBeNull();
  });

  test("all have digests where they are kept as containerd does, which says nothing", async () => {
    const info = { DriverStatus: [["driver-type", "io.containerd.snapshotter.v1"]] };
    const images = { "own/base": { Id: id("a"), RepoDigests: [`own/base@${id("a")}`] } };
    const { env } = await startEngine({ images, info });
    const find = await createLocalBaseLookup("docker", env);
    expect(await find("own/base")).toEqual({ engine: "docker", id: id("a") });
  });

  test("have a name until the last build that needs it has ended", async () => {
    const name = `imgmatch.invalid/base:${"a".repeat(64)}`;
    const images = { [id("a")]: { Id: id("a") }, [name]: { RepoTags: [name, "own/base:1"] } };
    const { env, asked } = await startEngine({ images });
    const withLocalBases = createLocalBases(await connectDocker(env));
    const ends: (() => void)[] = [];
    const build = () => withLocalBases([id("a")], () => new Promise<void>((resolve) => ends.push(resolve)));
    const builds = [build(), build()];
    while (ends.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    const named = `POST /images/${id("a")}/tag?repo=imgmatch.invalid/base&tag=${"a".repeat(64)}`;
    expect(asked).toEqual([named, named]);
    ends[0]?.();
    await Promise.race(builds);
    expect(asked).toHaveLength(2);
    ends[1]?.();
    await Promise.all(builds);
    expect(asked.slice(2)).toEqual([`DELETE /images/${name}?noprune=1`]);
  });

  test("that are gone are named", async () => {
    const { env, asked } = await startEngine({});
    const withLocalBases = createLocalBases(await connectDocker(env));
    const building = withLocalBases([id("a")], async () => "built");
    await expect(building).rejects.toMatchObject({
      code: "BASE_UNRESOLVED",
      message: expect.stringContaining(`the engine does not have the image ${id("a")}`),
    });
    expect(asked).toEqual([]);
  });
});

test("a buildx builder that is not inside an engine sees none of its images", async () => {
  const folder = makeFolder({
    docker:
      "#!/bin/sh\nprintf 'Name: big\\nDriver: docker-container\\n\\nNodes:\\nName: big0\\nEndpoint: default\\nStatus: running\\n'\n",
  });
  chmodSync(join(folder, "docker"), 0o755);
  const asking = createLocalBaseLookup("buildx", { PATH: `${folder}:/bin:/usr/bin` }, "big");
  await expect(asking).rejects.toMatchObject({
    code: "BASE_UNRESOLVED",
    message: expect.stringContaining("the builder big (driver docker-container) sees no image of an engine"),
  });
});
