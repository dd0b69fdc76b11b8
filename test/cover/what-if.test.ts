import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { plannedFleet } from "../../src/cover/cover-fleet.ts";
import { policyNames } from "../../src/cover/policies.ts";
import { coverReport } from "../../src/cover/cover-report.ts";
import { changeFleet, changeHost, parseChanges } from "../../src/cover/what-if.ts";
import { cudaOfDriver } from "../../src/hardware/cuda-toolkits.ts";
import type { HostFacts } from "../../src/facts/facts.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { resolveImage } from "../../src/resolve/resolve-image.ts";
import { anyHost, anyLock } from "../properties/support/machines.ts";
import { checkOptions, timeoutMs } from "../properties/support/runs.ts";
import { a100, cpuHost, gpuHost, h100, orin, rtx4090 } from "../resolve/support/hosts.ts";
import { cuda, gpuImage, image, lockOf, rocmImage } from "../resolve/support/locks.ts";
import { demo } from "./support/demo.ts";
import { fixtureHosts } from "./support/machines.ts";

const machines = fixtureHosts();

/** The facts under a driver, said a second time. */
function under(facts: HostFacts, driver: string): HostFacts {
  const copy = JSON.parse(JSON.stringify(facts)) as { nvidia: Record<string, unknown> | null };
  const { nvidia } = facts;
  const foreign =
    nvidia?.driverScale === undefined
      ? (nvidia?.gpus.length ?? 0) > 0 && nvidia?.gpus.every((gpu) => gpu.class === "tegra")
      : nvidia.driverScale !== "linux";
  if (copy.nvidia?.driver == null || foreign) return facts;
  Object.assign(copy.nvidia, { driver, cuda: cudaOfDriver(driver), library: copy.nvidia.library && driver });
  return copy as unknown as HostFacts;
}

/** The same hosts and fleets each time, so that the counts at the end do not depend on chance. */
const counted = 20_240_501;

