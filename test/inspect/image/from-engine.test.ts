/** The engine that images are looked for in: an engine that could not be asked is not an engine without the image. */

import { describe, expect, test } from "vitest";
import { lookInEngine } from "../../../src/inspect/image/from-engine.ts";

const { signal } = new AbortController();

function look(host: string) {
  const told: string[] = [];
  const env = { HOME: "/nowhere", PATH: "", DOCKER_HOST: host };
  return { told, look: lookInEngine({ env, signal }, undefined, (line) => told.push(line)) };
}

describe("an engine that could not be asked", () => {
  test.each([
    [
      "is dead",
      "unix:///nowhere/none.sock",
      /no answer from a container engine at unix:\/\/\/nowhere\/none.sock/,
    ],
    ["is behind ssh", "ssh://me@there", /is an ssh address, which imgmatch does not open itself/],
  ])("%s: it is told once, and in the error", async (_, host, why) => {
    const { told, look: asked } = look(host);
    expect(await asked.find("app:1", false)).toBeNull();
    expect(await asked.find("app:2", false)).toBeNull();
    expect(told).toEqual([expect.stringMatching(why)]);
    expect(told[0]).toMatch(/^warning: the container engine could not be asked: /);
    expect(await asked.answered()).toMatch(why);
  });

  test("is an error where nothing else is to be asked", async () => {
    const { told, look: asked } = look("unix:///nowhere/none.sock");
    await expect(asked.find("app:1", true)).rejects.toMatchObject({ code: "ENGINE_NOT_FOUND" });
    expect(told).toEqual([]);
  });

  test("is Podman where it was named and is not here", async () => {
    const asked = lookInEngine({ env: { PATH: "" }, signal }, "podman", () => {});
    await expect(asked.find("app:1", true)).rejects.toThrow(/neither podman nor buildah is installed/);
  });
});
