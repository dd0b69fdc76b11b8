import { describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../src/launch/target.ts";
import { nomad } from "../../src/launch/targets/nomad.ts";
import { everyLaunch, problemsOf, refusal, type Shape } from "./support/documented.ts";
import { gpuModes } from "./support/requests.ts";

/** hashicorp/nomad 1.10.0, api/constraint.go, Constraint. */
const constraint: Shape = { LTarget: "text", RTarget: "text", Operand: "text" };

/**
 * hashicorp/nomad 1.10.0: api/jobs.go (Job), api/tasks.go (TaskGroup, Task, RestartPolicy, ReschedulePolicy), api/resources.go
 * (Resources, RequestedDevice), and for Config drivers/docker/config.go (taskConfigSpec, mountBodySpec). Nomad ignores fields
 * that it does not know.
 */
const document: Shape = {
  Job: {
    ID: "text",
    Name: "text",
    Type: "text",
    Datacenters: ["text"],
    Constraints: [constraint],
    TaskGroups: [
      {
        Name: "text",
        Count: "whole",
        Constraints: [constraint],
        RestartPolicy: { Interval: "whole", Attempts: "whole", Delay: "whole", Mode: "text" },
        ReschedulePolicy: { Attempts: "whole", Interval: "whole", Delay: "whole", Unlimited: "yes or no" },
        Tasks: [
          {
            Name: "text",
            Driver: "text",
            Config: {
              image: "text",
              entrypoint: ["text"],
              args: ["text"],
              mount: [{ type: "text", source: "text", target: "text", readonly: "yes or no" }],
            },
            Env: { "*": "text" },
            Resources: {
              CPU: "whole",
              Cores: "whole",
              MemoryMB: "whole",
              Devices: [{ Name: "text", Count: "whole", Constraints: [constraint] }],
            },
          },
        ],
      },
    ],
  },
};

describe("a Nomad job", () => {
  it("has fields of the API alone", () => {
    const launches = everyLaunch(nomad);
    expect(launches.length).toBeGreaterThan(30);
    for (const { title, documents } of launches)
      expect(
        documents.flatMap((each) => problemsOf(each, document)),
        title,
      ).toEqual([]);
  });

  const request: LaunchRequest = { ...gpuModes.CDI, args: [] };

  it("is refused to an image that bundles its driver, over which the NVIDIA runtime would mount the host's", () => {
    expect(refusal(nomad, { ...gpuModes["bundled driver"], args: [] })).toMatch(
      /^LAUNCH_UNSUPPORTED: nomad cannot run/,
    );
  });

  it("takes whole cores alone, as shares are counted in MHz", () => {
    expect(refusal(nomad, { ...request, cpus: 0.5 })).toMatch(/0.5 CPUs/);
    expect(refusal(nomad, { ...request, cpus: 2 })).toBeNull();
  });

  it.each([
    [{ args: ["$" + "{HOME}"] }],
    [{ args: [], env: { A: "$" + "{NOMAD_TASK_DIR}" } }],
    [{ args: [], mounts: [{ source: "/$" + "{a.b}", target: "/x", readOnly: true }] }],
  ] as const)("passes on no text that the client would fill in: %j", (more) => {
    expect(refusal(nomad, { ...request, ...more })).toMatch(/variable's value/);
  });
});
