import { expect, test } from "vitest";
import type { Problem } from "../../../src/errors.ts";
import { createBaseLookup } from "../../../src/oci/registry/base-lookup.ts";
import { startFaultServer, status } from "./support/fault-server.ts";
import { serveManifest, someManifest } from "./support/manifests.ts";

const noLogins = { DOCKER_CONFIG: "/nonexistent" };

test("a base's digest is asked of its registry, latest where it has no tag", async () => {
  const server = await startFaultServer(serveManifest(someManifest));
  const problems: Problem[] = [];
  const find = createBaseLookup(noLogins, (problem) => problems.push(problem));
  expect(await find(`${server.host}/base`)).toBe(someManifest.digest);
  expect(server.asked.map(({ path }) => path)).toEqual(["/v2/base/manifests/latest"]);
  expect(problems).toEqual([]);
});

test("a base with a digest is its own answer", async () => {
  const server = await startFaultServer(serveManifest(someManifest));
  const pinned = `sha256:${"1".repeat(64)}`;
  expect(await createBaseLookup(noLogins, () => {})(`${server.host}/base@${pinned}`)).toBe(pinned);
  expect(server.asked).toEqual([]);
});

test.each([
  [404, "does not exist"],
  [403, "403 Forbidden"],
])("%d is null, with the reason told", async (code, says) => {
  const server = await startFaultServer(status(code));
  const problems: Problem[] = [];
  const find = createBaseLookup(noLogins, (problem) => problems.push(problem));
  expect(await find(`${server.host}/base:1`)).toBeNull();
  expect(problems).toMatchObject([{ code: "BASE_UNRESOLVED", message: expect.stringContaining(says) }]);
});
