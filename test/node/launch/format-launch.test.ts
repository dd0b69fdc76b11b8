import { describe, expect, it } from "vitest";
import { formatDocuments, formatLaunch, launchAnswer } from "../../../src/node/launch/format-launch.ts";
import { launchTargets } from "../../../src/node/launch/launch-targets.ts";
import { immutableReference } from "../../../src/oci/immutable-reference.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { requirement } from "../../resolve/support/locks.ts";

const request = {
  reference: immutableReference("localhost:5000/app", "1", `sha256:${"a".repeat(64)}`),
  requires: requirement(null),
  host: cpuHost(),
  args: ["a b"],
};

describe("a launch as text", () => {
  it("is a line of shell, or what is in it as JSON", async () => {
    const { docker } = launchTargets;
    const answer = launchAnswer(docker.launch(request), request);
    const line = await formatLaunch(answer, "shell");
    expect(line).toBe(`docker run --rm -- ${request.reference} 'a b'\n`);
    const json = JSON.parse(await formatLaunch(answer, "json"));
    expect(json).toMatchObject({ schemaVersion: 1, reference: request.reference, gpus: [] });
  });

  it("is one value of JSON: a list as Kubernetes knows it, else an array", async () => {
    const one = { apiVersion: "v1", kind: "Pod" };
    const parse = async (...documents: { readonly [key: string]: string }[]) =>
      JSON.parse(await formatDocuments(documents, "json"));
    expect(await parse(one)).toEqual(one);
    expect(await parse(one, one)).toEqual({ apiVersion: "v1", kind: "List", items: [one, one] });
    expect(await parse({ id: "/a" }, { id: "/b" })).toEqual([{ id: "/a" }, { id: "/b" }]);
  });

  it("is a stream of YAML documents", async () => {
    expect(await formatDocuments([{ a: 1 }, { b: "no" }], "yaml")).toBe('a: 1\n---\nb: "no"\n');
  });
});
