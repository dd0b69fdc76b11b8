import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LaunchRequest } from "../../../../src/node/launch/target.ts";
import { zun } from "../../../../src/node/launch/targets/zun.ts";
import { parseImmutableReference } from "../../../../src/oci/immutable-reference.ts";
import { everyLaunch, type Options, readOptions, refusal } from "../support/documented.ts";
import { everything, gpuModes } from "../support/requests.ts";
import { needs } from "../../../support/needs.ts";
import { whyNot } from "../../../support/programs.ts";

/** python-zunclient 5.5.0, zunclient/osc/v1/containers.py, RunContainer. */
const run: Options = {
  "--name": true,
  "--restart": true,
  "--environment": true,
  "--hint": true,
  "--cpu": true,
  "--memory": true,
  "--entrypoint": true,
};

const both = { image: "tag", labels: "yes" };
const request: LaunchRequest = { ...gpuModes["no GPU"], args: ["--steps", "10"], settings: both };

describe("openstack appcontainer run", () => {
  it("gets options that it has", () => {
    const launches = everyLaunch(zun, [both]);
    expect(launches.length).toBeGreaterThan(3);
    for (const { title, command } of launches) {
      const { rest } = readOptions(command?.argv.slice(3) ?? [], run);
      expect(rest[0], title).toBe("registry.example.com/team/cv-tf:1.12.0-v3");
    }
  });

  it.each([
    [{ settings: {} }, /it drops the digest and pulls the tag/],
    [{ reference: parseImmutableReference(`a/b@sha256:${"a".repeat(64)}`) }, /drops the digest/],
    [
      { settings: { image: "tag" }, node: { key: "image.x", value: "y" } },
      /unless its scheduler has LabelFilter on/,
    ],
    [{ env: { A: "b,c" } }, /pass A alone/],
    [{ mounts: everything.mounts }, /mount a folder/],
    [{ ...gpuModes.CDI }, /hand out GPUs/],
  ] as const)("drops nothing silently: %j", (more, message) => {
    expect(refusal(zun, { ...request, ...more })).toMatch(message);
  });
});

it("keeps the arguments' hyphens away from the client", () => {
  const words = (args: readonly string[]) => {
    const output = zun.launch({ ...request, args });
    return output.form === "command" ? output.command.argv.slice(-1 - args.length) : [];
  };
  expect(words(["train", "-v"])).toEqual(["--", "train", "-v"]);
  expect(words(["train"])).toEqual(["registry.example.com/team/cv-tf:1.12.0-v3", "train"]);
});

const client = process.env.IMGMATCH_OPENSTACK_PROGRAM ?? "openstack";
const whyNoClient = whyNot(client, ["appcontainer", "run", "--help"], {
  install: "pip install python-openstackclient python-zunclient, or IMGMATCH_OPENSTACK_PROGRAM",
});

describe("python-zunclient reads it", needs(whyNoClient), () => {
  const bodies: unknown[] = [];
  // As much of the API as `run` asks of it.
  const server = createServer((asked, answer) => {
    let text = "";
    asked.on("data", (part) => {
      text += part;
    });
    asked.on("end", () => {
      answer.setHeader("content-type", "application/json");
      const version = { id: "v1", status: "CURRENT", min_version: "1.1", max_version: "1.40", links: [] };
      if (asked.method === "POST") bodies.push(JSON.parse(text));
      answer.end(
        JSON.stringify(asked.method === "POST" ? { uuid: "u", links: [] } : { versions: [version] }),
      );
    });
  });
  let port = 0;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    port = (server.address() as AddressInfo).port;
  });
  afterAll(() => void server.close());

  async function sent(more: Partial<LaunchRequest>): Promise<unknown> {
    const output = zun.launch({ ...request, ...more });
    if (output.form !== "command") throw new Error("no command");
    const child = spawn(client, output.command.argv.slice(1), {
      env: { ...process.env, OS_AUTH_TYPE: "none", OS_ENDPOINT: `http://127.0.0.1:${port}/v1` },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let errors = "";
    child.stderr.on("data", (part) => {
      errors += part;
    });
    const status = await new Promise((resolve) => child.once("close", resolve));
    expect(status, errors).toBe(0);
    return bodies.pop();
  }

  it("with everything", async () => {
    const { mounts: _, ...more } = everything;
    const node = { key: "image.cv-tf", value: "1.12.0-v3" };
    expect(await sent({ ...more, node, program: "/usr/bin/my train", task: "service" })).toMatchObject({
      name: "night-run",
      image: "registry.example.com/team/cv-tf:1.12.0-v3",
      cpu: "4",
      memory: "16384",
      environment: everything.env,
      hints: { "label:imgmatch.image.cv-tf": "1.12.0-v3" },
      entrypoint: ["/usr/bin/my train"],
      restart_policy: { Name: "unless-stopped" },
      command: ["--steps", "10"],
    });
  });

  it("arguments that are options of the client too", async () => {
    const args = ["-v", "--debug", "--help", "--", "--timing"];
    expect(await sent({ args })).toMatchObject({ command: args });
  });

  it("values with commas, when there are two", async () => {
    const env = { A: "b,c;d=e", B: "f" };
    expect(await sent({ env })).toMatchObject({ environment: env });
  });
});
