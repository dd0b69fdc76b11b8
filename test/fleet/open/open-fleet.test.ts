import type { Digest } from "../../../src/oci/digest.ts";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";

const digest = (character: string): Digest => `sha256:${character.repeat(64)}`;
const files = {
  "matrix.yaml": matrixText("axes:\n  march: [x86-64-v2, x86-64-v3]"),
  "templates/app.Dockerfile.hbs":
    "FROM {{base}}\nCOPY app.c lib/ /src/\nRUN gcc {{march.flags}} -o /app /src/app.c\n",
  "templates/app.c": "int main;\n",
  "templates/lib/app.h": "",
};

async function inputs(root: string, base: Digest | null = digest("b")): Promise<(Digest | null)[]> {
  const fleet = await openFleet(join(root, "matrix.yaml"));
  const plan = await planFleet(fleet, { lock: null, findBaseDigest: async () => base });
  return plan.cells.map(({ inputDigest }) => inputDigest);
}

test("a secret in a template is refused before anything is built", async () => {
  const root = makeFolder({
    ...files,
    "templates/app.Dockerfile.hbs": "FROM {{base}}\nENV A=1\nARG NPM_TOKEN=abc\n",
  });
  await expect(inputs(root)).rejects.toMatchObject({
    problems: [{ code: "MATRIX_SECRET", at: { file: "images/x86-64-v2.Dockerfile", line: 4 } }],
  });
});

test("a template's name that nothing has is answered with the nearest that is there", async () => {
  const root = makeFolder({
    ...files,
    "matrix.yaml": matrixText("template: templates/ap.Dockerfile.hbs\naxes:\n  march: [x86-64-v2]"),
  });
  await expect(inputs(root)).rejects.toMatchObject({
    problems: [
      {
        code: "TEMPLATE_NOT_FOUND",
        fix: "did you mean templates/app.Dockerfile.hbs? create it, or correct template: in the matrix",
      },
    ],
  });
});

test.each([
  ["behind a here-document", "COPY <<EOF /etc/motd\nhello\nEOF\nCOPY gone /x\n", "CONTEXT_NOT_FOUND", 6],
  ["on a continued line", "COPY app.c \\\n  gone /x/\n", "CONTEXT_NOT_FOUND", 3],
  ["behind a comment in the instruction", "COPY app.c \\\n\n  # and\n  gone /x/\n", "CONTEXT_NOT_FOUND", 3],
  ["behind ONBUILD", "ONBUILD ENV NPM_TOKEN=abc\n", "MATRIX_SECRET", 3],
  ["a secret there", "ENV A=1 \\\n  # of npm\n  NPM_TOKEN=abc\n", "MATRIX_SECRET", 3],
])("what is wrong is found %s", async (_, text, code, line) => {
  const root = makeFolder({ ...files, "templates/app.Dockerfile.hbs": `FROM {{base}}\n${text}` });
  await expect(inputs(root)).rejects.toMatchObject({
    problems: [{ code, at: { file: "images/x86-64-v2.Dockerfile", line } }],
  });
});

