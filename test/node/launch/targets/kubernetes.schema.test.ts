/** Checks the objects for Kubernetes against the API's schema. test/e2e/kubernetes.test.ts asks a real API server. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import type { Lock } from "../../../../src/lock/lock.ts";
import { visionLock } from "../support/fleet-locks.ts";
import { fleetLocks, fleetOf, launchedObjects } from "../support/kubernetes-objects.ts";
import { schemaProblems } from "../support/kubernetes-schema.ts";

describe("the schema", () => {
  const pod = (spec: object) => ({ apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec });
  const containers = [{ name: "main", image: "a" }];

  it.each<[string, object, RegExp]>([
    ["an unknown field", { containers, nodeSelecter: { a: "b" } }, /unknown field spec.nodeSelecter/],
    ["an unknown field in a list", { containers: [{ name: "a", imag: "b" }] }, /spec.containers.\*.imag$/],
    ["a wrong type", { containers, nodeSelector: { a: 1 } }, /nodeSelector\/a must be string/],
    ["no quantity", { containers: [{ name: "a", resources: { limits: { cpu: "four" } } }] }, /quantity/],
    ["a word that is none of the API's", { containers, restartPolicy: "Sometimes" }, /restartPolicy/],
    ["a field that is missing", { containers: [{ image: "a" }] }, /name/],
  ])("refuses %s", (_what, spec, message) => {
    expect(schemaProblems(pod(spec)).join("\n")).toMatch(message);
  });

  it("takes what is right", () => {
    expect(schemaProblems(pod({ containers, nodeSelector: { a: "b" } }))).toEqual([]);
    expect(schemaProblems({ apiVersion: "v1", kind: "Pot" })).toEqual(["no such kind: v1 Pot"]);
  });
});

describe("objects for Kubernetes", () => {
  it.each(launchedObjects())("%s", (_name, object) => {
    expect(schemaProblems(object)).toEqual([]);
  });

  it.each(Object.entries(fleetLocks))("of a fleet of %s", async (_name, lock) => {
    expect(await problemsOf(await lock())).toEqual([]);
  });

  it.each([[["--task", "batch"]], [["--set", "kind=deployment"]], [["--gpus", "2", "--cpus", "0.5"]]])(
    "of a fleet with %s",
    async (args) => {
      expect(await problemsOf(visionLock, ...args)).toEqual([]);
    },
  );

  it("of docs/node/mirror-daemonset.yaml", () => {
    const text = readFileSync("docs/node/mirror-daemonset.yaml", "utf8");
    for (const object of parseAllDocuments(text).map((each) => each.toJS()))
      expect(schemaProblems(object), object.kind).toEqual([]);
  });
});

async function problemsOf(lock: Lock, ...args: readonly string[]): Promise<readonly string[]> {
  const { objects } = await fleetOf(lock, ...args);
  expect(objects.length).toBeGreaterThan(2);
  return objects.flatMap((object) => schemaProblems(object));
}