describe("a what-if is what resolve answers with the changed facts", () => {
  const drivers = ["470.256.02", "535.183.01", "570.86.15", "580.95.05", "610.43.02"];

  it("for another driver, random hosts and fleets", { timeout: timeoutMs }, () => {
    let changed = 0;
    fc.assert(
      fc.property(
        fc.array(anyHost, { minLength: 1, maxLength: 6 }),
        anyLock,
        fc.constantFrom(...drivers),
        (facts, lock, driver) => {
          const hosts = facts.map((each, index) => ({ name: `h${index}`, facts: each }));
          const { classes, whatIf } = coverReport({ from: "lock", lock }, hosts, {
            whatIf: [`driver=${driver}`],
          });
          const diff = new Map(whatIf?.diff.map((each) => [each.id, each]));
          for (const [index, { id, names }] of classes.entries()) {
            for (const name of names) {
              const host = hosts.find((each) => each.name === name)?.facts as HostFacts;
              const before = resolveImage(lock, host).match;
              const after = resolveImage(lock, under(host, driver)).match;
              const shown = whatIf?.after.classes[index]?.match;
              expect([shown?.cell, shown?.tier]).toEqual([after?.cell, after?.tier]);
              expect(diff.has(id)).toBe(before?.cell !== after?.cell || before?.tier !== after?.tier);
              if (diff.has(id)) changed++;
              const kind = diff.get(id)?.kind;
              if (before === null && after !== null) expect(kind).toBe("gains");
              if (before !== null && after === null) expect(kind).toBe("loses");
            }
          }
        },
      ),
      { ...checkOptions, seed: counted },
    );
    expect(changed).toBeGreaterThan(checkOptions.numRuns / 20);
  });

  it("for cells that go, random hosts and fleets", { timeout: timeoutMs }, () => {
    let changed = 0;
    fc.assert(
      fc.property(
        fc.array(anyHost, { minLength: 1, maxLength: 6 }),
        anyLock,
        fc.nat(),
        (facts, lock, choice) => {
          const hosts = facts.map((each, index) => ({ name: `h${index}`, facts: each }));
          const values = Object.values(lock.images).flatMap(({ axes }) => Object.entries(axes));
          const [axis, value] = values[choice % Math.max(1, values.length)] ?? ["", ""];
          // A value that --pin reads as a pattern or a range is another question.
          fc.pre(/^[a-z0-9_-]+$/.test(value) && axis !== "");
          const left = Object.entries(lock.images).filter(([, { axes }]) => axes[axis] !== value);
          const { classes, whatIf } = coverReport({ from: "lock", lock }, hosts, {
            whatIf: [`drop:${axis}=${value}`],
          });
          for (const [index, { names }] of classes.entries()) {
            for (const name of names) {
              const host = hosts.find((each) => each.name === name)?.facts as HostFacts;
              const after = resolveImage({ ...lock, images: Object.fromEntries(left) }, host).match;
              const shown = whatIf?.after.classes[index]?.match;
              expect([shown?.cell, shown?.tier]).toEqual([after?.cell, after?.tier]);
              if (resolveImage(lock, host).match?.cell !== after?.cell) changed++;
            }
          }
        },
      ),
      { ...checkOptions, numRuns: checkOptions.numRuns / 4, seed: counted },
    );
    expect(changed).toBeGreaterThan(checkOptions.numRuns / 40);
  });

  it("for several changes at once, machines of every state and the demo's fleet", {
    timeout: timeoutMs,
  }, () => {
    const changes = [
      "driver=580.95.05",
      "drop:cuda=12.*,compute=9.0*",
      "drop:cuda=11.*",
      "add:compute=8.9,cuda=13.0.2",
    ];
    const { classes, whatIf } = coverReport(demo, machines, { whatIf: changes });
    // The same fleet from a matrix that has been edited.
    const text = readFileSync("matrix.yaml", "utf8").replace(
      "\ninclude:\n",
      `
  - { cuda: "11.*", reason: dropped }
  - { cuda: "12.*", compute: "9.0*", reason: dropped }

include:
${marchesOf(demo.lock.images)
  .map((march) => `  - { cuda: "13.0.2", compute: "8.9", march: ${march} }`)
  .join("\n")}
`,
    );
    const edited = plannedFleet(parseMatrix(text, "matrix.yaml")).lock;
    const changedLock = changeFleet(demo.lock, parseChanges(changes));
    expect(Object.keys(changedLock.images).sort()).toEqual(Object.keys(edited.images).sort());
    for (const [cell, { requires }] of Object.entries(edited.images))
      expect([cell, changedLock.images[cell]?.requires]).toEqual([cell, requires]);
    for (const [index, { names }] of classes.entries()) {
      for (const name of names) {
        const host = machines.find((each) => each.name === name)?.facts as HostFacts;
        const after = resolveImage(edited, under(host, "580.95.05")).match;
        expect([name, whatIf?.after.classes[index]?.match?.cell]).toEqual([name, after?.cell]);
      }
    }
  });
});

/** Of GPU images, as the matrix writes them. */
function marchesOf(images: typeof demo.lock.images): readonly string[] {
  const labels = Object.values(images).flatMap(({ axes, requires }) =>
    requires.cuda === null ? [] : [axes.march ?? ""],
  );
  return [...new Set(labels)].map((label) =>
    label.endsWith("-no-rng") ? `{ march: ${label.slice(0, -7)}, without: [rng] }` : label,
  );
}

