/** What a bump would lose: `check NEW --against OLD`, and the same for a fleet's own change. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { findMarch, marchFeatures } from "../../src/hardware/cpu-marches.ts";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { CudaRequirement, Requirement } from "../../src/lock/requirement.ts";
import { gpuFile, makeImage, makeTar } from "../inspect/support/make-image.ts";
import { makeLayout } from "../inspect/support/make-layout.ts";
import { a100, cpuHost, gpuHost, h100, levelV3, rtx4090, v100 } from "../resolve/support/hosts.ts";
import { cuda, image, lockOf } from "../resolve/support/locks.ts";
import { makeFolder } from "../support/folders.ts";
import { matrixText } from "../support/matrices.ts";
import { runInProcess } from "../support/run-cli.ts";

const driver = (minimum: string) => ({ driver: { mode: "host", minimum } }) as const;
const cuda12 = cuda("12.8.1", ["sm_70", "sm_75", "sm_80", "sm_89", "sm_90"]);
const cuda13 = cuda("13.0.2", ["sm_75", "sm_80", "sm_89", "sm_90"], driver("580.65.06"));

/** An image with a label, as a layout on the disk. */
function labelled(needs: CudaRequirement | null, architecture = "amd64", features = levelV3): string {
  const requires: Requirement = { cpu: { march: "any", features }, cuda: needs };
  return makeLayout(
    makeImage([makeTar([])], architecture, { "dev.imgmatch.requires": JSON.stringify(requires) }),
  );
}

const arm = gpuHost([h100], "580.95.05", "13.0", {
  platform: "linux/arm64",
  cpu: { vendor: "ARM", model: "Neoverse-V2", features: ["asimd", "fp"], level: "armv8-a" },
});
const hosts = makeFolder({
  "v100.json": formatHostFacts(gpuHost([v100], "580.95.05", "13.0")),
  "h100.json": formatHostFacts(gpuHost([h100], "580.95.05", "13.0")),
  "geforce.json": formatHostFacts(gpuHost([rtx4090], "570.86.15", "12.8")),
  "a100-old.json": formatHostFacts(gpuHost([a100], "550.54.15", "12.4")),
  "cpu.json": formatHostFacts(cpuHost()),
});
const armHosts = makeFolder({ "gh200.json": formatHostFacts(arm) });

const compare = async (next: string, old: string, ...more: string[]) => {
  const { exit, out, err } = await runInProcess(["check", next, "--against", old, "--json", ...more]);
  const { changes, ...counts } = JSON.parse(out);
  return { exit, err, counts, changes };
};

