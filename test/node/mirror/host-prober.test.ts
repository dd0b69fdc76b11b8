import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { formatFactsLine } from "../../../src/facts/format-facts.ts";
import { createHostProber, type HostProberOptions } from "../../../src/node/mirror/host-prober.ts";
import { cpuHost } from "../../resolve/support/hosts.ts";
import { makeFolder } from "../../support/folders.ts";

const facts = formatFactsLine(cpuHost());

/** `program`: what is done for each line of standard input, in JavaScript; every start writes its process into the file `starts`. */
function prober(program: string, limits: Partial<HostProberOptions> = {}) {
  const folder = makeFolder({ facts, starts: "" });
  const script = `const { readFileSync, writeSync, appendFileSync } = require("node:fs");
    process.chdir(${JSON.stringify(folder)});
    appendFileSync("starts", process.pid + "\\n");
    const starts = readFileSync("starts", "utf8").trim().split("\\n").length;
    const facts = readFileSync("facts", "utf8");
    const say = (text) => writeSync(1, text);
    const hang = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    require("node:readline").createInterface({ input: process.stdin }).on("line", () => { ${program} });`;
  const told: string[] = [];
  const made = createHostProber({
    command: [process.execPath, "-e", script],
    env: process.env,
    tell: (message) => told.push(message),
    waitMs: 3000,
    ...limits,
  });
  onTestFinished(made.stop);
  const processes = () => readFileSync(join(folder, "starts"), "utf8").trim().split("\n").map(Number);
  return { ...made, told, processes, folder };
}

const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};
const refused = (reason: RegExp) => ({ ok: false, reason: expect.stringMatching(reason) });

describe("The process that asks a host", () => {
  it("is asked once for all who wait, anew for each who comes later, and ends with the mirror", async () => {
    const { ask, stop, processes } = prober("setTimeout(say, 50, facts)");
    const [first, second] = await Promise.all([ask(), ask()]);
    expect(first).toMatchObject({ ok: true, facts: { platform: cpuHost().platform } });
    expect(second).toBe(first);
    // Equal facts are one object: what was chosen for them is remembered.
    expect(await ask()).toBe(first);
    expect(processes()).toHaveLength(1);
    stop();
    expect(await ask()).toEqual(refused(/the mirror is ending/));
    await expect.poll(() => processes().some(isAlive)).toBe(false);
  });

  it("tells a new driver from the old one: nothing is kept", async () => {
    const { ask } = prober(
      'say(facts.replace(/"kernel":[^,]+/, `"kernel":"6.${(globalThis.n = (globalThis.n ?? 0) + 1)}.0"`))',
    );
    const kernels = [await ask(), await ask()].map((probed) => probed.ok && probed.facts.kernel);
    expect(kernels).toEqual(["6.1.0", "6.2.0"]);
  });

  it("is not waited for longer than told, and killed and replaced when it is stuck", async () => {
    const { ask, stuck, told, processes } = prober("starts < 2 ? hang() : say(facts)", {
      waitMs: 300,
      stuckMs: 4000,
    });
    expect(await Promise.all([ask(), ask()])).toEqual(
      Array(2).fill(refused(/^HOST_UNREADABLE: .*within 300 ms/)),
    );
    await expect
      .poll(() => told, { timeout: 10_000 })
      .toEqual(["a probe of this host gave no answer in 4000 ms and was killed"]);
    await expect.poll(ask, { timeout: 10_000 }).toMatchObject({ ok: true });
    const [first = 0, ...others] = processes();
    expect(others).toHaveLength(1);
    expect(isAlive(first)).toBe(false);
    expect(stuck()).toBe(0);
  });

  it("of a slow host goes on when nobody waits any more; who has patience, or asks again, hears what it said", async () => {
    const { ask, processes } = prober("setTimeout(say, 1000, facts)", { waitMs: 200 });
    expect(await ask()).toEqual(refused(/within 200 ms/));
    expect(await ask(20_000)).toMatchObject({ ok: true });
    expect(await ask()).toMatchObject({ ok: true });
    expect(processes()).toHaveLength(1);
  });

  it("of a host that is slow for once is answered for by what it said shortly before", async () => {
    const { ask, processes } = prober("setTimeout(say, globalThis.asked ? 1000 : 0, facts); asked = true;");
    const known = await ask();
    expect(known).toMatchObject({ ok: true });
    expect(await ask(200)).toBe(known);
    expect(processes()).toHaveLength(1);
  });

  it.each<[string, string, RegExp]>([
    ["ends", "process.exit(1)", /the process that asked for them ended/],
    ["says something else", 'say("hello\\n")', /^FACTS_SYNTAX: /],
    ["says facts of another form", 'say(`{"schemaVersion":99}\\n`)', /^FACTS_SCHEMA: /],
    [
      "cannot say",
      'say(`{"errors":[{"code":"SELECTION_INVALID","message":"no GPU 9"}]}\\n`)',
      /^SELECTION_INVALID: no GPU 9$/,
    ],
  ])("that %s makes the host one that nobody knows", async (_, program, reason) => {
    const { ask } = prober(program);
    expect(await ask()).toEqual(refused(reason));
    expect(await ask()).toEqual(refused(reason));
  });

  it("that even the kernel cannot end is left alone, and after two of them none is started", async () => {
    let started = 0;
    const start = () => {
      started++;
      return { ask: () => new Promise<null>(() => {}), kill: () => {}, gone: new Promise<void>(() => {}) };
    };
    const { ask, stuck } = prober("", { start, waitMs: 30, stuckMs: 60 });
    await expect.poll(ask).toEqual(refused(/2 processes that asked for them hang inside the kernel/));
    await ask();
    expect([started, stuck()]).toEqual([2, 2]);
  });

  it("that cannot be started makes the host one that nobody knows", async () => {
    const { ask } = prober("", { command: ["/nonexistent/imgmatch"] });
    expect(await ask()).toEqual(refused(/the process that asked for them ended/));
  });
});
