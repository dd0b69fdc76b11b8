/**
 * Captured machines get the image that was built for their CPU: the demo's program is compiled for each of their marches, opened,
 * and measured, and every machine asks which image of the whole fleet is its own. The captures (archspec's) lie beside the
 * checkout and are read in place. Compilers: g++, Debian's cross compilers, and clang for marches that they do not know.
 */

import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pLimit from "p-limit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type CpuArchitecture,
  compilerFlags,
  findMarch,
  type March,
} from "../../src/hardware/cpu-marches.ts";
import { readCpu } from "../../src/host/cpu/cpu-facts.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { auditImage } from "../../src/inspect/audit/audit-image.ts";
import type { ImageAudit } from "../../src/lock/image-audit.ts";
import { openFromFolder } from "../../src/inspect/image/from-folder.ts";
import { noCache } from "../../src/inspect/image/layer-cache.ts";
import type { Lock } from "../../src/lock/lock.ts";
import { checkFit } from "../../src/resolve/check-fit.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { cpuHost } from "../resolve/support/hosts.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { needs } from "../support/needs.ts";

const samples = new URL("../../../shared/samples/", import.meta.url);
const sources = fileURLToPath(new URL("../../templates/sgemm/", import.meta.url));
const run = promisify(execFile);

interface Machine {
  readonly capture: string;
  readonly march: string;
  /** Features of the march that this machine does not show. */
  readonly hides?: string;
  /** The image of another march, where that one is as good. */
  readonly gets?: string;
}

const machines: readonly Machine[] = [
  { capture: "linux-centos7-cascadelake", march: "cascadelake" },
  { capture: "linux-rhel6-piledriver", march: "bdver2" },
  { capture: "linux-rhel7-broadwell", march: "broadwell" },
  { capture: "linux-rhel7-haswell", march: "haswell" },
  { capture: "linux-rhel7-ivybridge", march: "ivybridge" },
  { capture: "linux-rhel7-zen", march: "znver1" },
  { capture: "linux-rocky8.5-zen4", march: "znver4" },
  { capture: "linux-scientific7-k10", march: "amdfam10" },
  { capture: "linux-ubuntu20.04-zen3", march: "znver3" },
  // Named after the flags that its kernel prints; its CPU is a Core Ultra 9 285.
  { capture: "linux-ubuntu24.04-alderlake", march: "arrowlake-s" },
  { capture: "linux-ubuntu26.04-arrowlake_s", march: "arrowlake-s" },
  { capture: "linux-unknown-sapphirerapids", march: "sapphirerapids" },
  // archspec keeps it as a generic machine; its CPU is a Xeon E5 v3.
  { capture: "linux-rhel7-x86_64_v3", march: "haswell" },
  { capture: "linux-amazon-cortex_a72", march: "cortex-a72" },
  { capture: "linux-amazon-neoverse_n1", march: "neoverse-n1" },
  { capture: "linux-amazon-neoverse_v1", march: "neoverse-v1" },
  { capture: "linux-rhel8-neoverse_v1", march: "neoverse-v1", hides: "paca pacg" },
  { capture: "linux-rhel9-neoverse_n2", march: "neoverse-n2", hides: "paca pacg rng" },
  // Compilers emit the same for both cores. clang 15 and 16 count cryptography as a part of N2 alone, so N2 counts as more.
  { capture: "linux-ubuntu22.04-neoverse_v2", march: "neoverse-v2", hides: "rng", gets: "neoverse-n2" },
  { capture: "linux-rocky8-a64fx", march: "a64fx" },
  { capture: "linux-centos7-thunderx2", march: "thunderx2" },
  { capture: "linux-ubuntu22.04-ampere1", march: "ampere1" },
  { capture: "linux-asahi-m1", march: "apple-m1" },
  { capture: "linux-centos7-power8le", march: "power8" },
  { capture: "linux-rhel8-power9", march: "power9" },
  { capture: "linux-unknown-power10", march: "power10" },
];

/** Of every architecture. */
const levels = "x86-64 x86-64-v2 x86-64-v3 x86-64-v4 armv8-a armv8.2-a armv9-a power8".split(" ");

