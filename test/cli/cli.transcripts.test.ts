/**
 * Runs the Markdown files beside this one: fenced blocks with a path are files, `console` blocks are what is typed and
 * what comes back on both streams, `[exit N]` included. Files before the first `##` are there in every section; each
 * section has a folder of its own. `vitest -u` writes what really came back.
 */

import { execFile, execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { beforeAll, test } from "vitest";
import { makeFolder, writeIn } from "../support/folders.ts";

const folder = dirname(new URL(import.meta.url).pathname);
const transcripts = readdirSync(folder).filter((name) => name.endsWith(".md"));
// A bundle of its own, so that nobody's dist/ is replaced while it runs; packages are found above it.
const bundle = "node_modules/.cache/imgmatch-transcripts";
const cli = resolve(bundle, "cli.cjs");
let bin = "";

beforeAll(() => {
  if (Math.max(newest("src"), newest("scripts")) > modified(cli)) {
    execFileSync(process.execPath, ["scripts/bundle.mjs", bundle], { stdio: "inherit" });
  }
  bin = makeFolder({ imgmatch: `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n` });
  chmodSync(join(bin, "imgmatch"), 0o755);
}, 120_000);

test.concurrent.for(transcripts)("%s", { timeout: 120_000 }, async (name, { expect }) => {
  const text = readFileSync(join(folder, name), "utf8");
  await expect(await replay(text)).toMatchFileSnapshot(join(folder, name));
});

/** The transcript as it really goes. */
async function replay(text: string): Promise<string> {
  const [preamble = "", ...sections] = text.split(/^(?=## )/m);
  const common = filesOf(preamble);
  const played = [preamble];
  for (const section of sections) {
    const root = makeFolder(common, "a folder with spaces ");
    played.push(await playSection(section, root));
  }
  return played.join("");
}

async function playSection(section: string, root: string): Promise<string> {
  let played = "";
  let from = 0;
  for (const block of section.matchAll(/^```(\w+)(?: (\S+))?\n([\s\S]*?)^```$/gm)) {
    const [whole, language, path, body = ""] = block;
    played += section.slice(from, block.index);
    from = block.index + whole.length;
    if (path !== undefined) writeIn(root, path, body);
    if (language !== "console") {
      played += whole;
      continue;
    }
    let lines = "";
    for (const [, command = ""] of body.matchAll(/^\$ (.*)$/gm))
      lines += `$ ${command}\n${await run(command, root)}`;
    played += `\`\`\`console\n${lines}\`\`\``;
  }
  return played + section.slice(from);
}

function filesOf(preamble: string): Record<string, string> {
  const blocks = preamble.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, path = "", body = ""]) => [path, body]));
}

function run(command: string, cwd: string): Promise<string> {
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: cwd, TZ: "UTC" };
  return new Promise((done) => {
    execFile("/bin/sh", ["-c", `exec 2>&1; ${command}`], { cwd, env }, (error, output) => {
      const text = output.replaceAll(cwd, "…");
      done(`${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[exit ${error?.code ?? 0}]\n`);
    });
  });
}

/** When the newest file below a folder was changed; 0 for what is not there. */
function newest(path: string): number {
  if (!statSync(path).isDirectory()) return modified(path);
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
