/** `--ssh` and `--network`: what is read of them, what each engine's program is called by, and what is refused. */

import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { BuildRequest } from "../../../src/fleet/engines/engine.ts";
import { buildFlags } from "../../../src/fleet/engines/docker-build.ts";
import { parseSsh } from "../../../src/fleet/engines/step-options.ts";
import { engineFor } from "../../../src/fleet/engines/engine-choice.ts";
import { makeFolder } from "../../support/folders.ts";

let server: Server;
const folder = makeFolder({});
const [socket, key] = [join(folder, "agent"), join(folder, "key")];
beforeAll(async () => {
  writeFileSync(key, "a key\n");
  server = createServer().listen(socket);
  await once(server, "listening");
});
afterAll(() => server.close());

const request = { platform: "linux/amd64", target: null, args: {}, labels: {} } as unknown as BuildRequest;

describe("--ssh", () => {
  test("is the environment's agent, a socket or keys", () => {
    expect(
      parseSsh(["default", `work=${socket}`, `deploy=${key},${key}`], { SSH_AUTH_SOCK: socket }),
    ).toEqual([
      { id: "default", paths: [], flag: "default" },
      { id: "work", paths: [socket], flag: `work=${socket}` },
      { id: "deploy", paths: [key, key], flag: `deploy=${key},${key}` },
    ]);
  });

  test.each([
    ["default", {}, "SSH_AUTH_SOCK names none"],
    ["default", { SSH_AUTH_SOCK: "" }, "SSH_AUTH_SOCK names none"],
    ["default", { SSH_AUTH_SOCK: key }, "SSH_AUTH_SOCK names none"],
    ["x=/no/such", {}, "there is no /no/such"],
    ["a b", {}, "is not ID, ID=SOCKET or ID=KEY"],
    ["x=", {}, "is not ID, ID=SOCKET or ID=KEY"],
    ["--network", {}, "SSH_AUTH_SOCK names none"],
  ])("%s with %j is refused", (text, env, words) => {
    expect(() => parseSsh([text], env)).toThrow(words);
  });

  test("twice of one id is refused", () => {
    expect(() => parseSsh([`a=${socket}`, `a=${key}`], {})).toThrow("given twice");
  });

  test("and --network are the same flags of buildx, podman and buildah", () => {
    const ssh = parseSsh([`a=${socket}`], {});
    expect(buildFlags(request, { ssh, network: "none" }).slice(2)).toEqual([
      ...["--ssh", `a=${socket}`],
      ...["--network", "none"],
    ]);
    expect(buildFlags(request, { network: "default" })).toEqual(["--platform", "linux/amd64"]);
  });
});

describe("an engine that cannot refuses", () => {
  const refusal = (flags: object) => engineFor({ engine: "docker", ...flags } as never, { env: {} });

  test.each([
    [{ engine: "docker", network: "mine" }, '--network "mine" is not offered with --engine docker'],
    [{ engine: "buildx", network: "mine" }, '--network "mine" is not offered with --engine buildx'],
    [{ engine: "podman", network: "-x" }, '--network "-x" is not offered with --engine podman'],
  ])("%j", async (flags, words) => {
    await expect(refusal(flags)).rejects.toMatchObject({
      problems: [{ code: "USAGE", message: expect.stringContaining(words) }],
    });
  });
});
