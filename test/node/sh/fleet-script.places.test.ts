import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { fleetScript } from "../../../src/node/sh/fleet-script.ts";
import { makeFolder } from "../../support/folders.ts";
import { needs } from "../../support/needs.ts";
import { wholeFleet } from "./support/fleet.ts";
import { placeOf, whyNoShellcheck, whyNoVersion, whyNot } from "../../support/programs.ts";

const script = async () => (await fleetScript(wholeFleet(), { version: "1.0.0" })).text;
const read = (name: string) => readFileSync(`docs/node/${name}`, "utf8");

test("the prologs have nothing that shellcheck finds", {
  ...needs(whyNoShellcheck()),
}, () => {
  const files = ["docs/node/slurm-prolog.sh", "docs/node/slurm-task-prolog.sh"];
  expect(spawnSync("shellcheck", files, { encoding: "utf8" }).stdout).toBe("");
});

describe("docs/node/cloud-init.yaml", () => {
  const filled = async () =>
    read("cloud-init.yaml").replace(
      "content: FLEET",
      `content: ${gzipSync(await script()).toString("base64")}`,
    );

  test("writes the script and the unit as they are", async () => {
    const [fleet, unit] = parse(await filled()).write_files;
    expect(gunzipSync(Buffer.from(fleet.content, "base64")).toString()).toBe(await script());
    expect(unit.content).toBe(read("imgmatch-image.service"));
    expect(unit.path).toMatch(/imgmatch-image[.]service$/);
  });

  test("is what cloud-init takes", {
    ...needs(whyNoVersion("cloud-init")),
    timeout: 60_000,
  }, async () => {
    const taken = (text: string) => {
      const file = join(makeFolder({ "user-data": text }), "user-data");
      return spawnSync("cloud-init", ["schema", "--config-file", file], { encoding: "utf8" });
    };
    const { status, stdout, stderr } = taken(await filled());
    expect({ status, stdout: stdout.startsWith("Valid") }, stderr).toEqual({ status: 0, stdout: true });
    expect(taken("#cloud-config\nwrite_files:\n  - paht: x\n").status).not.toBe(0);
  });
});

/** A node that has nothing but busybox: the container's part is played by busybox too. */
describe("the initContainer of docs/node/daemonset.yaml", () => {
  const why =
    process.getuid?.() !== 0
      ? "chroot needs root"
      : whyNot("busybox", ["true"], { install: "apt-get install busybox-static" });

  test("writes the node's image with the node's own programs, whole or not at all", needs(why), async () => {
    const features = "fpu cx8 cmov mmx fxsr sse sse2 syscall lm";
    const folder = makeFolder({
      "fleet/fleet.sh": await script(),
      "host/proc/cpuinfo": `processor: 0\nvendor_id: GenuineIntel\nflags: ${features}\n`,
      "host/proc/sys/kernel/osrelease": "6.8.0\n",
      "host/bin/.keep": "",
    });
    const busybox = readFileSync(placeOf("busybox") ?? "");
    writeFileSync(join(folder, "host/bin/busybox"), busybox, { mode: 0o755 });
    for (const name of ["sh", "awk", "tr", "uname"]) symlinkSync("busybox", join(folder, "host/bin", name));
    mkdirSync(join(folder, "host/dev"));
    writeFileSync(join(folder, "host/dev/null"), "");
    const [container] = parse(read("daemonset.yaml")).spec.template.spec.initContainers;
    const [, , text] = container.command;
    const here = text.replaceAll("/host", join(folder, "host")).replaceAll("/fleet/", `${folder}/fleet/`);
    const start = () =>
      spawnSync("busybox", ["sh", "-ec", here], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, KUBERNETES_SERVICE_HOST: "10.0.0.1" },
      });
    expect(start()).toMatchObject({ status: 0, stderr: "" });
    const image = () => readFileSync(join(folder, "host/run/imgmatch/image"), "utf8");
    expect(image()).toMatch(process.arch === "x64" ? /:none_x86-64@sha256:[0-9a-f]{64}\n$/ : /@sha256:/);
    writeFileSync(join(folder, "fleet/fleet.sh"), "echo half; exit 4\n");
    expect(start().status).toBe(4);
    expect(existsSync(join(folder, "host/run/imgmatch/image"))).toBe(false);
  });
});
