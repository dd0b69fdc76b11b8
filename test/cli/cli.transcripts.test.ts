/**
 * Runs the Markdown files beside this one: fenced blocks with a path are files, `console` blocks are what is typed and
 * what comes back on both streams, `[exit N]` included. Files before the first `##` are there in every section; each
 * section has a folder of its own, in which programs import the library of the same bundle. `vitest -u` writes what really came back.
 *
 * A line that is nothing but `imgmatch` and its words runs in this process, which takes a tenth of the time. What a shell has to read (pipes,
 * lists, variables) and the first command of each transcript run the program.
 */

import { execFile, execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, test } from "vitest";
import { makeFolder, writeIn } from "../support/folders.ts";
import { runInProcess } from "../support/run-cli.ts";

const folder = dirname(new URL(import.meta.url).pathname);
const transcripts = readdirSync(folder).filter((name) => name.endsWith(".md"));
/** What `npm run build` has written, unless the sources are newer. */
let cli = resolve("dist/cli.cjs");
let bin = "";

beforeAll(() => {
  const changed = Math.max(newest("src"), newest("scripts"));
  if (changed > modified(cli)) {
    // A bundle of its own, so that nobody's dist/ is replaced while it runs; packages are found above it.
    const bundle = "node_modules/.cache/imgmatch-transcripts";
    cli = resolve(bundle, "cli.cjs");
    if (changed > modified(cli))
      execFileSync(process.execPath, ["scripts/bundle.mjs", bundle], { stdio: "inherit" });
  }
  bin = makeFolder({ imgmatch: `#!/bin/sh\nexec "${process.execPath}" "${cli}" "$@"\n` });
  chmodSync(join(bin, "imgmatch"), 0o755);
}, 120_000);

// One after the other: a process has one current folder.
test.for(transcripts)("%s", { timeout: 120_000 }, async (name, { expect }) => {
  const text = readFileSync(join(folder, name), "utf8");
  await expect(await replay(text)).toMatchFileSnapshot(join(folder, name));
});

/** The transcript as it really goes. */
async function replay(text: string): Promise<string> {
  const [preamble = "", ...sections] = text.split(/^(?=## )/m);
  const common = filesOf(preamble);
  const played = [preamble];
  for (const section of sections) {
    const root = makeFolder(
      { ...common, ...(section.includes("$ node ") ? library() : {}) },
      "a folder with spaces ",
    );
    played.push(await playSection(section, root, played.length === 1));
  }
  return played.join("");
}

/** `imgmatch` as a package of the folder. */
function library(): Record<string, string> {
  const index = pathToFileURL(join(dirname(cli), "index.js")).href;
  return {
    "node_modules/imgmatch/package.json": '{ "type": "module", "exports": "./index.js" }\n',
    "node_modules/imgmatch/index.js": `export * from ${JSON.stringify(index)};\n`,
  };
}

async function playSection(section: string, root: string, isFirst: boolean): Promise<string> {
  let isReal = isFirst;
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
    for (const [, command = ""] of body.matchAll(/^\$ (.*)$/gm)) {
      const plain = isReal ? null : plainCommand(command);
      if (command.startsWith("imgmatch ")) isReal = false;
      const ran = await (plain === null ? run(command, root) : runHere(plain, root));
      lines += `$ ${command}\n${ran}`;
    }
    played += `\`\`\`console\n${lines}\`\`\``;
  }
  return played + section.slice(from);
}

function filesOf(preamble: string): Record<string, string> {
  const blocks = preamble.matchAll(/^```\w+ (\S+)\n([\s\S]*?)^```$/gm);
  return Object.fromEntries([...blocks].map(([, path = "", body = ""]) => [path, body]));
}

const quiet = { out: ">/dev/null", err: "2>/dev/null" } as const;

interface PlainCommand {
  readonly words: readonly string[];
  /** A file. */
  readonly stdin: string | null;
  readonly hidden: readonly string[];
}

/** The words of `imgmatch` as a shell reads them; null for a line that asks more of a shell. */
function plainCommand(command: string): PlainCommand | null {
  const spaced = command.replace(/ (2?>|<) (?=\S)/g, " $1");
  if (!/^imgmatch( ("[^"$`\\]*"|<?[\w@%+=:,./-]+|2?>\/dev\/null))*$/.test(spaced)) return null;
  const tokens = [...spaced.matchAll(/ ("[^"]*"|\S+)/g)].map(([, token = ""]) => token);
  const hidden = tokens.filter((token) => token.includes(">") && !token.startsWith('"'));
  const stdin = tokens.find((token) => token.startsWith("<"))?.slice(1) ?? null;
  const words = tokens.filter((token) => !hidden.includes(token) && !token.startsWith("<"));
  return { words: words.map((word) => word.replace(/^"(.*)"$/, "$1")), stdin, hidden };
}

function run(command: string, cwd: string): Promise<string> {
  return new Promise((done) => {
    execFile("/bin/sh", ["-c", `exec 2>&1; ${command}`], { cwd, env: envIn(cwd) }, (error, output) =>
      done(answer(output, error?.code ?? 0, cwd)),
    );
  });
}

async function runHere({ words, stdin, hidden }: PlainCommand, cwd: string): Promise<string> {
  let output = "";
  const writer = (redirection: string) => (text: string) => {
    if (!hidden.includes(redirection)) output += text;
  };
  const err = writer(quiet.err);
  const before = process.cwd();
  process.chdir(cwd);
  const { exit } = await runInProcess(words, {
    out: writer(quiet.out),
    err,
    log: (line) => {
      err(line);
      return true;
    },
    env: envIn(cwd),
    cwd,
    readStdin: async () => (stdin === null ? "" : readFileSync(stdin, "utf8")),
  }).finally(() => process.chdir(before));
  return answer(output, exit, cwd);
}

function envIn(cwd: string) {
  return { PATH: `${bin}:${process.env.PATH}`, HOME: cwd, TZ: "UTC" };
}

function answer(output: string, exit: number | string, cwd: string): string {
  const text = output.replaceAll(cwd, "…");
  return `${text}${text === "" || text.endsWith("\n") ? "" : "\n"}[exit ${exit}]\n`;
}

/** When the newest file below a folder was changed; 0 for what is not there. */
function newest(path: string): number {
  if (!statSync(path).isDirectory()) return modified(path);
  return Math.max(0, ...readdirSync(path).map((name) => newest(join(path, name))));
}

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
