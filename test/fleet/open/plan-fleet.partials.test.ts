/** Partials: files beside the template, inside the matrix's folder, inputs like the template itself. */

import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import { makeFolder, writeIn } from "../../support/folders.ts";
import { matrixText } from "../../support/matrices.ts";
import { problemText } from "../../support/problem-text.ts";

const files = {
  "matrix.yaml": matrixText("axes: { march: [x86-64-v2] }"),
  "templates/app.Dockerfile.hbs": "FROM {{base}}\n{{> apt}}\nRUN gcc {{march.flags}} -o /app app.c\n",
  "templates/apt.hbs": "RUN apt-get install -y {{> lists/packages}}\n",
  "templates/lists/packages.hbs": "gcc-{{march.name}}",
  "templates/app.c": "int main;\n",
};

async function opened(more: Readonly<Record<string, string>> = {}) {
  const root = makeFolder({ ...files, ...more });
  return { root, fleet: await openFleet(join(root, "matrix.yaml")) };
}

async function refusal(more: Readonly<Record<string, string>>, change = (_: string) => {}): Promise<string> {
  const root = makeFolder({ ...files, ...more });
  change(root);
  try {
    const fleet = await openFleet(join(root, "matrix.yaml"));
    return fleet.cells.map(({ cell }) => fleet.dockerfileOf(cell).text).join("");
  } catch (error) {
    return problemText(error).replaceAll(`${root}/`, "");
  }
}

test("stand where they are named, and see what their place sees", async () => {
  const { fleet } = await opened();
  const [first] = fleet.cells;
  expect(first && fleet.dockerfileOf(first.cell).text).toContain(
    "RUN apt-get install -y gcc-x86-64-v2\nRUN gcc -march=x86-64-v2 -o /app app.c\n",
  );
});

test("inside a block they see its names", async () => {
  const text = await refusal({
    "templates/app.Dockerfile.hbs": "FROM {{base}}\n{{#with march}}{{> lists/packages}}{{/with}}\n",
    "templates/lists/packages.hbs": "RUN a {{name}}",
  });
  expect(text).toContain("RUN a x86-64-v2");
});

test("are inputs, and no files of the context", async () => {
  const inputs = async (root: string) => {
    const fleet = await openFleet(join(root, "matrix.yaml"));
    const digest = `sha256:${"a".repeat(64)}` as const;
    const plan = await planFleet(fleet, { lock: null, findBaseDigest: async () => digest });
    const [first] = plan.cells;
    const entries = first === undefined ? [] : fleet.folderOf(first.cell).listing.entries;
    return { digest: first?.inputDigest, paths: entries.map(({ path }) => path) };
  };
  const { root } = await opened();
  const before = await inputs(root);
  expect(before.paths).toEqual(["app.c"]);
  writeIn(root, "templates/lists/packages.hbs", "clang-{{march.name}}");
  expect((await inputs(root)).digest).not.toBe(before.digest);
});

describe("what is refused", () => {
  const named = (partial: string) => ({
    "templates/app.Dockerfile.hbs": `FROM {{base}}\n{{> ${partial}}}\n`,
  });

  test.each([
    ["one that is not there", named("gone"), "TEMPLATE_NOT_FOUND: the partial gone.hbs is not there"],
    ["one beside which a name is near", named("atp"), "did you mean apt? create it beside"],
    ["one further down", named("lists/package"), "did you mean lists/packages? create it beside"],
    ["a path upwards", named('"../matrix"'), "TEMPLATE_SYNTAX"],
    ["a path from the root", named('"/etc/passwd"'), "TEMPLATE_SYNTAX"],
    ["a hidden file", named('".env"'), "TEMPLATE_SYNTAX"],
    ["a name that is made", named("(lookup . 'x')"), "TEMPLATE_SYNTAX"],
    ["a context", named("apt march"), "TEMPLATE_SYNTAX: a partial takes nothing but its name"],
    ["an option", named('apt name="x"'), "TEMPLATE_SYNTAX: options as in name=value are not available"],
    [
      "one that puts itself in",
      { "templates/lists/packages.hbs": "{{> apt}}" },
      "TEMPLATE_SYNTAX: the partial apt puts itself in",
    ],
    [
      "a mistake in it, at its own place",
      { "templates/apt.hbs": "RUN a\n  {{march.flag}}\n" },
      "templates/apt.hbs:2:5: TEMPLATE_UNKNOWN_NAME",
    ],
    ["a broken one", { "templates/apt.hbs": "{{#if gpu}}\n" }, "templates/apt.hbs:2: TEMPLATE_SYNTAX"],
  ])("%s", async (_, more, expected) => {
    expect(await refusal(more as Readonly<Record<string, string>>)).toContain(expected);
  });

  test("a link out of the matrix's folder", async () => {
    const elsewhere = makeFolder({ "secret.hbs": "RUN secret\n" });
    const told = await refusal(named("linked"), (root) =>
      symlinkSync(join(elsewhere, "secret.hbs"), join(root, "templates/linked.hbs")),
    );
    expect(told).toContain(
      "TEMPLATE_NOT_FOUND: the partial templates/linked.hbs leads out of the matrix's folder",
    );
    expect(told).not.toContain("RUN secret");
  });

  test("partials of partials without end", async () => {
    const chain = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [`templates/p${at}.hbs`, `{{> p${at + 1}}}{{> p${at + 1}}}x`]),
    );
    const more = { ...named("p0"), ...chain, "templates/p30.hbs": "x" };
    expect(await refusal(more)).toContain("INPUT_TOO_LARGE");
  });

  test("a partial in an argument of the matrix", async () => {
    const text = `${files["matrix.yaml"]}args: { A: "{{> apt}}" }\n`;
    expect(await refusal({ "matrix.yaml": text })).toContain(
      "the argument A: partials are not available here",
    );
  });
});
