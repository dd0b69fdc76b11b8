import { expect, test } from "vitest";
import { createLabeller, questionKeys } from "../../../../src/node/launch/labels/image-labels.ts";
import { presentLabels } from "../../../../src/node/launch/labels/node-labels.ts";
import { cpuHost } from "../../../resolve/support/hosts.ts";
import { image, lockOf } from "../../../resolve/support/locks.ts";

const host = cpuHost();

test("a node says of itself what resolve picks there", () => {
  const lock = lockOf({ a: image() });
  const { labels, resolution } = createLabeller(lock)(host);
  expect(presentLabels(labels)).toEqual({ [questionKeys(lock).image]: "a", [`image.${lock.name}`]: "a" });
  expect(resolution.match?.cell).toBe("a");
});

test("and names the labels that it must not have, where a fleet has no image for it", () => {
  const lock = lockOf({ a: image({ digest: null }) });
  const { labels, resolution } = createLabeller(lock)(host);
  const { image: key, devices, plain } = questionKeys(lock);
  expect(Object.keys(labels).sort()).toEqual([key, ...devices, plain].sort());
  expect(presentLabels(labels)).toEqual({});
  expect(resolution.match).toBeNull();
});
