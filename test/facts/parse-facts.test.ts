import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { ImgmatchError, type Problem } from "../../src/errors.ts";
import { findMarch } from "../../src/hardware/cpu-marches.ts";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";

const root = fileURLToPath(new URL("../fixtures/hosts", import.meta.url));
const minimal = { schemaVersion: 1, platform: "linux/amd64", cpu: {} };

function problemsOf(text: string): readonly Problem[] {
  try {
    parseHostFacts(text, "facts.json");
  } catch (error) {
    if (error instanceof ImgmatchError) return error.problems;
    throw error;
  }
  return [];
}

describe("parseHostFacts", () => {
  it("reads the facts of every machine", () => {
    for (const name of readdirSync(root)) {
      const text = readFileSync(`${root}/${name}/expected.json`, "utf8");
      expect(parseHostFacts(text, name)).toEqual(JSON.parse(text));
    }
  });

  it("takes the name of a march for its features", () => {
    const cpuOf = (cpu: object) => parseHostFacts(JSON.stringify({ ...minimal, cpu }), "f").cpu;
    const features = findMarch("sapphirerapids")?.features;
    expect(cpuOf({ march: "sapphirerapids" })).toEqual({
      vendor: null,
      model: null,
      features,
      level: "x86-64-v4",
    });
    const open = cpuOf({ march: "sapphirerapids", unknown: ["amx_tile"] });
    expect([open.features?.includes("amx_tile"), open.unknown]).toEqual([false, ["amx_tile"]]);
    const messages = (facts: object) =>
      problemsOf(JSON.stringify({ ...minimal, ...facts })).map(({ message }) => message);
    expect(messages({ cpu: { march: "saphirerapids" } })).toEqual([
      expect.stringMatching(/^cpu\.march: "saphirerapids" is no march; did you mean sapphirerapids\?/),
    ]);
    expect(messages({ cpu: { march: "znver4", features: ["avx2"] } })).toEqual([
      expect.stringMatching(/^cpu\.march: stands for features/),
    ]);
    expect(messages({ platform: "linux/arm64", cpu: { march: "znver4" } })).toEqual([
      'cpu.march: znver4 is of linux/amd64, and platform says "linux/arm64"',
    ]);
  });

  it("makes what is missing unknown, never no", () => {
    expect(parseHostFacts(JSON.stringify({ ...minimal, nvidia: { gpus: [{ index: 0 }] } }), "f")).toEqual({
      schemaVersion: 1,
      platform: "linux/amd64",
      kernel: null,
      cpu: { vendor: null, model: null, features: null, level: null },
      nvidia: {
        driver: null,
        module: null,
        library: null,
        cuda: null,
        gpus: [
          {
            index: 0,
            uuid: null,
            name: null,
            compute: null,
            pci: null,
            bus: null,
            memoryMiB: null,
            class: "unknown",
            integrated: null,
            use: { processes: null, memoryMiB: null },
          },
        ],
        unknown: ["driver"],
      },
      runtime: { nvidia: null },
      problems: [],
      sources: {},
    });
  });

  it("does not take what is left out for what is not there", () => {
    const read = (more: object) => parseHostFacts(JSON.stringify({ ...minimal, ...more }), "f").nvidia;
    expect(read({})).toBeUndefined();
    expect(read({ nvidia: null })).toBeNull();
    expect(read({ nvidia: {} })?.unknown).toEqual(["driver", "gpus"]);
    expect(read({ nvidia: { driver: null, gpus: [] } })?.unknown).toBeUndefined();
    const again = parseHostFacts(
      formatHostFacts(parseHostFacts(JSON.stringify({ ...minimal, nvidia: {} }), "f")),
      "f",
    );
    expect(again.nvidia?.unknown).toEqual(["driver", "gpus"]);
  });

  it("refuses a key that nobody knows, and names the one that was meant", () => {
    const facts = { ...minimal, nvidea: {}, nvidia: { gpus: [{ index: 0, conpute: "9.0" }] } };
    const messages = problemsOf(JSON.stringify(facts)).map(({ message }) => message);
    expect(messages).toEqual([
      expect.stringMatching(/^nvidea: nobody knows this key; did you mean nvidia\?/),
      expect.stringMatching(/^nvidia\.gpus\[0\]\.conpute: nobody knows this key; did you mean compute\?/),
    ]);
  });

  it("takes five numbers for a driver of AMD alone", () => {
    const driver = "5.16.9.22.20";
    expect(parseHostFacts(JSON.stringify({ ...minimal, amd: { driver, gpus: [] } }), "f").amd?.driver).toBe(
      driver,
    );
    expect(problemsOf(JSON.stringify({ ...minimal, nvidia: { driver, library: driver } }))).toMatchObject([
      { message: expect.stringMatching(/^nvidia\.driver: expected a version such as "550\.54\.15"/) },
      { message: expect.stringMatching(/^nvidia\.library: expected a version/) },
    ]);
  });

  it("takes the place of a GPU among others, of which a file may lack all", () => {
    const facts = (place: object) =>
      JSON.stringify({
        schemaVersion: 1,
        platform: "linux/amd64",
        nvidia: { driver: "570.124.06", gpus: [{ index: 0, ...place }] },
        amd: { driver: null, gpus: [{ index: 0, ...place }] },
      });
    const read = (place: object) => {
      const { nvidia, amd } = parseHostFacts(facts(place), "facts.json");
      return [nvidia?.gpus[0], amd?.gpus[0]].map((gpu) => [gpu?.numa, gpu?.links]);
    };
    expect(read({ numa: 1, links: [3, 1, 3] })).toEqual(Array(2).fill([1, [1, 3]]));
    expect(read({ numa: null, links: [] })).toEqual(Array(2).fill([null, []]));
    expect(read({})).toEqual(Array(2).fill([undefined, undefined]));
    const many = Array.from({ length: 257 }, (_, index) => index);
    for (const place of [{ numa: -1 }, { links: ["1"] }, { links: [-1] }, { links: many }])
      expect(problemsOf(facts(place)), JSON.stringify(place).slice(0, 40)).toHaveLength(2);
  });

  it("refuses a scale that is none", () => {
    expect(problemsOf(JSON.stringify({ ...minimal, nvidia: { driverScale: "windows" } }))).toMatchObject([
      { message: 'nvidia.driverScale: expected linux, wsl, l4t, found text "windows"' },
    ]);
  });

  it("sorts features and GPUs, so that their order in the file does not matter", () => {
    const facts = {
      ...minimal,
      cpu: { features: ["sse", "avx", "sse"] },
      nvidia: { gpus: [{ index: 1 }, { index: 0 }] },
    };
    const read = parseHostFacts(JSON.stringify(facts), "f");
    expect(read.cpu.features).toEqual(["avx", "sse"]);
    expect(read.nvidia?.gpus.map(({ index }) => index)).toEqual([0, 1]);
  });

  it.each([
    ['{\n  "schemaVersion": 1,\n  "platform" "x"\n}', 3, 14],
    ["", 1, 1],
    ['{"schemaVersion": 1', 1, 20],
    ['{\n  "schemaVersion": 1,\n  "platform": "linux/amd64",\n  "kernel": none,\n  "cpu": {}\n}', 4, 14],
  ])("places a syntax error: %j", (text, line, column) => {
    expect(problemsOf(text)).toMatchObject([
      { code: "FACTS_SYNTAX", at: { file: "facts.json", line, column } },
    ]);
  });

  it("reports every mistake at once, each with its path", () => {
    const facts = {
      schemaVersion: 2,
      platform: "amd64",
      cpu: { features: ["avx", 3, "a b"] },
      nvidia: { driver: 550, cuda: "12", gpus: [{ index: -1, compute: "9", class: "gamer", mig: {} }, {}] },
      runtime: { nvidia: "yes" },
      problems: [{ code: "HOST_X", message: "m" }],
      sources: { "cpu.features": null },
    };
    const paths = problemsOf(JSON.stringify(facts)).map(({ message }) => message.split(": ")[0]);
    expect(paths).toEqual([
      "schemaVersion",
      "platform",
      "cpu.features[1]",
      "cpu.features[2]",
      "nvidia.driver",
      "nvidia.cuda",
      "nvidia.gpus[0].index",
      "nvidia.gpus[0].compute",
      "nvidia.gpus[0].class",
      "nvidia.gpus[0].mig",
      "nvidia.gpus[1].index",
      "runtime.nvidia",
      "problems[0].code",
      "sources.cpu.features",
    ]);
  });

  it("refuses what is no object, and two GPUs of one index", () => {
    for (const text of ["[]", "null", "7", '"x"'])
      expect(problemsOf(text)).toMatchObject([{ code: "FACTS_SCHEMA" }]);
    expect(problemsOf("{}").map(({ message }) => message.split(":")[0])).toEqual([
      "schemaVersion",
      "platform",
    ]);
    const twice = { ...minimal, nvidia: { gpus: [{ index: 0 }, { index: 0 }] } };
    expect(problemsOf(JSON.stringify(twice))[0]?.message).toContain("two GPUs have the index 0");
  });

  it.each([
    ["570.124.06", "580.95.05", {}, ["HOST_DRIVER_LIBRARY_MISMATCH"]],
    ["570.124.06", "570.124.06", {}, []],
    ["570.124.06", null, {}, []],
    [null, "570.124.06", {}, []],
    // A Windows driver's number is not that of its Linux library, and what was seen to start is not broken.
    ["572.70", "570.124.06", { driverScale: "wsl" }, []],
    ["540.4.0", "540.3.0", { driverScale: "l4t" }, []],
    ["570.124.06", "580.95.05", { starts: true }, []],
  ])(
    "finds a driver %s and a library %s broken, whatever the problems say: %j",
    (driver, library, more, codes) => {
      const nvidia = { driver, library, gpus: [{ index: 0 }], ...more };
      const { problems } = parseHostFacts(JSON.stringify({ ...minimal, nvidia, problems: [] }), "f");
      expect(problems.map(({ code }) => code)).toEqual(codes);
    },
  );

  it("does not print a list of ten thousand mistakes", () => {
    const facts = { ...minimal, cpu: { features: Array.from({ length: 10_000 }, () => 1) } };
    expect(problemsOf(JSON.stringify(facts))).toHaveLength(50);
  });

  it("reads a file that Windows wrote", () => {
    expect(
      parseHostFacts(`\uFEFF${JSON.stringify(minimal, null, 2).replaceAll("\n", "\r\n")}`, "f").platform,
    ).toBe("linux/amd64");
  });
});
