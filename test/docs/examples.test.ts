/** Programs on the pages are files of docs/examples, their types hold, and the sample fleet is what imgmatch would write. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { blocksOf, readPages, root } from "./support/markdown.ts";
import { sampleLock } from "./support/sample-lock.ts";

const examples = join(root, "docs/examples");

/** The package itself where a folder has it installed: it is too large to be one of this repository's. */
function cloud(name: string): string {
  const packages = process.env.IMGMATCH_PULUMI_PACKAGES;
  if (packages === undefined) return join(root, `test/docs/support/clouds/${name}.ts`);
  return join(packages, `node_modules/@pulumi/${name}/index.d.ts`);
}

describe("programs", () => {
  for (const page of readPages()) {
    for (const block of blocksOf(page).filter(({ notes }) => notes.has("file"))) {
      const path = block.notes.get("file") ?? "";
      test(`${page.path} shows ${path} as it is`, () => {
        const file = readFileSync(join(root, path), "utf8").trimEnd();
        if (process.env.UPDATE_DOCS && block.text !== file) {
          const shown = `<!-- file: ${path} -->\n\`\`\`ts\n`;
          const text = readFileSync(join(root, page.path), "utf8");
          const before = block.text === "" ? shown : `${shown}${block.text}\n`;
          return writeFileSync(
            join(root, page.path),
            text.replace(before, () => `${shown}${file}\n`),
          );
        }
        expect(block.text).toBe(file);
      });
    }
  }

  test("every program is on a page, and every TypeScript block is a file", () => {
    const blocks = readPages().flatMap(blocksOf);
    const links = readPages().flatMap(({ text }) => [...text.matchAll(/\]\((examples\/[^)#]+)\)/g)]);
    const shown = new Set([
      ...blocks.map(({ notes }) => notes.get("file")),
      ...links.map(([, path]) => `docs/${path}`),
    ]);
    const named = readdirSync(examples).filter((name) => name.endsWith(".ts"));
    const files = [...named, ...readdirSync(join(examples, "ci")).map((name) => `ci/${name}`)];
    expect(files.filter((name) => !shown.has(`docs/examples/${name}`))).toEqual([]);
    expect(blocks.filter(({ language, notes }) => language === "ts" && !notes.has("file"))).toEqual([]);
  });

  test("their types hold", () => {
    // Beside the repository's node_modules, so that the compiler finds the types of Node.
    const folder = mkdtempSync(join(root, "node_modules/.imgmatch-examples-"));
    try {
      const config = {
        extends: join(root, "tsconfig.json"),
        compilerOptions: {
          paths: {
            imgmatch: [join(root, "dist/types/index.d.ts")],
            "imgmatch/pulumi": [join(root, "dist/types/pulumi/image-fleet.d.ts")],
            "imgmatch/resolve": [join(root, "dist/types/resolve.d.ts")],
            "@pulumi/aws": [cloud("aws")],
            "@pulumi/kubernetes": [cloud("kubernetes")],
          },
          // Programs of Pulumi are CommonJS, written as modules.
          verbatimModuleSyntax: false,
          rootDir: root,
        },
        include: [join(examples, "*.ts"), join(examples, "pulumi/*.ts")],
      };
      writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
      execFileSync(join(root, "node_modules/typescript-native/bin/tsc"), ["-p", folder], {
        cwd: root,
        encoding: "utf8",
      });
    } catch (error) {
      const printed = (error as { stdout?: string }).stdout ?? String(error);
      expect(printed.split("\n").filter((line) => line.includes("docs/examples/"))).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    // The compiler reads Pulumi's types.
  }, 180_000);
});

describe("docs/examples/vision", () => {
  const vision = join(examples, "vision");

  test("its lock is what a build of its matrix would write", async () => {
    await expect(await sampleLock(vision)).toMatchFileSnapshot(join(vision, "images/imgmatch.lock.json"));
  });

  test.each([
    ["h100", "ubuntu2404-sapphirerapids-h100"],
    ["laptop", "ubuntu2204-alderlake_hybrid-none"],
    ["mismatch", "broken-zen3-rtx3080_library_mismatch"],
    ["rtx4090", "ubuntu2404-zen4-rtx4090"],
    ["v100-no-driver", "broken-skylake-v100_no_driver"],
  ])("hosts/%s.json are the facts of %s", async (name, machine) => {
    const facts = readFileSync(join(root, "test/fixtures/hosts", machine, "expected.json"), "utf8");
    await expect(facts).toMatchFileSnapshot(join(vision, "hosts", `${name}.json`));
  });
});
