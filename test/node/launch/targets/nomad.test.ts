import { describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { nomad } from "../../../../src/node/launch/targets/nomad.ts";
import { everyLaunch, problemsOf, refusal, type Shape } from "../support/documented.ts";
import { gpuModes } from "../support/requests.ts";

/** hashicorp/nomad 1.10.0, api/constraint.go, Constraint. */
const constraint: Shape = { LTarget: "text", RTarget: "text", Operand: "text" };

/**
 * hashicorp/nomad 1.10.0: api/jobs.go (Job), api/tasks.go (TaskGroup, Task, RestartPolicy, ReschedulePolicy), api/resources.go
 * (Resources, RequestedDevice, NetworkResource, Port), and for Config drivers/docker/config.go (taskConfigSpec, mountBodySpec). Nomad ignores fields
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
        Networks: [{ ReservedPorts: [{ Label: "text", Value: "whole", To: "whole" }] }],
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
              ports: ["text"],
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
    [`$${"{HOME}"}`, `$$${"{HOME}"}`],
    [`$${"{A:-1} %{http_code}"}`, `$$${"{A:-1} %%{http_code}"}`],
    [`$$${"{A}"} $HOME 100% $(id)`, `$$$${"{A}"} $HOME 100% $(id)`],
  ])("writes %j so that it is no template of HCL", (text, written) => {
    const mounts = [{ source: `/${text}`, target: `/x${text}`, readOnly: true }];
    const output = nomad.launch({ ...request, program: text, args: [text], mounts });
    expect(JSON.stringify(output)).toContain(
      JSON.stringify({ entrypoint: [written], args: [written] }).slice(1, -1),
    );
    expect(JSON.stringify(output)).toContain(
      JSON.stringify({ source: `/${written}`, target: `/x${written}` }).slice(1, -1),
    );
  });

  it("passes on no variable that the client would fill in", () => {
    const said = refusal(nomad, { ...request, env: { A: `$${"{NOMAD_TASK_DIR}"}` } });
    expect(said).toMatch(/variable's value/);
    expect(refusal(nomad, { ...request, env: { A: `$${"{A:-1} %{b}"}` } })).toBeNull();
  });
});
