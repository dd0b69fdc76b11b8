/** `--build-arg` of plan, render, export, publish and lock. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startFaultServer } from "../oci/registry/support/fault-server.ts";
import { makeFolder, writeIn } from "../support/folders.ts";
import { lockPlan } from "../support/plan-lock.ts";
import { runInProcess } from "../support/run-cli.ts";

const digest = `sha256:${"b".repeat(64)}`;
const front = `docker/dockerfile:1@${digest}`;

function project({ registry = "registry.example.com", args = "{ DEBUG: '0' }" } = {}): string {
  return makeFolder({
    "matrix.yaml": `name: app\nversion: "1"\nregistry: ${registry}/team\ntemplate: Dockerfile\nargs: ${args}\naxes:\n  march: [x86-64-v2]\n`,
    Dockerfile: `FROM registry.example.com/base@${digest}\nARG DEBUG\nARG LEVEL\nRUN cc -g$DEBUG -O$LEVEL\n`,
  });
}

async function run(folder: string, args: readonly string[], env = {}) {
  return runInProcess([...args, "--matrix", join(folder, "matrix.yaml")], {
    env: { HOME: folder, ...env },
    cwd: folder,
  });
}

describe("plan --build-arg", () => {
  test("goes before args: of the matrix, is an input, and so decides the tag", async () => {
    const folder = project();
    const tags = await Promise.all(
      [[], ["--build-arg", "DEBUG=0"], ["--build-arg", "DEBUG=1"], ["--build-arg", "LEVEL=2"]].map(
        async (flags) => JSON.parse((await run(folder, ["plan", "--json", ...flags])).out).cells[0].tag,
      ),
    );
    expect(tags[1]).toBe(tags[0]);
    expect(new Set(tags).size).toBe(3);
    const explained = await run(folder, ["plan", "--explain", "x86-64-v2", "--build-arg", "LEVEL"], {
      LEVEL: "3",
    });
    expect(explained.out).toMatch(/args DEBUG +0\n/);
    expect(explained.out).toMatch(/args LEVEL +3\n/);
  });

  test("is to be given again: without it the plan names the argument", async () => {
    const folder = project();
    await lockPlan(folder, "--build-arg", "DEBUG=1");
    expect((await run(folder, ["plan", "--all", "--build-arg", "DEBUG=1"])).out).toContain("keep  x86-64-v2");
    expect((await run(folder, ["plan"])).out).toContain("1 cell: 1 to build");
    const [cell] = JSON.parse((await run(folder, ["plan", "--json"])).out).cells;
    expect(cell.reason).toBe("its inputs changed: argument DEBUG");
  });

  test("is refused where it reaches no image: a Dockerfile without the ARG, a template that never names it", async () => {
    const folder = project();
    expect(await run(folder, ["plan", "--build-arg", "LEVLE=1"])).toMatchObject({
      exit: 2,
      err: expect.stringMatching(/^--build-arg LEVLE: ARGUMENT_UNDECLARED: .*\n.*did you mean LEVEL\?/),
    });
    const matrix = readFileSync(join(folder, "matrix.yaml"), "utf8");
    const templated = matrix.replace("template: Dockerfile", "template: t.hbs");
    writeIn(folder, "matrix.yaml", templated);
    writeIn(
      folder,
      "t.hbs",
      `FROM registry.example.com/base@${digest}\n{{> more}}\nRUN cc {{march.flags}}\n`,
    );
    writeIn(folder, "more.hbs", "ARG LEVEL\nENV DEBUG={{args.DEBUG}}\n");
    expect((await run(folder, ["plan", "--build-arg", "LEVLE=1"])).err).toContain("ARGUMENT_UNDECLARED");
    for (const given of ["LEVEL=1", "DEBUG=1", "HTTP_PROXY=http://proxy:1"])
      expect((await run(folder, ["plan", "--build-arg", given])).exit).toBe(0);
  });

  test("keeps proxies out of the inputs", async () => {
    const folder = project();
    const tagOf = async (...flags: string[]) =>
      JSON.parse((await run(folder, ["plan", "--json", ...flags])).out).cells[0].tag;
    expect(await tagOf("--build-arg", "HTTPS_PROXY=http://proxy:3128")).toBe(await tagOf());
  });

  test("is a template as the matrix's own are, and a {{ is never passed on", async () => {
    const folder = project();
    const explain = (value: string) =>
      run(folder, ["plan", "--explain", "x86-64-v2", "--build-arg", `LEVEL=${value}`]);
    expect((await explain("{{march.name}}")).out).toMatch(/args LEVEL +x86-64-v2\n/);
    expect(await explain("{{march.nam}}")).toMatchObject({
      exit: 2,
      err: expect.stringContaining("--build-arg LEVEL: TEMPLATE_UNKNOWN_NAME"),
    });
  });
});

describe("BUILDKIT_SYNTAX", () => {
  test.each([
    ["--build-arg", {}, ["--build-arg", "BUILDKIT_SYNTAX=docker/dockerfile:1"]],
    ["the matrix", { args: "{ BUILDKIT_SYNTAX: docker/dockerfile:1 }" }, []],
    ["a template in the matrix", { args: "{ BUILDKIT_SYNTAX: 'docker/dockerfile:{{version}}' }" }, []],
  ])("of %s is refused without a digest", async (_, options, flags) => {
    const { exit, err } = await run(project(options), ["plan", ...flags]);
    expect(exit).toBe(2);
    expect(err).toMatch(/REFERENCE_INVALID: .*docker\/dockerfile:1.* without a digest/);
    expect(err).toContain("fix: write docker/dockerfile:1@sha256:…, or begin the Dockerfile with # syntax=");
  });

  test("with a digest is an input", async () => {
    const folder = project();
    const flags = ["--build-arg", `BUILDKIT_SYNTAX=${front}`];
    const { out } = await run(folder, ["plan", "--explain", "x86-64-v2", ...flags]);
    expect(out).toMatch(new RegExp(`args BUILDKIT_SYNTAX +${front}`));
  });
});

describe("the other commands", () => {
  test("render writes what a template makes of it, and --check with the same flag finds no drift", async () => {
    const folder = project();
    const matrix = readFileSync(join(folder, "matrix.yaml"), "utf8");
    writeIn(folder, "matrix.yaml", matrix.replace(": Dockerfile", ": t.hbs"));
    writeIn(folder, "t.hbs", `FROM registry.example.com/base@${digest}\nENV DEBUG={{args.DEBUG}}\n`);
    await run(folder, ["render", "--build-arg", "DEBUG=7"]);
    expect(readFileSync(join(folder, "images/x86-64-v2.Dockerfile"), "utf8")).toContain("ENV DEBUG=7\n");
    expect((await run(folder, ["render", "--check", "--build-arg", "DEBUG=7"])).exit).toBe(0);
    expect((await run(folder, ["render", "--check"])).exit).toBe(1);
  });

  test("export bake hands it on, proxies too", async () => {
    const flags = ["--build-arg", "DEBUG=7", "--build-arg", "HTTP_PROXY=http://proxy:1"];
    const { out } = await run(project(), ["export", "bake", ...flags]);
    expect(JSON.parse(out).target["x86-64-v2"].args).toMatchObject({
      DEBUG: "7",
      HTTP_PROXY: "http://proxy:1",
    });
  });

  test("publish without it says which argument the images were built with", async () => {
    const { host } = await startFaultServer((_, response) => response.writeHead(404).end("{}"));
    const folder = project({ registry: host });
    await lockPlan(folder, "--build-arg", "DEBUG=1");
    const { err, exit } = await run(folder, ["publish"]);
    expect(exit).toBe(2);
    expect(err).toContain("--build-arg DEBUG");
  });
});