describe("check --against", () => {
  test("a new CUDA major raises the driver's floor and drops a card: each with its reason", async () => {
    const [old, next] = [labelled(cuda12), labelled(cuda13)];
    const { exit, counts, changes } = await compare(next, old, "--hosts", hosts);
    expect(exit).toBe(1);
    expect(counts).toMatchObject({ subject: next, against: old, hosts: 5, same: 1, neither: 1 });
    expect(changes).toEqual([
      { kind: "lost", why: "driver floor 525.60.13 → 580.65.06", hosts: ["a100-old", "geforce"] },
      {
        kind: "lost",
        why: "Tesla V100-SXM2-32GB dropped: no code for compute capability 7.0",
        hosts: ["v100"],
      },
    ]);
    const back = await compare(old, next, "--hosts", hosts);
    expect(back.exit).toBe(0);
    expect(back.changes.map(({ kind }: { kind: string }) => kind)).toEqual(["gained", "gained"]);
  });

  test("the same image loses nobody", async () => {
    const old = labelled(cuda12);
    expect(await compare(old, old, "--hosts", hosts)).toMatchObject({ exit: 0, changes: [] });
  });

  test("machine types without a driver are no hosts that run neither", async () => {
    const old = labelled(cuda12);
    const { exit, err } = await runInProcess(["check", old, "--against", old, "--catalog", "aws"]);
    expect({ exit, err }).toMatchObject({ exit: 2, err: expect.stringContaining("--driver") });
  });

  test("a compatibility package serves no GeForce, and a data center's card by its own means alone", async () => {
    const compat = cuda("13.0.2", cuda13.code, {
      driver: {
        mode: "compat",
        package: "580.95.05",
        cuda: "13.0",
        branches: ["535", "550", "570"],
        onPath: "always",
      },
    });
    const { exit, changes } = await compare(labelled(compat), labelled(cuda12), "--hosts", hosts);
    expect(exit).toBe(1);
    expect(changes).toContainEqual(
      expect.objectContaining({ kind: "lost", hosts: expect.arrayContaining(["geforce"]) }),
    );
    expect(changes).toContainEqual({
      ...{
        kind: "slower",
        why: "driver that knows the toolkit: older → older, with a package",
        hosts: ["a100-old"],
      },
    });
  });

  test("an arm64 tag without GPU code loses the machines with GPUs", async () => {
    const [old, next] = [labelled(cuda12, "arm64", ["asimd"]), labelled(null, "arm64", ["asimd"])];
    const { exit, changes } = await compare(next, old, "--hosts", armHosts);
    expect(exit).toBe(1);
    expect(changes).toEqual([
      { kind: "lost", why: "GPU before CPU: GPU code → no GPU code", hosts: ["gh200"] },
    ]);
  });

  test("code that is farther from the card is slower, and a feature more is told by its name", async () => {
    const near = cuda("12.8.1", ["sm_80", "sm_89", "sm_90"]);
    const slower = await compare(
      labelled(cuda("12.8.1", ["sm_80", "sm_90"])),
      labelled(near),
      "--hosts",
      hosts,
    );
    expect(slower).toMatchObject({ exit: 0 });
    expect(slower.changes[0]).toMatchObject({ kind: "slower", hosts: ["geforce"] });
    const avx = labelled(null, "amd64", [...levelV3, "amx_tile"]);
    const { exit, changes } = await compare(avx, labelled(null), "--hosts", hosts);
    expect(exit).toBe(1);
    expect(changes[0]).toMatchObject({ kind: "lost", why: expect.stringContaining("amx_tile") });
  });

  test("files that no longer tell prove nothing: exit 1", async () => {
    const folder = makeFolder({});
    const file = (name: string, arch: number) => {
      writeFileSync(join(folder, name), gpuFile(arch));
      return join(folder, name);
    };
    const { exit, changes } = await compare(
      file("new.so", 90),
      labelled(cuda12),
      "--host",
      join(hosts, "h100.json"),
    );
    expect(exit).toBe(1);
    expect(changes).toMatchObject([{ kind: "unproved", hosts: ["this host"] }]);
  });

  test("a catalog, lines and Markdown", async () => {
    const words = ["check", labelled(cuda13), "--against", labelled(cuda12)];
    const machines = ["--catalog", "aws", "--driver", "580.95.05"];
    const lines = await runInProcess([...words, ...machines]);
    expect(lines.exit).toBe(1);
    expect(lines.out).toMatch(/^loses hosts: .+ \d+ lost/);
    expect(lines.out).toMatch(
      /\n {2}lost 3 hosts: Tesla V100-SXM2-16GB dropped: no code for compute capability 7\.0 \(p3\.16xlarge, /,
    );
    const { out } = await runInProcess([...words, ...machines, "--markdown"]);
    expect(out).toMatch(/^### loses hosts/);
    expect(out).toContain("| lost |");
    const wrong = await runInProcess(["check", hosts, "--markdown"]);
    expect(wrong).toMatchObject({ exit: 2, err: expect.stringContaining("--against") });
  });
});

describe("plan --against", () => {
  const matrixOf = (marches: string) =>
    matrixText(`template: Dockerfile.hbs\nbase: debian:12\naxes:\n  march: [${marches}]\n`);
  const requires = (march: string, features: readonly string[]): Requirement => ({
    cpu: { march, features },
    cuda: null,
  });

  const hostOf = (level: string) => {
    const march = findMarch(level);
    const features = march === null ? expect.fail(level) : marchFeatures(march);
    return formatHostFacts(cpuHost({ cpu: { vendor: "GenuineIntel", model: "x", features, level } }));
  };

  test("says which hosts the matrix no longer serves, by what was measured where the cell is the same", async () => {
    const lock = lockOf({
      v3: image({ requires: requires("x86-64-v3", levelV3) }),
    });
    const root = makeFolder({
      "matrix.yaml": matrixOf("x86-64-v4"),
      "Dockerfile.hbs": "FROM {{base}}\nENV M={{march.name}}\n",
      "old.lock.json": formatLock(lock),
      "hosts/v4.json": hostOf("x86-64-v4"),
      "hosts/v3.json": hostOf("x86-64-v3"),
    });
    const words = ["plan", "--matrix", join(root, "matrix.yaml"), "--against", join(root, "old.lock.json")];
    const { exit, out } = await runInProcess([...words, "--hosts", join(root, "hosts"), "--json"]);
    expect(exit).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      hosts: 2,
      same: 1,
      changes: [{ kind: "lost", hosts: ["v3"], why: expect.stringContaining("avx512") }],
    });
    const without = await runInProcess(words);
    expect(without).toMatchObject({ exit: 2, err: expect.stringContaining("--hosts FILE") });
    writeFileSync(join(root, "matrix.yaml"), matrixOf("x86-64-v3, x86-64-v4"));
    expect((await runInProcess([...words, "--hosts", join(root, "hosts")])).exit).toBe(0);
  });
});
