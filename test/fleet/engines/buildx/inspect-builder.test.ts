import { describe, expect, it } from "vitest";
import { readInspection } from "../../../../src/fleet/engines/buildx/inspect-builder.ts";

// As buildx 0.37 prints it for a dockerd 20.10 and for a BuildKit of its own.
const ofEngine = `Name:   default
Driver: docker

Nodes:
Name:             default
Endpoint:         default
Status:           running
BuildKit version: v0.8+unknown
Platforms:        linux/amd64, linux/386
`;
const remote = `Name:          imgmatch-1
Driver:        remote
Last Activity: 2026-11-21 13:49:11 +0000 UTC

Nodes:
Name:             imgmatch-10
Endpoint:         unix:///tmp/buildkitd.sock
Status:           running
BuildKit version: v0.33.1
Platforms:        linux/amd64*, linux/arm64
Labels:
 org.mobyproject.buildkit.worker.executor: oci
GC Policy rule#0:
 All: false
`;

describe("docker buildx inspect", () => {
  it("tells of the BuildKit in an engine", () => {
    expect(readInspection(ofEngine)).toEqual({
      name: "default",
      driver: "docker",
      endpoint: "default",
      version: "0.8+unknown",
      rewritesTimestamps: false,
      attests: false,
      state: "running",
    });
  });

  it("tells of one on its own", () => {
    expect(readInspection(remote)).toMatchObject({
      name: "imgmatch-1",
      driver: "remote",
      endpoint: "unix:///tmp/buildkitd.sock",
      version: "0.33.1",
      rewritesTimestamps: true,
      attests: true,
    });
  });

  it.each([
    ["Buildkit:  v0.13.2", "0.13.2", true],
    ["Buildkit version: v0.12.5", "0.12.5", false],
    ["BuildKit version: v1.0.0", "1.0.0", true],
    ["Status: inactive", "?", false],
  ])("%s", (line, version, rewritesTimestamps) => {
    expect(readInspection(`Name: x\n${line}\n`)).toMatchObject({ version, rewritesTimestamps });
  });
});
