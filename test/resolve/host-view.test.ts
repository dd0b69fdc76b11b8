import { expect, test } from "vitest";
import { checkImage } from "../../src/resolve/check-image.ts";
import { viewHost } from "../../src/resolve/host-view.ts";
import { gpu, gpuHost } from "./support/hosts.ts";

test("the same facts have one view, and other facts another", () => {
  const facts = gpuHost([gpu({ compute: "9.0" })], "570.124.06");
  let reads = 0;
  const counted = new Proxy(facts, {
    get: (host, key, receiver) => {
      if (key === "kernel") reads++;
      return Reflect.get(host, key, receiver);
    },
  });
  const view = viewHost(counted);
  const before = reads;
  expect(before).toBeGreaterThan(0);
  checkImage({ platform: facts.platform, requires: null, env: [] }, counted);
  expect(viewHost(counted)).toBe(view);
  expect(reads).toBe(before);
  expect(viewHost({ ...facts, kernel: "4.18.0" })).not.toBe(view);
});
