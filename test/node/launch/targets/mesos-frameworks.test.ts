import { describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { chronos, marathon, mesos } from "../../../../src/node/launch/targets/mesos-frameworks.ts";
import {
  everyLaunch,
  type Options,
  problemsOf,
  readOptions,
  refusal,
  type Shape,
} from "../support/documented.ts";
import { gpuModes } from "../support/requests.ts";

/** apache/mesos 1.11, src/cli/execute.cpp, Flags. */
const execute: Options = {
  "--master": true,
  "--name": true,
  "--docker_image": true,
  "--framework_capabilities": true,
  "--resources": true,
  "--env": true,
  "--volumes": true,
  "--command": true,
  "--shell": false,
};

/** apache/mesos 1.11, include/mesos/v1/mesos.proto, Volume. mesos-execute refuses what is not in it. */
const volumes: Shape = [
  { container_path: "text", mode: "text", source: { type: "text", host_path: { path: "text" } } },
];

/** mesosphere/marathon 1.10, types/app.raml, appContainer.raml, docker.raml, volumes.raml (AppHostVolume), portDefinition.raml, constraint.raml. */
const app: Shape = {
  id: "text",
  instances: "whole",
  cpus: "number",
  mem: "number",
  gpus: "whole",
  container: {
    type: "text",
    docker: { image: "text" },
    volumes: [{ containerPath: "text", hostPath: "text", mode: "text" }],
  },
  portDefinitions: [{ port: "whole", protocol: "text" }],
  requirePorts: "yes or no",
  cmd: "text",
  args: ["text"],
  env: { "*": "text" },
  constraints: [["text", "text", "text"]],
};

/** mesos/chronos 3.0.2, utils/JobDeserializer.scala: all that it reads of a job, and it says nothing of the rest. */
const job: Shape = {
  name: "text",
  schedule: "text",
  retries: "whole",
  owner: "text",
  cpus: "number",
  mem: "number",
  container: {
    type: "text",
    image: "text",
    volumes: [{ containerPath: "text", hostPath: "text", mode: "text" }],
  },
  shell: "yes or no",
  command: "text",
  arguments: ["text"],
  environmentVariables: [{ name: "text", value: "text" }],
  constraints: [["text", "text", "text"]],
};

const onCpus: LaunchRequest = { ...gpuModes["no GPU"], args: ["--steps", "10"] };
const numeric = { key: "image.cv-tf", value: "1.10" };

describe("mesos-execute", () => {
  it("gets options that it has", () => {
    const launches = everyLaunch(mesos);
    expect(launches.length).toBeGreaterThan(5);
    for (const { title, command } of launches) {
      const { found, rest } = readOptions(command?.argv.slice(1) ?? [], execute);
      expect(rest, title).toEqual([]);
      const mounts = found.find(({ name }) => name === "--volumes")?.value;
      if (mounts != null) expect(problemsOf(JSON.parse(mounts), volumes), title).toEqual([]);
    }
  });
});

describe("an app of Marathon", () => {
  it("has fields of its types alone", () => {
    const launches = everyLaunch(marathon);
    expect(launches.length).toBeGreaterThan(10);
    for (const { title, documents } of launches)
      expect(
        documents.flatMap((each) => problemsOf(each, app)),
        title,
      ).toEqual([]);
  });

  it("tells no agents apart by a tag that Mesos reads as a number", () => {
    const request = { ...onCpus, task: "service" } as const;
    expect(refusal(marathon, { ...request, node: numeric })).toMatch(
      /the tag 1.10: Mesos reads it as a number/,
    );
    expect(refusal(marathon, { ...request, node: { ...numeric, value: "1.10.0" } })).toBeNull();
  });

  it.each([
    ["/team/app", "/team/app"],
    ["team/v1.2/app", "/team/v1.2/app"],
  ])("has the path %s as its id", (name, id) => {
    const output = marathon.launch({ ...onCpus, task: "service", name });
    expect(output).toMatchObject({ documents: [{ id }] });
  });

  it.each(["", "/", "My_App", "a//b", "../../a", "-a", "a/", "ü"])(
    "is given no other name than %j",
    (name) => {
      expect(refusal(marathon, { ...onCpus, task: "service", name })).toMatch(/name an app/);
    },
  );
});

describe("a job of Chronos", () => {
  const written = (more: Partial<LaunchRequest>) => {
    const output = chronos.launch({ ...onCpus, ...more });
    if (output.form !== "documents") throw new Error("no document");
    return output.documents[0];
  };

  it("has fields that Chronos reads alone", () => {
    const launches = everyLaunch(chronos, [{}, { owner: "a@example.com", retries: "0" }]);
    expect(launches.length).toBeGreaterThan(5);
    for (const { title, documents } of launches)
      expect(
        documents.flatMap((each) => problemsOf(each, job)),
        title,
      ).toEqual([]);
  });

  it("is refused to images with GPU code: Chronos has no word for GPUs", () => {
    expect(refusal(chronos, { ...gpuModes.CDI, args: [] })).toMatch(
      /^LAUNCH_UNSUPPORTED: chronos cannot ask for GPUs/,
    );
  });

  it("names the program again as its own first argument, as Mesos' exec wants", () => {
    expect(written({ program: "python" })).toMatchObject({
      shell: false,
      command: "python",
      arguments: ["python", "--steps", "10"],
    });
  });

  it("leaves the command out to run the image's entrypoint", () => {
    expect(written({})).toMatchObject({ shell: false, arguments: ["--steps", "10"] });
    expect(written({})).not.toHaveProperty("command");
  });

  it.each([
    [{ env: { HOST: "x" } }, /set HOST/],
    [{ env: { CHRONOS_JOB_NAME: "x" } }, /set CHRONOS_JOB_NAME/],
    [{ program: "httpd" }, /start httpd: a command that begins with http or ftp is downloaded/],
    [{ name: "a b" }, /name a job "a b"/],
    [{ node: numeric }, /the tag 1.10/],
  ] as const)("drops nothing silently: %j", (more, message) => {
    expect(refusal(chronos, { ...onCpus, ...more })).toMatch(message);
  });
});
