import { chmodSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { findClient, withClient } from "../../demo/client.ts";
import { makeFolder } from "../support/folders.ts";

/** A docker command of this release; `buildx`: the status of `docker buildx version`. */
function commandOf(version: string, buildx: number): string {
  const script = `#!/bin/sh\n[ "$1" = buildx ] && exit ${buildx}\necho "Docker version ${version}, build 1"\n`;
  const folder = makeFolder({ docker: script });
  chmodSync(join(folder, "docker"), 0o755);
  return folder;
}

const [old, bare, whole] = [commandOf("20.10.24", 1), commandOf("28.2.2", 1), commandOf("28.2.2", 0)];

describe("the docker command of the demo", () => {
  test.each([
    ["the first that has buildx", [bare, whole, old], whole],
    ["one before 23, which has BuildKit in it", [makeFolder({}), bare, old, whole], old],
    ["none without buildx", [bare], null],
  ])("is %s", async (_, path, found) => {
    const docker = await findClient({ PATH: path.join(":") });
    expect(docker).toBe(found === null ? null : join(found, "docker"));
  });

  test("comes first in the path", async () => {
    const env = await withClient({ PATH: bare }, join(old, "docker"), join(makeFolder({}), "bin"));
    expect(await findClient(env)).toBe(join(env.PATH?.split(":")[0] ?? "", "docker"));
  });
});