describe("changes", () => {
  it("are read, or refused with what can be written", () => {
    expect(
      parseChanges(["driver=580.95.05", "drop:cuda=11.*", "add:compute=10.0,cuda=13.0.2"]),
    ).toMatchObject([
      { kind: "driver", version: "580.95.05" },
      { kind: "drop", axes: { cuda: "11.*" } },
      { kind: "add", axes: { compute: "10.0", cuda: "13.0.2" } },
    ]);
    for (const text of ["", "driver=", "driver=new", "drop:", "drop:cuda", "add:=1", "cuda=11"])
      expect(() => parseChanges([text])).toThrow(/--what-if|--pin/);
    expect(() => parseChanges(["driver=580.95.05", "driver=570.86.15"])).toThrow("a host has one driver");
  });

  const fleet = lockOf({
    gpu: gpuImage(cuda("12.8.1", ["sm_90"]), {
      axes: { cuda: "12.8.1", compute: "9.0", march: "x86-64-v3", python: "3.12" },
    }),
    cpu: image({ axes: { cuda: "none", compute: "none", march: "x86-64-v3", python: "3.12" } }),
  });
  const changed = (...texts: string[]) => Object.keys(changeFleet(fleet, parseChanges(texts)).images).sort();

  it("drop what matches, and nothing in silence", () => {
    expect(changed("drop:cuda=12.*")).toEqual(["cpu"]);
    expect(changed("drop:cuda=none", "drop:compute=9.0")).toEqual([]);
    expect(() => changed("drop:cuda=11.*")).toThrow("drops nothing: no cell matches");
  });

  it("add cells with the other axes of the fleet, by the rules of the matrix", () => {
    expect(changed("add:cuda=13.0.2,compute=10.0")).toEqual(["13.0.2_10.0_x86-64-v3_3.12", "cpu", "gpu"]);
    expect(changed("add:march=x86-64-v4")).toEqual([
      "12.8.1_9.0_x86-64-v4_3.12",
      "cpu",
      "gpu",
      "none_x86-64-v4_3.12",
    ]);
    expect(changed("add:cuda=none,march=x86-64-v4")).toEqual(["cpu", "gpu", "none_x86-64-v4_3.12"]);
    expect(changed("add:compute=8.6+8.9")).toEqual(["12.8.1_8.6-8.9_x86-64-v3_3.12", "cpu", "gpu"]);
    for (const [text, why] of [
      ["add:cuda=11.8.0,compute=10.0", "CUDA 11.8.0 cannot compile for sm_100"],
      ["add:compute=9.0", "adds nothing: the fleet has these cells"],
      ["add:colour=red", "the fleet has no axis colour"],
      ["add:cuda=99.0", "unknown CUDA toolkit"],
      ["add:compute=x", "is not a compute capability"],
      ["add:march=pentium9", "unknown march"],
    ] as const)
      expect(() => changed(text), text).toThrow(why);
  });

  it("add cells of a fleet for GPUs of two vendors, each accelerator with GPU targets of its own vendor", () => {
    const mixed = lockOf({
      cpu: image({ axes: { accel: "none", march: "x86-64-v3" } }),
      cuda: gpuImage(cuda("12.8.1", ["sm_90"]), {
        axes: { accel: "cuda-12.8.1", compute: "9.0", march: "x86-64-v3" },
      }),
      rocm: rocmImage(["gfx942"], "7.2", {
        axes: { accel: "rocm-7.2", compute: "gfx942", march: "x86-64-v3" },
      }),
    });
    const added = (text: string) =>
      Object.entries(changeFleet(mixed, parseChanges([text])).images)
        .slice(3)
        .map(([id, { requires }]) => [id, requires.cuda?.code ?? requires.rocm ?? null]);
    expect(added("add:compute=gfx1100")).toEqual([
      ["rocm-7.2_gfx1100_x86-64-v3", { release: "7.2", code: ["gfx1100"] }],
    ]);
    expect(added("add:compute=gfx90a:xnack++gfx90a:xnack-")[0]?.[1]).toEqual({
      release: "7.2",
      code: ["gfx90a:xnack+", "gfx90a:xnack-"],
    });
    expect(added("add:compute=8.0")).toEqual([["cuda-12.8.1_8.0_x86-64-v3", ["sm_80"]]]);
    expect(added("add:accel=rocm-6.4,compute=gfx942")).toEqual([
      ["rocm-6.4_gfx942_x86-64-v3", { release: "6.4", code: ["gfx942"] }],
    ]);
    expect(added("add:accel=none,march=x86-64-v4")).toEqual([["none_x86-64-v4", null]]);
    for (const [text, why] of [
      ["add:cuda=13.0.2", "the fleet has no axis cuda"],
      ["add:accel=rocm-7.2,compute=9.0", "9.0 is for GPUs of NVIDIA, rocm-7.2 for those of AMD"],
      ["add:accel=rocm-5.0,compute=gfx942", "gfx942"],
      ["add:accel=rcom", "rcom"],
    ] as const)
      expect(() => added(text), text).toThrow(why);
  });

  it("name no reference of what is not built", () => {
    const hosts = [{ name: "h", facts: gpuHost([h100], "580.95.05", "13.0") }];
    const { classes, whatIf } = coverReport({ from: "lock", lock: fleet }, hosts, {
      whatIf: ["add:cuda=13.0.2,compute=9.0"],
    });
    expect(classes[0]?.match?.reference).toMatch(/@sha256:/);
    expect(whatIf?.after.classes[0]?.match).toMatchObject({
      cell: "13.0.2_9.0_x86-64-v3_3.12",
      reference: null,
    });
  });

  it("of a driver leave alone what has none of that kind", () => {
    const changes = parseChanges(["driver=580.95.05"]);
    const wsl = gpuHost([rtx4090], "570.124.06", "12.8", { nvidiaChange: { driverScale: "wsl" } });
    for (const host of [cpuHost(), gpuHost([h100], null), gpuHost([orin], "540.4.0", "12.6"), wsl])
      expect(changeHost(host, changes)).toBe(host);
    expect(changeHost(gpuHost([a100], "470.256.02", "11.4"), changes).nvidia).toMatchObject({
      driver: "580.95.05",
      library: "580.95.05",
      cuda: "13.0",
    });
  });
});

