/** A registry that takes 40 requests a second is slow, and not broken. */

import pLimit from "p-limit";
import { expect, test } from "vitest";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { type Answer, startFaultServer, status } from "./support/fault-server.ts";
import { serveManifest, someManifest } from "./support/manifests.ts";

test("many requests behind 40 a second all get their answer, and in about the time that this takes", async () => {
  let [window, taken, refused] = [0, 0, 0];
  const serve = serveManifest(someManifest);
  const answer: Answer = (...asked) => {
    const now = Math.floor(performance.now() / 250);
    if (now !== window) [window, taken] = [now, 0];
    if (++taken <= 10) return serve(...asked);
    refused++;
    return status(429)(...asked);
  };
  const server = await startFaultServer(answer);
  const client = createRegistryClient();
  const reference = parseImageReference(`${server.host}/team/app:1`);
  const started = performance.now();
  const found = await pLimit(16).map(Array(160).fill(reference), (each) => client.findManifest(each));
  expect(found.every((each) => each?.digest === someManifest.digest)).toBe(true);
  expect(refused).toBeGreaterThan(20);
  // 160 requests take 4 s at best.
  expect(performance.now() - started).toBeLessThan(20_000);
});
