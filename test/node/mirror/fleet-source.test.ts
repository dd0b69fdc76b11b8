import { expect, it } from "vitest";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { registryFleet } from "../../../src/node/mirror/fleet-source.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { createMemoryRegistry } from "../../fleet/publish/support/memory-registry.ts";
import { image } from "../../resolve/support/locks.ts";

it("a registry is asked at most every ten seconds, and again when the clock was set back by a day", async () => {
  const registry = createMemoryRegistry();
  const reference = parseImageReference("registry.example.com/team/app:1.0");
  const { axes, platform, inputDigest, requires } = image();
  const digest = registry.pushImage("1.0-a", {}, "a");
  const images = new Map([["a", { axes, platform, inputDigest, requires, tag: "1.0-a", digest }]]);
  await publishIndex({ registry, reference, name: "app", version: "1.0", images });
  let [asked, clock] = [0, Date.UTC(2026, 0, 1)];
  const fleet = registryFleet(reference, {
    readerFor: () => {
      asked++;
      return registry;
    },
    cache: null,
    trust: null,
    now: () => clock,
    tell: () => {},
  });
  const askedAfter = async (ms: number) => {
    clock += ms;
    expect(Object.keys((await fleet.lockOf("1.0", null))?.images ?? {})).toEqual(["a"]);
    return asked;
  };
  expect([await askedAfter(0), await askedAfter(9000)]).toEqual([1, 1]);
  expect(await askedAfter(2000)).toBe(2);
  expect(await askedAfter(-24 * 3_600_000)).toBe(3);
  expect(await askedAfter(24 * 3_600_000)).toBe(4);
});
