import { readdirSync, readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../../src/errors.ts";
import { suggestMarch } from "../../../src/hardware/cpu-marches.ts";
import { findCompatPackage } from "../../../src/hardware/forward-compat.ts";
import type { Axis } from "../../../src/fleet/matrix/matrix.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { matrixJsonSchema } from "../../../src/fleet/matrix/json-schema.ts";
import { suggest } from "../../../src/io/suggest.ts";
import { contextFolderOf } from "../../../src/fleet/template/render-settings.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";

const folder = "test/fixtures/matrices/valid";
const read = (name: string) => readFileSync(`${folder}/${name}.yaml`, "utf8");
const parse = (name: string) => parseMatrix(read(name), `${name}.yaml`);
const labels = (axes: readonly Axis[], name: string) =>
  axes.find((axis) => axis.name === name)?.values.map(({ label }) => label);

test.each(readdirSync(folder))("%s is accepted", (name) => {
  expect(expandMatrix(parseMatrix(readFileSync(`${folder}/${name}`, "utf8"), name)).length).toBeGreaterThan(
    0,
  );
});

test("a free axis may be told to be one", () => {
  const { axes } = parse("free-axes");
  expect(axes.map(({ kind }) => kind)).toEqual(Array.from({ length: 7 }, () => "free"));
  expect(labels(axes, "marhc")).toEqual(["x86-64-v2", "x86-64-v3"]);
  expect(labels(axes, "tune")).toEqual(["znver4", "turin"]);
});

test.each([..."marhc mach marchs amrch cuda1 cdua comput compuet acel".split(" ")])(
  "the axis %s is a slip of the pen",
  (name) => {
    const text = read("smallest").replace("march:", `${name}:`);
    expect(text).toContain(name);
    expect(() => parseMatrix(text, "matrix.yaml")).toThrow(/is no hardware axis/);
  },
);

describe("versions are text", () => {
  test("a scalar without quotes is its source text", () => {
    const { version, axes } = parse("text-versions");
    expect(version).toBe("1.10");
    expect(labels(axes, "python")).toEqual([
      "3.10",
      "3.9",
      "1e3",
      "0x10",
      "007",
      "true",
      "null",
      "2024-01-01",
      "1_000",
    ]);
  });

  test("12.10 does not become 12.1", () => {
    const text = read("smallest").replace('version: "1.0"', "version: 12.10");
    expect(parseMatrix(text, "m.yaml").version).toBe("12.10");
  });
});

test.each([
  ["", null],
  ["attest: {}", null],
  ["attest: { provenance: false, sbom: false }", null],
  ["attest: { provenance: max }", { provenance: "max", sbom: null }],
  ["attest: { sbom: true }", { provenance: null, sbom: { generator: null } }],
  [
    "attest: { provenance: min, sbom: { generator: example.com/scan:1 } }",
    { provenance: "min", sbom: { generator: "example.com/scan:1" } },
  ],
])("%s asks for %j", (line, asked) => {
  const { attest } = parseMatrix(`${read("smallest")}\n${line}\n`, "m.yaml");
  expect(attest?.value ?? null).toEqual(asked);
});

test("anchors and aliases stand for their values", () => {
  const cuda = parse("aliases").axes.find((axis) => axis.kind === "accel");
  const bases = cuda !== undefined ? cuda.values.map(({ settings }) => settings.base?.value) : [];
  const both = { build: "nvidia/cuda:12.8.1-devel-ubuntu24.04", run: "debian:bookworm-slim" };
  expect(bases).toEqual([{ "": "debian:bookworm-slim" }, both, both]);
});

test("the values of the hardware axes are parsed", () => {
  const { axes, repository, source, args, labels: extra } = parse("drivers");
  expect(repository).toBe("registry.example.com/team/cv-tf");
  expect(source).toBe("https://example.com/cv-tf");
  expect(args).toMatchObject({ TF_VERSION: { value: "1.12.0", at: { line: 7, column: 21 } } });
  expect(extra).toEqual({ "com.example.team": 'vision & "more" $HOME' });
  expect(labels(axes, "compute")).toEqual(["5.2", "8.0", "8.6+8.9", "9.0+ptx", "9.0a", "8.7", "10.0f"]);
  expect(labels(axes, "march")).toEqual([
    "x86-64-v2",
    "broadwell",
    "sapphirerapids-no-waitpkg",
    "neoverse-v2",
  ]);
  const [cuda] = axes;
  if (cuda?.kind !== "accel") throw new Error("cuda is first");
  const known = findCompatPackage("12.6");
  const toolkits = cuda.values.map(({ gpu }) => gpu?.toolkit ?? {});
  expect(toolkits.map((toolkit) => ("driver" in toolkit ? toolkit.driver : null))).toEqual([
    { mode: "bundled", version: "396.44" },
    { mode: "host", minimum: "525.60.13" },
    { mode: "compat", package: known?.libcuda, cuda: "12.6", branches: known?.branches, onPath: "never" },
    null,
  ]);
});

const driverOf = (l4t: string, mode = "host") => {
  const text = read("smallest").replace(
    "axes:",
    `axes:\n  cuda: [{ toolkit: 12.6.3, driver: { mode: ${mode}, ${l4t} } }]\n  compute: ["8.0"]`,
  );
  const [cell] = expandMatrix(parseMatrix(text, "m"));
  return cell?.cell.requires.cuda?.driver;
};

test("a matrix names the L4T on which the images of a Jetson are built", () => {
  expect(driverOf('l4t: "36"')).toEqual({ mode: "host", minimum: "525.60.13", l4t: "36" });
  expect(() => driverOf("l4t: r36.4")).toThrow('must be the major of an L4T release: "36"');
});

test("a matrix names the libraries of a Jetson's driver that JetPack 7 has dropped, with who needs them", () => {
  const links = { "libnvdla_compiler.so": "TensorRT" };
  expect(driverOf("links: { libnvdla_compiler.so: TensorRT }")).toMatchObject({ mode: "host", links });
  expect(driverOf("links: { libnvdla_compiler.so: TensorRT }", "compat")).toMatchObject({
    ...{ mode: "compat", links },
  });
  expect(driverOf("links: {}")).toMatchObject({ links: {} });
  expect(() => driverOf("links: { TensorRT: x }")).toThrow(
    "must be the name of a library: libnvdla_compiler.so",
  );
});

test("the context is the template's folder unless it is named", () => {
  const context = (text: string) => {
    const [first] = expandMatrix(parseMatrix(text, "m"));
    return first === undefined ? null : contextFolderOf(first.cell.settings).value;
  };
  expect(context(read("smallest"))).toBe(".");
  expect(context(read("drivers"))).toBe("templates");
  expect(context(`${read("smallest")}context: src\n`)).toBe("src");
});

test("Windows line ends and a byte order mark give the same matrix", () => {
  for (const name of ["smallest", "aliases", "drivers"]) {
    const unix = parse(name);
    const windows = parseMatrix(read(name).replaceAll("\n", "\r\n"), `${name}.yaml`);
    expect(windows).toEqual(unix);
  }
  expect(parseMatrix(`\uFEFF${read("smallest")}`, "m").axes).toHaveLength(1);
});

test("a place in a file with Windows line ends has no carriage return", () => {
  const text = read("smallest").replace("x86-64-v3", "x86-64-v9").replaceAll("\n", "\r\n");
  const error = thrown(() => parseMatrix(text, "m.yaml"));
  expect(error.problems[0].at).toEqual({
    file: "m.yaml",
    line: 7,
    column: 22,
    text: "  march: [x86-64-v2, x86-64-v9]",
  });
});

test("whatever the text, the answer is a matrix or problems", () => {
  const fragments = fc.constantFrom(
    ..."name:,version: 1,registry: a/b,template: t,base: c,axes:,  march: [x86-64-v2],  cuda: [none],- x,exclude:,&a,*a,{},[],\n,  ,'".split(
      ",",
    ),
  );
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fragments, fc.string({ unit: "binary", maxLength: 6 })), { maxLength: 20 }),
      (parts) => {
        try {
          expandMatrix(parseMatrix(parts.join("\n"), "m.yaml"));
        } catch (error) {
          expect(error).toBeInstanceOf(ImgmatchError);
        }
      },
    ),
    { numRuns: 500 },
  );
});

