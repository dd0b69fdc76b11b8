import { describe, expect, it } from "vitest";
import type { BuildRequest } from "../../src/fleet/engines/engine.ts";
import { bakeFile, pathsToHide } from "../../src/fleet/export-bake.ts";

const request = (cell: string, more: Partial<BuildRequest> = {}): BuildRequest => ({
  cell,
  dockerfile: `FROM scratch\n`,
  contextDir: "/somewhere",
  contextFiles: [],
  platform: "linux/amd64",
  target: null,
  args: {},
  labels: {},
  tags: [`registry.example.com/app:${cell}`],
  ...more,
});

const here = () => ".";

describe("bake file", () => {
  it("has a target for each cell, and builds them all by default", () => {
    const { group, target } = bakeFile(
      [request("a"), request("12.8.1_9.0-ptx")],
      (dir) => `context of ${dir}`,
    );
    expect(group.default.targets).toEqual(["a", "12-8-1_9-0-ptx"]);
    expect(target["12-8-1_9-0-ptx"]).toEqual({
      context: "context of /somewhere",
      "dockerfile-inline": "FROM scratch\n",
      args: {},
      labels: {},
      tags: ["registry.example.com/app:12.8.1_9.0-ptx"],
      platforms: ["linux/amd64"],
      attest: ["type=provenance,disabled=true"],
    });
  });

  it("asks for the attestations that the matrix asks for, and for no other", () => {
    const extraArgs = { IMGMATCH_CELL: "a" };
    const attestOf = (attest: BuildRequest["attest"]) => {
      const { target } = bakeFile([request("a", attest === undefined ? {} : { attest })], here);
      return [target.a?.attest, target.a?.args];
    };
    expect(attestOf({ provenance: "max", sbom: { generator: "example.com/scan:1" }, extraArgs })).toEqual([
      ["type=provenance,mode=max", "type=sbom,generator=example.com/scan:1"],
      extraArgs,
    ]);
    expect(attestOf({ provenance: "min", sbom: null, extraArgs })).toEqual([
      ["type=provenance,mode=min"],
      {},
    ]);
    expect(attestOf({ provenance: null, sbom: { generator: null }, extraArgs })).toEqual([
      ["type=provenance,disabled=true", "type=sbom"],
      {},
    ]);
  });

  it("leaves nothing for bake to expand", () => {
    const text = "RUN echo ${A:-%{b}} $C\n";
    const { target } = bakeFile(
      [request("a", { dockerfile: text, args: { A: "${B}" }, target: "run" })],
      here,
    );
    expect(target.a).toMatchObject({
      "dockerfile-inline": "RUN echo $${A:-%%{b}} $C\n",
      args: { A: "$${B}" },
      target: "run",
    });
  });

  it("keeps cells apart whose names differ only in what bake does not allow", () => {
    const { group, target } = bakeFile([request("a.b"), request("a-b")], here);
    expect(group.default.targets).toEqual(["a-b", "a-b--2"]);
    expect(Object.keys(target)).toEqual(["a-b", "a-b--2"]);
  });
});

describe("paths to hide", () => {
  it("name a folder only where nothing of it is sent", () => {
    const own = [".imgmatch/logs/a.log", ".imgmatch/logs/b.log", "matrix.yaml", "templates/app.hbs"];
    const sent = ["app.c", "templates", "templates/lib/app.h"];
    expect(pathsToHide(own, sent)).toEqual([".imgmatch", "matrix.yaml", "templates/app.hbs"]);
    expect(pathsToHide(own, ["app.c"])).toEqual([".imgmatch", "matrix.yaml", "templates"]);
  });
});
