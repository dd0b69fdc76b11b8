import { readFileSync } from "node:fs";
import { DockerfileParser } from "dockerfile-ast";
import { describe, expect, test } from "vitest";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import { compileArguments } from "../../../src/fleet/dockerfile/arguments.ts";
import { renderCell } from "../../../src/fleet/dockerfile/render-cell.ts";
import { compileTemplate } from "../../../src/fleet/template/template.ts";

const matrix = parseMatrix(readFileSync("test/fixtures/matrices/valid/drivers.yaml", "utf8"), "matrix.yaml");
const template = compileTemplate(
  readFileSync("test/golden/app.Dockerfile.hbs", "utf8"),
  "app.Dockerfile.hbs",
);
const cells = expandMatrix(matrix).filter(({ skipped }) => skipped === null);
const argumentsOf = compileArguments(matrix);
const files = new Map(
  cells.map(({ cell }) => [cell.id, renderCell(cell, matrix, template, argumentsOf(cell)).file]),
);

const golden = {
  "a CPU-only row": "none_broadwell_1.12.0",
  "a march without a feature": "none_sapphirerapids-no-waitpkg_1.12.0",
  Arm: "none_neoverse-v2_1.12.0",
  "the host's driver, a base with an expression of its own": "12.8.1_8.0_broadwell_1.12.0",
  "several GPUs in one image": "12.8.1_8.6-8.9_broadwell_1.12.0",
  PTX: "12.8.1_9.0-ptx_broadwell_1.12.0",
  "a specific target": "12.8.1_9.0a_neoverse-v2_1.12.0",
  "a family target": "13.0.2_10.0f_znver4_1.12.0",
  "a bundled driver": "9.2.148_5.2_broadwell_1.12.0",
  "a compat package and a base with a floor": "12.6.3_8.0_broadwell_1.12.0",
  Tegra: "12.8.1_8.7_neoverse-v2_1.12.0",
  "an included cell": "12.8.1_12.0_znver4_1.12.0",
};

const known = new Set(
  "FROM ARG LABEL ENV RUN COPY ADD CMD ENTRYPOINT USER WORKDIR EXPOSE VOLUME SHELL STOPSIGNAL HEALTHCHECK ONBUILD".split(
    " ",
  ),
);

/** Name of each instruction, as an independent parser reads it. */
function instructionsOf(text: string): string[] {
  return DockerfileParser.parse(text)
    .getInstructions()
    .map((instruction) => instruction.getInstruction());
}

describe("golden files", () => {
  test.each(Object.entries(golden))("%s: %s", async (_, id) => {
    const file = files.get(id);
    expect(file?.path).toBe(`images/${id}.Dockerfile`);
    await expect(file?.text).toMatchFileSnapshot(`../../golden/${id}.Dockerfile`);
  });
});

describe("every Dockerfile", () => {
  test.each([...files])("%s is one that an independent parser understands", (id, { text }) => {
    expect(instructionsOf(text).filter((name) => !known.has(name))).toEqual([]);
    const dockerfile = DockerfileParser.parse(text);
    expect(dockerfile.getDirectives().map((directive) => directive.getName())).toEqual(["syntax"]);
    expect(dockerfile.getFROMs()).toHaveLength(2);
    const labels = Object.fromEntries(
      dockerfile
        .getInstructions()
        .filter((instruction) => instruction.getInstruction() === "LABEL")
        .map((instruction) => {
          const text = instruction.getArgumentsContent() ?? "";
          const equals = text.indexOf("=");
          return [text.slice(0, equals), text.slice(equals + 2, -1).replace(/\\(.)/g, "$1")];
        }),
    );
    const cell = cells.find((each) => each.cell.id === id)?.cell;
    expect(JSON.parse(labels["dev.imgmatch.requires"] ?? "")).toEqual(cell?.requires);
    expect(JSON.parse(labels["dev.imgmatch.axes"] ?? "")).toEqual(cell?.axes);
    expect(labels["dev.imgmatch.cell"]).toBe(id);
    expect(labels["com.example.team"]).toBe('vision & "more" $HOME');
    expect(Object.keys(labels)).toEqual(
      expect.arrayContaining(
        ["source", "revision", "version", "base.name", "base.digest"].map(
          (name) => `org.opencontainers.image.${name}`,
        ),
      ),
    );
    expect(labels["com.nvidia.cuda.version"]).toBe(cell?.requires.cuda?.toolkit);
    expect(text).toContain("ENV NVIDIA_VISIBLE_DEVICES=");
    expect(text.endsWith("\n") && !text.endsWith("\n\n")).toBe(true);
    expect(text).not.toContain("\r");
  });

  test("is the same bytes when it is rendered again, from a matrix with Windows line ends too", () => {
    const source = readFileSync("test/fixtures/matrices/valid/drivers.yaml", "utf8").replaceAll("\n", "\r\n");
    const again = parseMatrix(source, "matrix.yaml");
    for (const { cell } of expandMatrix(again).filter(({ skipped }) => skipped === null)) {
      expect(renderCell(cell, again, template, argumentsOf(cell)).file).toEqual(files.get(cell.id));
    }
  });
});
