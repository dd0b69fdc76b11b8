/** Words from outside reach a terminal as words: through every command that shows a lock, an index, facts, labels or an answer. */

import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { runCli } from "../../src/cli.ts";
import type { CommandContext } from "../../src/commands/context.ts";
import { isPrintable } from "../../src/printable.ts";

const nasty = "\u001b]0;x\u0007\r\u009b2J\u202e\u2066\u200f\u200b\u2028\u0000";
const folder = mkdtempSync(join(tmpdir(), "imgmatch-terminal-"));
const lockText = readFileSync("docs/examples/vision/images/imgmatch.lock.json", "utf8");
const factsText = readFileSync(
  "test/fixtures/hosts/ubuntu2204-sapphirerapids-h100_mig/expected.json",
  "utf8",
);

async function shown(args: readonly string[], more: Partial<CommandContext> = {}): Promise<string> {
  let text = "";
  const write = (part: string) => {
    text += part;
  };
  const context: CommandContext = {
    out: write,
    err: write,
    env: { DOCKER_CONFIG: folder, HOME: folder },
    cwd: folder,
    readStdin: async () => "",
    terminal: { animated: false, interactive: false, columns: 80, color: { out: false, err: false } },
    signal: new AbortController().signal,
    takeSignals: () => {},
    ...more,
  };
  await runCli(args, context);
  return text;
}

function file(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

function expectSafe(text: string): void {
  expect(text).not.toBe("");
  for (const line of text.split("\n"))
    expect(isPrintable(line.replaceAll("\t", "")), JSON.stringify(line)).toBe(true);
}

/** Every text of a JSON document, one at a time, and every key. */
function poisoned(json: string): string[] {
  const texts: string[] = [];
  const root = JSON.parse(json) as unknown;
  visit(root, (change) => texts.push(change()));
  return texts;

  function visit(value: unknown, tell: (change: () => string) => void): void {
    if (typeof value !== "object" || value === null) return;
    const object = value as Record<string, unknown>;
    for (const [key, inner] of Object.entries(object).slice(0, 12)) {
      if (typeof inner === "string") {
        object[key] = `${inner}${nasty}`;
        tell(() => JSON.stringify(root));
        object[key] = inner;
      }
      visit(inner, tell);
      if (Array.isArray(value)) continue;
      delete object[key];
      object[`${key}${nasty}`] = inner;
      tell(() => JSON.stringify(root));
      delete object[`${key}${nasty}`];
      object[key] = inner;
    }
  }
}

describe("escape codes in", () => {
  const facts = file("facts.json", factsText);
  const lock = file("lock.json", lockText);

  test("a lock", { timeout: 120_000 }, async () => {
    const locks = poisoned(lockText);
    expect(locks.length).toBeGreaterThan(50);
    for (const text of locks) {
      const path = file("bad-lock.json", text);
      expectSafe(await shown(["resolve", "--lock", path, "--host", facts, "--explain"]));
      expectSafe(await shown(["resolve", "--lock", path, "--host", facts, "--json"]));
      expectSafe(await shown(["why-not", "x", "--lock", path, "--host", facts]));
    }
    expectSafe(await shown(["resolve", "--lock", file("cut.json", `{"a": "${nasty}`), "--host", facts]));
  });

  test("facts", { timeout: 120_000 }, async () => {
    for (const text of poisoned(factsText)) {
      const path = file("bad-facts.json", text);
      expectSafe(await shown(["probe", "--host", path]));
      expectSafe(await shown(["probe", "--host", path, "--json"]));
      expectSafe(await shown(["labels", "--host", path]));
      expectSafe(await shown(["resolve", "--lock", lock, "--host", path, "--explain"]));
    }
  });

  test("arguments", async () => {
    expectSafe(await shown([`pl${nasty}`]));
    expectSafe(await shown(["plan", `--on${nasty}`]));
    expectSafe(await shown(["why-not", nasty, "--lock", lock, "--host", facts]));
    expectSafe(await shown(["resolve", "--lock", `/none/${nasty.replaceAll("\0", "")}`, "--host", facts]));
    expectSafe(await shown(["resolve", "--lock", lock, "--host", facts, "--pin", `a${nasty}=b`]));
  });

  test("a registry's reason phrase", async () => {
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", () =>
        socket.end(`HTTP/1.1 403 no\u001b[2J\u0007\u009b way\r\ncontent-length: 0\r\n\r\n`),
      );
    });
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    try {
      const text = await shown(["resolve", "--from", `127.0.0.1:${port}/team/app:1`, "--host", facts]);
      expectSafe(text);
      expect(text).toMatch(/REGISTRY_/);
    } finally {
      server.close();
    }
  });
});

test("the program's own colours come through, and nobody else's", async () => {
  const text = await shown(["resolve", "--lock", `/none/\u001b[32mgreen`], {
    terminal: { animated: false, interactive: false, columns: 80, color: { out: true, err: true } },
  });
  expect(text).toContain("\u001b[31mLOCK_NOT_FOUND\u001b[0m");
  expect(text).toContain("/none/\\u001b[32mgreen");
});
