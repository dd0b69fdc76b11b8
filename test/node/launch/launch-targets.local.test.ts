import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { unitsOf } from "../../../src/node/launch/gpu-units.ts";
import type { LaunchRequest } from "../../../src/node/launch/target.ts";
import { apptainer } from "../../../src/node/launch/targets/apptainer.ts";
import { compose } from "../../../src/node/launch/targets/compose.ts";
import { podman } from "../../../src/node/launch/targets/docker-run.ts";
import { nvidiaDocker } from "../../../src/node/launch/targets/nvidia-docker.ts";
import { a100, gpuHost } from "../../resolve/support/hosts.ts";
import {
  everyLaunch,
  type Options,
  problemsOf,
  readOptions,
  refusal,
  type Shape,
} from "./support/documented.ts";
import { immutableReference } from "../../../src/oci/immutable-reference.ts";
import { requirement } from "../../resolve/support/locks.ts";
import { gpuModes } from "./support/requests.ts";
import { needs } from "../../support/needs.ts";
import { whyNot } from "../../support/programs.ts";

/** podman 4.3.1, podman-run(1); names of CDI for --device since 3.2. */
const podmanRun: Options = {
  "--rm": false,
  "--detach": false,
  "--restart": true,
  "--device": true,
  "--group-add": true,
  "--name": true,
  "--env": true,
  "--mount": true,
  "--publish": true,
  "--cpus": true,
  "--memory": true,
  "--entrypoint": true,
};

/** Docker 1.12, docker run: what nvidia-docker 1.0 knows (NVIDIA/nvidia-docker, branch 1.0, src/docker/docker.go); --cpus since 1.13. */
const dockerRun: Options = {
  "--rm": false,
  "--detach": false,
  "--restart": true,
  "--device": true,
  "--name": true,
  "--env": true,
  "--volume": true,
  "--volume-driver": true,
  "--publish": true,
  "--cpus": true,
  "--memory": true,
  "--entrypoint": true,
};

/** apptainer/apptainer 1.4.2, cmd/internal/cli/action_flags.go. */
const apptainerRun: Options = {
  "--no-eval": false,
  "--nv": false,
  "--rocm": false,
  "--mount": true,
  "--cpus": true,
  "--memory": true,
};

/** compose-spec/compose-spec, schema/compose-spec.json of 2026-06, service and devices. Docker Compose refuses other fields. */
const composeFile: Shape = {
  services: {
    "*": {
      image: "text",
      container_name: "text",
      ports: [{ target: "whole", published: "text", protocol: "text" }],
      restart: "text",
      entrypoint: ["text"],
      command: ["text"],
      environment: { "*": "text" },
      volumes: [{ type: "text", source: "text", target: "text", read_only: "yes or no" }],
      cpus: "number",
      mem_limit: "text",
      devices: ["text"],
      group_add: ["text"],
      deploy: {
        resources: {
          reservations: { devices: [{ driver: "text", device_ids: ["text"], capabilities: ["text"] }] },
        },
      },
    },
  },
};

const image = /^(docker:\/\/)?registry\.example\.com\/team\/cv-tf(:1\.12\.0-v3)?@sha256:a+$/;

describe.each([
  ["podman", podman, podmanRun, 2],
  ["nvidia-docker", nvidiaDocker, dockerRun, 2],
] as const)("%s run", (_name, target, options, start) => {
  it("gets options that it has, and then the image", () => {
    const launches = everyLaunch(target, target === nvidiaDocker ? [{}, { wrapper: "no" }] : [{}]);
    expect(launches.length).toBeGreaterThan(20);
    for (const { title, command } of launches)
      expect(readOptions(command?.argv.slice(start) ?? [], options).rest[0], title).toMatch(image);
  });
});

it("podman run asks a registry on loopback by plain http, as docker does", () => {
  const flagsFor = (repository: string) => {
    const reference = immutableReference(repository, "1.0", `sha256:${"a".repeat(64)}`);
    return podman
      .command({ ...gpuModes["no runtime"], requires: requirement(null), reference, args: [] })
      .argv.filter((word) => /tls/.test(word));
  };
  expect(flagsFor("127.0.0.1:5000/app")).toEqual(["--tls-verify=false"]);
  expect(flagsFor("localhost.example.com/app")).toEqual([]);
});