test("the JSON schema takes numbers where YAML reads them, and nothing unknown", () => {
  const schema = matrixJsonSchema() as {
    properties: Record<string, { type?: unknown; anyOf?: { type: unknown }[] }>;
    additionalProperties: unknown;
  };
  expect(schema.properties.version?.anyOf?.[0]?.type).toEqual(["string", "number"]);
  expect(schema.properties.target?.type).toEqual(["string", "number"]);
  expect(schema.properties.name?.type).toBe("string");
  expect(schema.properties.measure).toMatchObject({
    type: ["string", "boolean"],
    enum: ["true", "false", true, false],
  });
  expect(schema.additionalProperties).toBe(false);
  expect(Object.keys(schema.properties)).toContain("axes");
});

test("AMD's name of an architecture suggests the compilers'", () => {
  expect(["zen4", "Zen 5", "amd-zen3"].map(suggestMarch)).toEqual(["znver4", "znver5", "znver3"]);
  expect(suggestMarch("zen9")).not.toBe("znver9");
});

test("the nearest word is suggested, or none", () => {
  expect(suggest("tamplate", ["template", "target"])).toBe("template");
  expect(suggest("skylake-avx521", ["skylake", "skylake-avx512"])).toBe("skylake-avx512");
  expect(suggest("zzz", ["template", "target"])).toBeNull();
});

function thrown(action: () => unknown): ImgmatchError {
  try {
    action();
  } catch (error) {
    if (error instanceof ImgmatchError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}