describe("policies", () => {
  const fleet = {
    from: "lock",
    lock: lockOf({
      gpu: gpuImage(cuda("12.8.1", ["sm_90"])),
      old: gpuImage(cuda("12.4.1", ["sm_90"])),
      cpu: image(),
    }),
  } as const;
  const hosts = [
    { name: "fits", facts: gpuHost([h100], "570.86.15", "12.8") },
    { name: "older", facts: gpuHost([a100], "570.86.15", "12.8") },
    { name: "arm", facts: cpuHost({ platform: "linux/arm64" }) },
  ];
  const against = (policy: string, whatIf: readonly string[] = []) =>
    coverReport(fleet, hosts, { check: [policy], whatIf }).violations?.map(
      ({ of, hosts: number, message }) => [of, number, message],
    );

  it("name each class and image that breaks them, and why", () => {
    expect(against("every host served")).toEqual([
      [
        "c3",
        1,
        expect.stringMatching(/^gets no image; nearest: cpu: ARCH_MISMATCH: is built for linux\/amd64/),
      ],
    ]);
    expect(against("no GPU host on a CPU image")).toEqual([
      [
        "c2",
        1,
        expect.stringMatching(/^has GPUs and gets cpu; nearest with GPU code: (gpu|old): NO_GPU_CODE: /),
      ],
    ]);
    expect(against("no unused image")).toEqual([["old", 0, "nobody gets it: gpu always comes first"]]);
    expect(against("every host native")?.map(([of]) => of)).toContain("c3");
    expect(coverReport(fleet, hosts.slice(0, 1), { check: ["every host served"] }).violations).toEqual([]);
    expect(policyNames).toHaveLength(4);
  });

  it("hold for what would be, where that is asked", () => {
    expect(against("no unused image", ["drop:cuda=12.4.*"])).toEqual([]);
    expect(against("every host served", ["drop:cuda=none"])?.map(([of]) => of)).toEqual(["c2", "c3"]);
    expect(() => against("be nice")).toThrow('--check "be nice" is not a policy');
  });
});