describe("nvidia-docker", () => {
  it("stops at no image that the wrapper would stop at", () => {
    const older = gpuHost([a100], "535.104.05", "12.2");
    const request: LaunchRequest = { ...gpuModes["NVIDIA runtime"], host: older, args: [] };
    expect(refusal(nvidiaDocker, request)).toMatch(/CUDA 12.8.1 under a driver of CUDA 12.2/);
    expect(refusal(nvidiaDocker, { ...request, settings: { wrapper: "no" } })).toBeNull();
    expect(refusal(nvidiaDocker, { ...request, host: gpuModes["NVIDIA runtime"].host })).toBeNull();
  });
});

describe("apptainer", () => {
  it("shows AMD GPUs by number to ROCr, and by their places among those to HIP", () => {
    const request: LaunchRequest = { ...gpuModes.AMD, args: [] };
    const units = unitsOf(request.host).slice(1);
    const { argv, env } = apptainer.command({ ...request, units });
    expect(argv).toContain("--rocm");
    expect(env).toEqual({ APPTAINERENV_ROCR_VISIBLE_DEVICES: "1", APPTAINERENV_HIP_VISIBLE_DEVICES: "0" });
    expect(apptainer.command({ ...request, settings: { rocm: "no" } }).argv).not.toContain("--rocm");
    expect(refusal(apptainer, { ...request, settings: { rocm: "maybe" } })).toMatch(/rocm=maybe/);
  });

  it("gets options that it has, and then the image", () => {
    const launches = everyLaunch(apptainer);
    expect(launches.length).toBeGreaterThan(15);
    for (const { title, command } of launches) {
      const [, ...words] = command?.argv ?? [];
      const at = words.findIndex((word) => word.startsWith("-"));
      expect(["run", "exec", "instance run"], title).toContain(words.slice(0, at).join(" "));
      expect(readOptions(words.slice(at), apptainerRun).rest[0], title).toMatch(image);
    }
  });

  it.each(["HOME", "UID", "PREPEND_PATH"])("does not pretend to set %s, which it keeps", (name) => {
    const request: LaunchRequest = { ...gpuModes["no GPU"], args: [], env: { [name]: "x" } };
    expect(refusal(apptainer, request)).toMatch(`LAUNCH_UNSUPPORTED: apptainer cannot set ${name}`);
  });
});

describe("a Compose file", () => {
  const launches = everyLaunch(compose);

  it("has fields of the specification alone", () => {
    expect(launches.length).toBeGreaterThan(20);
    for (const { title, documents } of launches)
      expect(
        documents.flatMap((each) => problemsOf(each, composeFile)),
        title,
      ).toEqual([]);
  });

  const install = "apt-get install docker-compose";
  const withPlugin = whyNot("docker", ["compose", "version"], { install });
  const why = whyNot("docker-compose", ["version"], { install }) && withPlugin;
  const program = withPlugin === null ? "docker compose" : "docker-compose";
  describe("is read by Docker Compose", needs(why), () => {
    let folder = "";
    beforeAll(() => {
      folder = mkdtempSync(join(tmpdir(), "imgmatch-compose-"));
    });
    afterAll(() => rmSync(folder, { recursive: true }));

    const config = (text: string) => {
      writeFileSync(join(folder, "compose.yaml"), text);
      return spawnSync("/bin/sh", ["-c", `${program} -f compose.yaml config -q`], {
        cwd: folder,
        encoding: "utf8",
      });
    };

    it.each(["batch, CDI, full", "service, NVIDIA runtime, with its program", "batch, bundled driver, full"])(
      "%s",
      (wanted) => {
        const text = launches
          .filter(({ title }) => title === wanted)
          .map(({ documents }) => stringify(documents[0], { version: "1.1" }))[0];
        const { status, stderr } = config(text ?? "");
        expect(status, stderr).toBe(0);
        // Else the command would say nothing.
        expect(config((text ?? "").replace("image:", "imgae:")).status).not.toBe(0);
      },
    );
  });
});
