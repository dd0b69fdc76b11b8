/** `--host-type` and `--driver`: a machine that nobody has asked yet. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { makeFolder } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const vision = join(import.meta.dirname, "../../docs/examples/vision");
const lock = ["--lock", join(vision, "images/imgmatch.lock.json"), "--pin", "python=3.12"];
const p4d = ["--host-type", "p4d.24xlarge"];
const driver = ["--driver", "580.95.05"];

const rows = {
  cpu: { accel: "none", cuda: null, rocm: null },
  cuda: {
    accel: "12.8.1",
    cuda: {
      toolkit: "12.8.1",
      code: ["sm_75", "sm_80", "sm_90"],
      driver: { mode: "host", minimum: "525.60.13" },
    },
    rocm: null,
  },
  rocm: { accel: "6.4", cuda: null, rocm: { release: "6.4", code: ["gfx942"] } },
};

const fleetOfVendors = {
  ...{ schemaVersion: 2, name: "app", version: "1.0", repository: "registry.example.com/app" },
  images: Object.fromEntries(
    Object.entries(rows).map(([tag, { accel, ...gpu }], place) => [
      tag,
      {
        ...{ axes: { accel }, platform: "linux/amd64", tag, size: 1, bases: [], builder: "docker 28" },
        ...{ inputDigest: `sha256:${"1".repeat(63)}${place}`, digest: `sha256:${"2".repeat(63)}${place}` },
        ...{
          created: "2026-01-01T00:00:00Z",
          requires: { cpu: { march: "x86-64-v2", features: [] }, ...gpu },
        },
      },
    ]),
  ),
};

const withNeeds = (image: object | undefined, gpu: object) => ({
  ...image,
  requires: { cpu: { march: "x86-64-v2", features: [] }, ...gpu },
});

interface Near {
  readonly cell: string;
  readonly nearest: { readonly host: string };
}

interface Got {
  readonly names: readonly string[];
  readonly match: { readonly cell: string } | null;
  readonly host: { readonly driver: string | null; readonly platform: string };
}

describe("a machine type as the host", () => {
  test("gets the image that cover says", async () => {
    const { exit, out } = await runInProcess(["resolve", ...p4d, ...driver, ...lock, "--json"]);
    const covered = await runInProcess(["cover", ...p4d, ...driver, ...lock, "--json"]);
    const { match } = JSON.parse(out);
    expect([exit, match.cell]).toEqual([0, "13.0.2_8.0_x86-64-v3_3.12"]);
    expect(JSON.parse(covered.out).classes[0].match.cell).toBe(match.cell);
  });

  test("without a driver is refused, and says how to name one", async () => {
    const { exit, err } = await runInProcess(["resolve", ...p4d, ...lock]);
    expect([exit, err]).toEqual([4, expect.stringMatching(/FACT_UNKNOWN[\s\S]*--driver nvidia=VERSION/)]);
  });

  test.each([
    ["why-not", ["13.0.2_8.0_x86-64-v3_3.12", ...lock.slice(0, 2)], "it is what resolve prints"],
    ["labels", ["--format", "json"], "A100"],
    ["launch", ["docker", ...lock], "sha256:"],
    ["run", ["--dry-run", ...lock], "sha256:"],
    ["probe", ["--json"], '"driver": "580.95.05"'],
  ] as const)("is what %s is asked about", async (command, args, answer) => {
    const { exit, out, err } = await runInProcess([command, ...p4d, ...driver, ...args]);
    expect([exit, `${out}${err}`]).toEqual([0, expect.stringContaining(answer)]);
  });

  test("prints facts that are read back", async () => {
    const { out } = await runInProcess(["probe", ...p4d, "--json"]);
    const again = await runInProcess(["probe", "--host", "-", "--json"], { readStdin: async () => out });
    expect(again.out).toBe(out);
  });

  test("is one for which init writes a matrix", async () => {
    const folder = makeFolder({
      Dockerfile: "FROM nvidia/cuda:12.8.1-devel-ubuntu24.04\nRUN nvcc -o /x x.cu\n",
    });
    await runInProcess(["init", "--from", "Dockerfile", "--host-type", "p4d.24xlarge,g6.xlarge"], {
      cwd: folder,
    });
    expect(readFileSync(join(folder, "matrix.yaml"), "utf8")).toMatch(/compute:.*8\.0.*8\.9/);
  });
});

describe("--driver", () => {
  const facts = JSON.parse(readFileSync(join(vision, "hosts/h100.json"), "utf8"));
  const told = (nvidia: unknown) => ({ readStdin: async () => JSON.stringify({ ...facts, nvidia }) });
  const { driver: own, ...untold } = facts.nvidia;

  test("completes facts that name none, and changes none that do", async () => {
    const args = ["probe", "--host", "-", "--json", "--driver"];
    const { out } = await runInProcess([...args, "580.95.05"], told({ ...untold, cuda: null }));
    expect(JSON.parse(out).nvidia).toMatchObject({ driver: "580.95.05", cuda: "13.0" });
    expect(JSON.parse(out).nvidia).not.toHaveProperty("unknown");
    expect((await runInProcess([...args, own], told(facts.nvidia))).exit).toBe(0);
    const other = await runInProcess([...args, "580.95.05"], told(facts.nvidia));
    expect([other.exit, other.out]).toEqual([2, expect.stringContaining(`standard input has driver ${own}`)]);
    const none = await runInProcess([...args, "580.95.05"], told(null));
    expect([none.exit, none.out]).toEqual([2, expect.stringContaining("neither an NVIDIA GPU nor a driver")]);
    const open = await runInProcess([...args, "580.95.05"], told(undefined));
    expect(JSON.parse(open.out).nvidia).toMatchObject({ driver: "580.95.05", unknown: ["gpus"] });
  });

  test("is that of an AMD GPU on a machine type that has AMD's", async () => {
    const mi300x = ["--host-type", "Standard_ND96isr_MI300X_v5", "--json"];
    const open = await runInProcess(["probe", ...mi300x]);
    expect(JSON.parse(open.out).amd).toMatchObject({ driver: null, unknown: ["driver"] });
    const told = await runInProcess(["probe", ...mi300x, "--driver", "6.14.14"]);
    const { amd, nvidia, sources } = JSON.parse(told.out);
    expect([amd.driver, amd.unknown, nvidia, sources["amd.driver"]]).toEqual([
      ...["6.14.14", undefined, null],
      "--driver",
    ]);
    const others = await runInProcess(["probe", ...mi300x, "--driver", "580.95.05"]);
    expect([others.exit, others.out]).toEqual([2, expect.stringContaining("an AMD GPU, whose drivers")]);
  });

  const mixed = join(makeFolder({ "lock.json": JSON.stringify(fleetOfVendors) }), "lock.json");
  const twoVendors = ["--host-type", "p5.48xlarge,Standard_ND96isr_MI300X_v5", "--lock", mixed];
  const both = ["--driver", "amd=6.14.14", "--driver", "nvidia=580.95.05"];

  test("of two vendors is named once for each, in one command", async () => {
    const { exit, out } = await runInProcess(["cover", ...twoVendors, ...both, "--json"]);
    const { classes } = JSON.parse(out);
    const got = classes.map(({ match, host }: Got) => [match?.cell, host.driver]);
    expect([exit, got]).toEqual([
      0,
      [
        ["cuda", "580.95.05"],
        ["rocm", "amdgpu 6.14.14"],
      ],
    ]);
    for (const [type, cell] of [
      ["p5.48xlarge", "cuda"],
      ["Standard_ND96isr_MI300X_v5", "rocm"],
    ] as const) {
      const asked = ["--host-type", type, ...both, "--lock", mixed];
      const answers = [
        await runInProcess(["resolve", ...asked]),
        await runInProcess(["why-not", cell, ...asked]),
      ];
      expect(answers.map((each) => each.exit)).toEqual([0, 0]);
    }
  });

  test("that is missing is asked for by the vendor, in the same words everywhere", async () => {
    const asked = ["--host-type", "Standard_ND96isr_MI300X_v5", "--lock", mixed];
    for (const words of [["resolve"], ["why-not", "rocm"]]) {
      const { exit, err, out } = await runInProcess([...words, ...asked]);
      expect([exit, `${out}${err}`]).toEqual([4, expect.stringContaining("--driver amd=VERSION")]);
    }
    const one = await runInProcess(["cover", ...twoVendors, "--driver", "580.95.05"]);
    expect([one.exit, one.err]).toEqual([
      2,
      expect.stringMatching(/GPUs of AMD are judged[\s\S]*--driver amd=6\.14\.14;/),
    ]);
    const none = await runInProcess(["cover", ...twoVendors]);
    expect(none.err).toContain("--driver nvidia=580.95.05 --driver amd=6.14.14");
  });

  test("is not asked for where only CPU images are judged", async () => {
    expect((await runInProcess(["cover", ...twoVendors, "--cpu"])).exit).toBe(0);
    const { cpu } = fleetOfVendors.images;
    const plain = makeFolder({ "lock.json": JSON.stringify({ ...fleetOfVendors, images: { cpu } }) });
    const { exit, out } = await runInProcess([
      "cover",
      "--catalog",
      "aws,azure",
      "--lock",
      join(plain, "lock.json"),
      "--json",
    ]);
    const { classes } = JSON.parse(out);
    const ofX86 = classes.filter(({ host }: Got) => host.platform === "linux/amd64");
    expect([exit, [...new Set(ofX86.map(({ match }: Got) => match?.cell))]]).toEqual([0, ["cpu"]]);
  });

  test("of one vendor is no reason to offer another vendor's image or cell", async () => {
    const { cpu, cuda } = fleetOfVendors.images;
    const asked = [
      ...twoVendors.slice(0, 2),
      "--driver",
      "amd=6.14.14",
      "--driver",
      "nvidia=580.95.05",
      "--json",
    ];
    const lockOfCuda = join(
      makeFolder({ "lock.json": JSON.stringify({ ...fleetOfVendors, images: { cpu, cuda } }) }),
      "lock.json",
    );
    const ofCuda = JSON.parse((await runInProcess(["cover", ...asked, "--lock", lockOfCuda])).out);
    const mi300x = ofCuda.classes.find(({ names }: Got) => names.includes("Standard_ND96isr_MI300X_v5"));
    expect([mi300x.match.cell, mi300x.unusedGpus]).toEqual(["cpu", true]);
    expect(mi300x.serve).toMatch(/^add a cell accel=rocm-VERSION compute=gfx942 march=/);
    const checked = await runInProcess([
      "cover",
      ...asked.slice(0, -1),
      "--lock",
      lockOfCuda,
      "--check",
      "no GPU host on a CPU image",
    ]);
    expect([checked.exit, checked.out]).toEqual([
      1,
      expect.stringContaining("to serve it: add a cell accel=rocm-VERSION compute=gfx942"),
    ]);
    // Neither runs anywhere: the H100 is nearest to the image for NVIDIA, the MI300X to the one for AMD.
    const images = {
      cuda: withNeeds(cuda, { cuda: { ...rows.cuda.cuda, code: ["sm_120"] }, rocm: null }),
      rocm: withNeeds(fleetOfVendors.images.rocm, {
        cuda: null,
        rocm: { release: "6.4", code: ["gfx1100"] },
      }),
    };
    const unfit = join(
      makeFolder({ "lock.json": JSON.stringify({ ...fleetOfVendors, images }) }),
      "lock.json",
    );
    const ofNone = JSON.parse((await runInProcess(["cover", ...asked, "--lock", unfit])).out);
    expect(ofNone.images.map(({ cell, nearest }: Near) => [cell, nearest.host])).toEqual([
      ["cuda", "p5.48xlarge"],
      ["rocm", "Standard_ND96isr_MI300X_v5"],
    ]);
  });

  test("of many hosts completes those without one", async () => {
    const both = [facts, { ...facts, nvidia: untold }].map((each) => JSON.stringify(each)).join("\n");
    const ask = ["resolve", "--hosts", "-", ...lock, "--json"];
    const readStdin = async () => both;
    expect((await runInProcess(ask, { readStdin })).out).toContain("FACT_UNKNOWN");
    const { out } = await runInProcess([...ask, "--driver", own], { readStdin });
    const [first, second] = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).match.cell);
    expect(first).toBe(second);
  });

  test.each([
    [["resolve", ...driver, ...lock], "this machine has its own"],
    [["resolve", "--host", "-", ...p4d, ...lock], "--host and --host-type each name the host"],
    [["resolve", "--hosts", "-", ...p4d, ...lock], "--host-type names one host and --hosts many"],
    [["resolve", ...p4d, "--driver", "580", ...lock], '--driver "580" is no version of a driver'],
    [["resolve", "--host-type", "p4d.24xlrge", ...driver, ...lock], "did you mean p4d.24xlarge?"],
    [["run", ...p4d, ...driver, ...lock], "--host-type names another machine"],
    [["resolve", ...p4d, "--driver", "intel=5", ...lock], "names no vendor of drivers"],
    [["resolve", ...p4d, "--driver", "amd=580.95.05", ...lock], "no version of a driver of AMD"],
    [["resolve", ...p4d, ...driver, "--driver", "nvidia=570.172.08", ...lock], "names two drivers of NVIDIA"],
    [
      ["resolve", ...p4d, "--driver", "amd=6.14.14", ...lock],
      "an NVIDIA GPU, whose drivers have other versions",
    ],
  ] as const)("%j is refused: %s", async (args, message) => {
    const { exit, err } = await runInProcess(args);
    expect([exit, err]).toEqual([2, expect.stringContaining(message)]);
  });
});