describe("the input digests of a fleet", () => {
  test("are the same in another checkout, with Windows line ends, and after everything imgmatch writes", async () => {
    const root = makeFolder(files);
    const before = await inputs(root);
    expect(new Set(before).size).toBe(2);

    const copy = makeFolder({}, "another checkout ");
    cpSync(root, copy, { recursive: true });
    const crlf = (path: keyof typeof files) => writeIn(copy, path, files[path].replaceAll("\n", "\r\n"));
    crlf("matrix.yaml");
    crlf("templates/app.Dockerfile.hbs");
    expect(await inputs(copy)).toEqual(before);

    writeIn(root, "matrix.yaml", `# a comment\n${files["matrix.yaml"]}`);
    writeIn(
      root,
      "templates/app.Dockerfile.hbs",
      `{{!-- a comment --}}\n${files["templates/app.Dockerfile.hbs"]}`,
    );
    expect(await inputs(root)).toEqual(before);
  });

  test("do not depend on the lock, the Dockerfiles, the logs or git, also when the context is the whole checkout", async () => {
    const root = makeFolder({
      ...files,
      "matrix.yaml": files["matrix.yaml"].replace("axes:", "context: .\naxes:"),
      "templates/app.Dockerfile.hbs":
        "FROM {{base}}\nCOPY templates/app.c /src/\nRUN gcc {{march.flags}} -o /app /src/app.c\n",
    });
    const before = await inputs(root);
    writeIn(root, "images/x86-64-v2.Dockerfile", "FROM x\n");
    writeIn(root, "images/imgmatch.lock.json", "{}\n");
    writeIn(root, "images/imgmatch.lock.json.busy", "1\n");
    writeIn(root, ".imgmatch/logs/x.log", "log\n");
    writeIn(root, ".git/HEAD", "ref\n");
    expect(await inputs(root)).toEqual(before);
    writeIn(root, "templates/app.c", "int x;\n");
    expect(await inputs(root)).not.toEqual(before);
  });

  test("do not depend on what another fleet in the same context writes, and on its sources they do", async () => {
    const root = makeFolder({
      ...files,
      "matrix.yaml": files["matrix.yaml"].replace("axes:", "context: .\naxes:"),
      "templates/app.Dockerfile.hbs": "FROM {{base}}\nCOPY templates/app.c /src/\nENV MARCH={{march.name}}\n",
      "other/images/logo.png": "",
      "other/images/by-hand.Dockerfile": "# edits are welcome\nFROM scratch\n",
    });
    const before = await inputs(root);
    const other = await openFleet(join(root, "matrix.yaml"));
    const [first] = other.cells;
    const generated = first === undefined ? "" : other.dockerfileOf(first.cell).text;
    writeIn(root, "other/images/x86-64-v2.Dockerfile", generated);
    writeIn(root, "other/images/syntax.Dockerfile", `# syntax=docker/dockerfile:1\n${generated}`);
    writeIn(root, "other/images/imgmatch.lock.json", "{}\n");
    writeIn(root, "other/.imgmatch/logs/x.log", "log\n");
    expect(await inputs(root)).toEqual(before);
    writeIn(root, "other/images/by-hand.Dockerfile", "FROM scratch\n");
    const now = await inputs(root);
    expect(now).not.toEqual(before);
    writeIn(root, "other/x86-64-v2.Dockerfile", generated);
    expect(await inputs(root)).not.toEqual(now);
  });

  test("change with the template, a base's digest and what is built with in its place", async () => {
    const root = makeFolder(files);
    const before = await inputs(root);
    expect(await inputs(root, digest("c"))).not.toEqual(before);
    expect(await inputs(root, null)).toEqual([null, null]);
    writeIn(root, "templates/app.Dockerfile.hbs", `${files["templates/app.Dockerfile.hbs"]}ENV A=1\n`);
    expect(await inputs(root)).not.toEqual(before);
  });
});

describe("where base digests come from", () => {
  const pinned = `debian:12@${digest("d")}`;
  const open = (base: string) =>
    openFleet(
      join(
        makeFolder({
          ...files,
          "matrix.yaml": matrixText(`base: "${base}"\naxes:\n  march: [x86-64-v2, x86-64-v3]`),
        }),
        "matrix.yaml",
      ),
    );

  test("a reference with a digest asks nobody", async () => {
    const { cells } = await planFleet(await open(pinned), {
      lock: null,
      findBaseDigest: () => Promise.reject(new Error("asked")),
    });
    expect(cells[0]?.bases).toEqual([{ ref: pinned, used: pinned, digest: digest("d") }]);
  });

  test("each other base is asked for once, and the lock pins what it names", async () => {
    const asked: string[] = [];
    const findBaseDigest = async (ref: string) => {
      asked.push(ref);
      return digest("e");
    };
    const fleet = await open("debian:12");
    const first = await planFleet(fleet, { lock: null, findBaseDigest });
    expect(asked).toEqual(["debian:12"]);
    const [planned] = first.cells;
    if (!planned?.inputDigest) throw new Error("no digest");
    const lock = {
      schemaVersion: 2 as const,
      name: "app",
      version: "1.0",
      repository: fleet.matrix.repository,
      images: {
        [planned.cell.id]: {
          axes: planned.cell.axes,
          platform: planned.cell.platform,
          tag: "t",
          inputDigest: planned.inputDigest,
          digest: digest("f"),
          requires: planned.cell.requires,
          bases: [{ ref: "debian:12", digest: digest("e") }],
          builder: "docker",
          created: null,
          size: null,
        },
      },
    };
    const moved = await planFleet(fleet, { lock, findBaseDigest: async () => digest("0") });
    expect(moved.cells.map(({ action }) => action)).toEqual(["keep", "build"]);
    expect(moved.cells.map(({ bases }) => bases[0]?.digest)).toEqual([digest("e"), digest("e")]);
  });

  test("a base that the matrix replaces, unless the caller does", async () => {
    const text = matrixText("base: debian:12\naxes:\n  march: [x86-64-v2]");
    const opened = (lines: string) =>
      openFleet(join(makeFolder({ ...files, "matrix.yaml": `${text}\n${lines}` }), "matrix.yaml"));
    const used = async (lines: string, more: readonly (readonly [string, string])[] = []) => {
      const options = { lock: null, replaceBases: new Map(more), findBaseDigest: async () => digest("1") };
      const { cells } = await planFleet(await opened(lines), options);
      return cells.flatMap(({ bases }) => bases.map((base) => base.used));
    };
    const line = "replaceBases: { debian:12: mirror.example.com/debian:12 }";
    expect(await used(line)).toEqual(["mirror.example.com/debian:12"]);
    expect(await used(line, [["debian:12", "localhost:5000/d:1"]])).toEqual(["localhost:5000/d:1"]);
    expect(await used("", [["docker.io", "mirror.example.com/hub"]])).toEqual([
      "mirror.example.com/hub/library/debian:12",
    ]);
    expect(await used(line, [["docker.io/library", "mirror.example.com:5000/os"]])).toEqual([
      "mirror.example.com:5000/os/debian:12",
    ]);
    expect(await used("replaceBases: { debian: team/debian, docker.io: example.com }")).toEqual([
      "team/debian:12",
    ]);
    await expect(used("", [["docker.io/lib", "mirror.example.com"]])).rejects.toMatchObject({
      problems: [{ code: "USAGE" }],
    });
    await expect(used("replaceBases: { debian:11: debian:10 }")).rejects.toMatchObject({
      problems: [
        {
          code: "MATRIX_SCHEMA",
          message: "no Dockerfile starts from debian:11: there is nothing to replace",
          fix: "did you mean debian:12? the bases are debian:12",
          at: { line: expect.any(Number), column: 28 },
        },
      ],
    });
    await expect(used("replaceBases: { debian:12: 'no reference' }")).rejects.toMatchObject({
      problems: [{ code: "REFERENCE_INVALID", at: { line: expect.any(Number), column: 28 } }],
    });
  });

  test("a replaced base is known by its own digest", async () => {
    const fleet = await open("debian:12");
    const { cells } = await planFleet(fleet, {
      lock: null,
      replaceBases: new Map([["debian:12", "localhost:5000/debian:12"]]),
      findBaseDigest: async (ref) => (ref === "localhost:5000/debian:12" ? digest("1") : null),
    });
    expect(cells[0]?.bases).toEqual([
      { ref: "debian:12", used: "localhost:5000/debian:12", digest: digest("1") },
    ]);
  });
});

