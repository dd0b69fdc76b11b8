/** The pages' claims beyond their commands: every link has its target, and every table names exactly what exists. */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { problemCodes } from "../../src/problem-codes.ts";
import { parseMatrix } from "../../src/fleet/matrix/parse-matrix.ts";
import { parseWorkspace } from "../../src/fleet/open/workspace.ts";
import type { HostProblem } from "../../src/facts/facts.ts";
import { isBroken } from "../../src/resolve/host-view.ts";
import { libcMismatch, variantMismatch } from "../../src/inspect/system-needs.ts";
import { unprovedCodes } from "../../src/resolve/check-image.ts";
import { efforts } from "../../src/resolve/verdict.ts";
import { describedCommands } from "./support/commands.ts";
import { blocksOf, proseOf, readPages, root } from "./support/markdown.ts";
import { referencePages } from "./support/reference.ts";

// Before any page is read: one may link to another.
if (process.env.UPDATE_DOCS)
  for (const [path, make] of Object.entries(referencePages)) writeFileSync(join(root, path), await make());
const pages = readPages();
const textOf = (path: string) => pages.find((page) => page.path === path)?.text ?? "";

describe("links", () => {
  test.each(pages)("of $path", (page) => {
    const targets = [...proseOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
    const broken = targets
      .filter((target) => !/^https:/.test(target))
      .filter((target) => {
        const [path = "", anchor] = target.split("#");
        const file = path === "" ? page.path : join(dirname(page.path), path);
        if (!existsSync(join(root, file))) return true;
        return anchor !== undefined && !anchorsOf(readFileSync(join(root, file), "utf8")).has(anchor);
      });
    expect(broken).toEqual([]);
  });

  test("pages that templates and demo name exist", () => {
    const files = ["templates", "demo"].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) =>
        join(folder, name),
      ),
    );
    const texts = ["matrix.yaml", ...files.filter((name) => /\.\w+$/.test(name))].map((name) =>
      readFileSync(join(root, name), "utf8"),
    );
    const named = texts.flatMap((text) => text.match(/(?<![\w/])docs\/[\w-]+\.md\b/g) ?? []);
    expect(named.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  test("of the README lead to files that the npm package has", () => {
    const { files } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const packed = ["README.md", "LICENSE", ...files];
    const targets = [...textOf("README.md").matchAll(/\]\(((?!https:)[^)#\s]+)/g)].map(
      ([, target = ""]) => target,
    );
    expect(targets.length).toBeGreaterThan(30);
    expect(
      targets.filter((target) => !packed.some((path) => target === path || target.startsWith(`${path}/`))),
    ).toEqual([]);
  });

  test("every page of docs/ is linked from the README", () => {
    const missing = pages.filter(
      ({ path }) => path.startsWith("docs/") && !textOf("README.md").includes(path),
    );
    expect(missing.map(({ path }) => path)).toEqual([]);
  });
});

describe("pages that are made of the program", () => {
  test.each(Object.entries(referencePages))("%s is what the program says", async (path, make) => {
    const text = await make();
    const command = "UPDATE_DOCS=1 npx vitest run --project unit test/docs";
    expect(readFileSync(join(root, path), "utf8") === text, `write it anew: ${command}`).toBe(true);
  });
});

describe("codes", () => {
  const rows = (pattern: RegExp) =>
    [...textOf("docs/errors.md").matchAll(pattern)].map(([, ...cells]) => cells);

  test("every problem code stands in docs/errors.md with its exit code, a meaning and a cure", () => {
    // Each section begins with the exit code of its codes; another stands behind the code.
    const sections = textOf("docs/errors.md")
      .split(/^Exit code (?=\d)/m)
      .slice(1);
    const codes = sections.flatMap((section) => {
      const [exit = ""] = section.split(/\D/);
      const found = section.matchAll(/^\| `([A-Z_]+)`(?: \((\d+)\))? \| \S.* \| \S.* \|$/gm);
      return [...found].map(([, code, own = exit]) => [code, own]);
    });
    expect(codes).toEqual(Object.entries(problemCodes).map(([code, exit]) => [code, String(exit)]));
  });

  test("docs/errors.md calls those states of a host broken that are", () => {
    const codes = rows(/^\| `(HOST_[A-Z_]+)` \| Broken: /gm).flat();
    const broken = Object.keys(problemCodes).filter((code) => isBroken({ code, message: "" } as HostProblem));
    expect(codes).toEqual(broken);
  });

  test("every reason stands in docs/errors.md with its cure", () => {
    const [, reasons = ""] = textOf("docs/errors.md").split(/^## /m);
    const codes = [...reasons.matchAll(/^\| `([A-Z_]+)` \| \S.* \| \S.* \|$/gm)].map(([, code]) => code);
    expect(codes.sort()).toEqual(
      [...Object.keys(efforts), libcMismatch, variantMismatch, ...unprovedCodes].sort(),
    );
  });

  test("the README has at most 750 words, and its two commands on the first screen", () => {
    const text = textOf("README.md");
    expect(text.split(/\s+/).filter(Boolean).length).toBeLessThanOrEqual(750);
    const start = text.split("\n").slice(0, 24).join("\n");
    expect(start).toContain("```sh\nnpm ci && npm run demo\nnpm ci && npm test\n```");
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
      scripts: Record<string, string>;
    };
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(["demo", "test"]));
  });

  test("the exit codes of one-image.md are those of the code", () => {
    const [, codes = ""] = /Exit codes: (.*?)\.\n/s.exec(textOf("docs/one-image.md")) ?? [];
    const named = [...codes.matchAll(/\b\d+\b/g)].map(([code]) => Number(code));
    expect(named).toEqual([...new Set([0, ...Object.values(problemCodes), 3, 4, 5])].sort((a, b) => a - b));
  });
});

describe("flags", () => {
  test("no page uses a flag that its command does not have", () => {
    const uses = pages.flatMap(({ path: page, text }) =>
      [...text.replaceAll("\\\n> ", " ").matchAll(/\bimgmatch ([a-z-]+)((?: [^\s`|&)]+)*)/g)].flatMap(
        ([, name = "", rest = ""]) =>
          [...(rest.split(" -- ")[0] ?? "").matchAll(/ (--[a-z-]+)/g)].map(([, flag = ""]) => ({
            page,
            name,
            flag,
          })),
      ),
    );
    const known = (name: string) =>
      describedCommands
        .filter((command) => command.name.split(" ")[0] === name)
        .flatMap(({ flags }) => flags.map((flag) => flag.split(" ")[0] ?? ""));
    expect(uses.length).toBeGreaterThan(20);
    expect(
      uses.filter(
        ({ name, flag }) => known(name).length > 0 && flag !== "--help" && !known(name).includes(flag),
      ),
    ).toEqual([]);
  });
});

describe("docs/matrix.md", () => {
  test.each(
    blocksOf({ path: "", text: textOf("docs/matrix.md") }).filter(({ language }) => language === "yaml"),
  )("the matrix of line $line is one", ({ text }) => {
    if (text.startsWith("fleets:")) {
      expect(parseWorkspace(text, "imgmatch.workspace.yaml").length).toBeGreaterThan(1);
      return;
    }
    const whole = {
      name: "app",
      version: "1",
      registry: "localhost:5000",
      template: "t.hbs",
      base: "debian:12",
    };
    const example = parse(text, { schema: "failsafe" });
    const axes = { ...(example.axes ?? { cuda: ["13.0.2", "12.8.1"], march: ["x86-64-v2"] }) };
    if (axes.cuda !== undefined) axes.compute ??= ["8.0"];
    if (axes.compute !== undefined && axes.accel === undefined) axes.cuda ??= ["12.8.1"];
    expect(parseMatrix(stringify({ ...whole, ...example, axes }), "matrix.yaml").name).toMatch(/app|vision/);
  });
});

/** As GitHub makes them of headings. */
function anchorsOf(text: string): ReadonlySet<string> {
  return new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    ),
  );
}
