import { expect, test } from "vitest";
import { advertiseNode, nodeLabels } from "../../../src/node/launch/labels/node-labels.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { image, lockOf } from "../../resolve/support/locks.ts";

const host = cpuHost();

test("a node says of itself what resolve picks there", () => {
  const lock = lockOf({ a: image() });
  const { labels, resolution } = advertiseNode(lock, host);
  expect(labels).toEqual({ ...nodeLabels(host), [`image.${lock.name}`]: "a" });
  expect(Object.keys(labels)).toEqual(Object.keys(labels).sort());
  expect(resolution.match?.cell).toBe("a");
});

test("and nothing of a fleet that has no image for it", () => {
  const { labels, resolution } = advertiseNode(lockOf({ a: image({ digest: null }) }), host);
  expect(labels).toEqual(nodeLabels(host));
  expect(resolution.match).toBeNull();
});