describe("a fleet that cannot be opened or rendered", () => {
  const problems = async (change: (root: string) => void) => {
    const root = makeFolder(files);
    change(root);
    return inputs(root).then(
      () => [],
      (error) =>
        error.problems.map(
          ({ code, message, at }: { code: string; message: string; at: { file: string } }) => ({
            code,
            message: message.replaceAll(`${root}/`, ""),
            at: { ...at, file: at.file.replace(`${root}/`, "") },
          }),
        ),
    );
  };

  test("template gone: named at its place in the matrix", async () => {
    expect(await problems((root) => rmSync(join(root, "templates/app.Dockerfile.hbs")))).toEqual([
      {
        code: "TEMPLATE_NOT_FOUND",
        message: "the template templates/app.Dockerfile.hbs cannot be read",
        at: { file: "matrix.yaml", line: 4, column: 11, text: "template: templates/app.Dockerfile.hbs" },
      },
    ]);
  });

  test("a file that COPY names gone: found before anything is built", async () => {
    const missing = [
      {
        code: "CONTEXT_NOT_FOUND",
        message: "COPY names app.c, which is not in the build context templates",
        at: { file: "images/x86-64-v2.Dockerfile", line: 3, text: "COPY app.c lib/ /src/" },
      },
    ];
    expect(await problems((root) => rmSync(join(root, "templates/app.c")))).toEqual(missing);
    expect(await problems((root) => writeIn(root, "templates/.dockerignore", "*.c\n"))).toEqual(missing);
  });

  test("a base that is no reference", async () => {
    expect(
      await problems((root) =>
        writeIn(root, "templates/app.Dockerfile.hbs", "FROM Debian:12\nFROM gcc:14:2\n"),
      ),
    ).toEqual([
      expect.objectContaining({
        code: "REFERENCE_INVALID",
        at: { file: "images/x86-64-v2.Dockerfile", line: 2 },
      }),
      expect.objectContaining({
        code: "REFERENCE_INVALID",
        at: { file: "images/x86-64-v2.Dockerfile", line: 3 },
      }),
    ]);
  });

  test("a template without FROM", async () => {
    expect(await problems((root) => writeIn(root, "templates/app.Dockerfile.hbs", ""))).toEqual([
      {
        code: "DOCKERFILE_INVALID",
        message: "the template has no FROM",
        at: { file: "templates/app.Dockerfile.hbs" },
      },
    ]);
  });
});