const clangs = ["clang++-22", "clang++-19", "clang++-16"];
const compilers: Readonly<Record<CpuArchitecture, readonly (readonly string[])[]>> = {
  amd64: [["g++"], ...clangs.map((clang) => [clang, "--target=x86_64-linux-gnu"])],
  arm64: [["aarch64-linux-gnu-g++"], ...clangs.map((clang) => [clang, "--target=aarch64-linux-gnu"])],
  ppc64le: [
    ["powerpc64le-linux-gnu-g++"],
    ...clangs.map((clang) => [clang, "--target=powerpc64le-linux-gnu"]),
  ],
  riscv64: [["riscv64-linux-gnu-g++"]],
};

const missing =
  process.arch !== "x64"
    ? "the compilers are those of an x86-64 machine"
    : existsSync(samples)
      ? null
      : "no samples of real machines in ../shared/samples, beside the checkout (they are not published)";

describe("a captured machine", needs(missing), () => {
  const folder = mkdtempSync(join(tmpdir(), "imgmatch-captured-"));
  const audits = new Map<string, ImageAudit>();
  let lock: Lock;

  beforeAll(async () => {
    const limit = pLimit(2);
    const marches = [...new Set([...levels, ...machines.map(({ march }) => march)])].map(known);
    await Promise.all(
      marches.map((march) =>
        limit(async () => {
          const root = await build(march, join(folder, march.name));
          if (root !== null) audits.set(march.name, await measure(march, root));
        }),
      ),
    );
    lock = lockOf(
      Object.fromEntries(
        marches.map((march) => {
          const measured = audits.get(march.name)?.measured;
          const built = image({
            axes: { march: march.name },
            platform: `linux/${march.architecture}`,
            requires: { cpu: { march: march.name, features: march.features }, cuda: null },
          });
          return [march.name, measured === undefined ? built : { ...built, measured }];
        }),
      ),
    );
  }, 300_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));

  test.each(machines)("$capture gets the image for $march", ({ capture, march, hides, gets }) => {
    const facts = factsOf(capture, known(march));
    const { measured, ...built } = imageOf(march);
    const declared = checkFit(built, facts);
    expect(declared.ok, "by what is declared alone").toBe(hides === undefined);
    const { match, rejected } = resolveImage(lock, facts);
    expect(match?.cell, JSON.stringify(rejected.filter(({ cell }) => cell === march))).toBe(gets ?? march);
    // Alone, and beside what the levels offer, it is the one.
    const own = Object.fromEntries([...levels, march].map((name) => [name, imageOf(name)]));
    expect(resolveImage({ ...lock, images: own }, facts).match?.cell).toBe(march);
  });

  test("every program was built, and none lies", () => {
    const all = new Set(machines.map(({ march }) => march));
    expect([...all].filter((march) => !audits.has(march))).toEqual([]);
    for (const [march, { lies }] of audits) expect(lies, march).toEqual([]);
  });

  function imageOf(march: string) {
    const found = lock.images[march];
    if (found === undefined) throw new Error(`no image for ${march}`);
    return found;
  }
});

function known(name: string): March {
  const march = findMarch(name);
  if (march === null) throw new Error(`no march ${name}`);
  return march;
}

function factsOf(capture: string, { architecture }: March): HostFacts {
  const text = readFileSync(new URL(`cpuinfo_${capture}.txt`, samples), "utf8");
  const { facts: cpu } = readCpu({ readText: () => text }, architecture);
  return cpuHost({ platform: `linux/${architecture}`, cpu });
}

/** As the demo's Dockerfile does it; null where no compiler here knows the march. */
async function build(march: March, root: string): Promise<string | null> {
  const flags = compilerFlags(march);
  const compiler = compilers[march.architecture].find(([command = "", ...always]): boolean => {
    try {
      execFileSync(command, [...always, ...flags, "-E", "-x", "c++", "/dev/null"], { stdio: "ignore" });
      return true;
    } catch {
      return false;
    }
  });
  if (compiler === undefined) return null;
  const [command = "", ...always] = compiler;
  mkdirSync(root, { recursive: true });
  const options = ["-std=c++17", "-O3", "-static", "-s", `-DBUILT_MARCH=${march.name}`];
  await run(command, [
    ...always,
    ...options,
    ...flags,
    "-o",
    join(root, "sgemm"),
    join(sources, "sgemm.cpp"),
  ]);
  return root;
}

async function measure(march: March, root: string): Promise<ImageAudit> {
  const platform = `linux/${march.architecture}`;
  const opened = await openFromFolder(root, { platform, cache: noCache });
  const requires = { cpu: { march: march.name, features: march.features }, cuda: null };
  return auditImage(opened, { base: { kind: "none" }, requires, floor: [], platform });
}
