/**
 * adopt, lock merge and promote, killed at each of their writes (at every second one without IMGMATCH_LONG), and on a disk that is full
 * at each: the lock is the old one or the new one.
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { parseFleetIndex, readFleetIndex } from "../../src/lock/store/read-fleet-index.ts";
import { parseImageReference } from "../../src/oci/reference.ts";
import { makeFolder } from "../support/folders.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { type FaultProxy, startFaultProxy } from "./support/fault-proxy.ts";
import { imgmatch, imgmatchHere } from "./support/program.ts";
import { type RunningRegistry, startRegistry, whyNoRegistry } from "./support/registry.ts";
import { publishFleet, registry as client } from "./support/signed-fleet.ts";

/** Loaded before the program: kills it at its write number FAULT_AT. */
const killer = `const fs = require("node:fs");
let left = Number(process.env.FAULT_AT);
const dies = (on, names, counts = () => true) => {
  for (const name of names) {
    const real = on[name];
    on[name] = function (...args) {
      if (counts(...args) && --left < 0) process.kill(process.pid, "SIGKILL");
      return real.apply(this, args);
    };
  }
};
const opens = (_, flags) => flags !== undefined && flags !== "r" && flags !== 0;
dies(fs, ["writeFileSync", "mkdirSync", "renameSync", "unlinkSync", "rmSync"]);
dies(fs, ["openSync"], opens);
dies(fs.promises, ["writeFile", "mkdir", "rename", "unlink", "rm", "rmdir"]);
const open = fs.promises.open;
fs.promises.open = async (...args) => {
  const file = await open(...args);
  dies(file, ["writeFile", "sync"]);
  return file;
};
`;

describe("Each write", needs(whyNoRegistry()), () => {
  let server: RunningRegistry;
  let proxy: FaultProxy;
  let count = 0;
  let [folder, repository, direct]: [string, string, string] = ["", "", ""];

  beforeAll(async () => {
    server = await startRegistry();
    proxy = await startFaultProxy(server.host);
    await publishFleet(`${server.host}/theirs/app`, "0", ["a", "b", "c"]);
  });
  afterAll(async () => {
    await proxy?.stop();
    await server?.stop();
  });
  beforeEach(() => {
    proxy.fault = null;
    count++;
    repository = `${proxy.host}/ours${count}/app`;
    direct = `${server.host}/ours${count}/app`;
    folder = makeFolder({ "killer.cjs": killer });
  });

  const run = (args: readonly string[], more: NodeJS.ProcessEnv = {}, cwd = folder) =>
    imgmatch(args, { cwd, env: { PATH: process.env.PATH, HOME: cwd, ...more } });
  const succeed = async (...args: string[]) => {
    const ran = await imgmatchHere(args, { cwd: folder, env: { PATH: process.env.PATH, HOME: folder } });
    expect(ran, ran.stderr).toMatchObject({ status: 0 });
  };
  const adopt = (...cells: readonly string[]) => [
    "adopt",
    ...cells.map((cell) => `${proxy.host}/theirs/app:0-${cell}`),
    ...["--march", "x86-64", "--publish-to", repository],
  ];
  const read = (path: string) => readFileSync(join(folder, path), "utf8");
  const cellsOf = (text: string) => Object.keys(parseLock(text, "lock").images).sort();

  interface Case {
    /** Makes what the command begins with. Returns the command, writing the lock `lock`. */
    readonly begin: () => Promise<(lock: string) => readonly string[]>;
    readonly after: readonly string[];
  }
  const cases: Readonly<Record<string, Case>> = {
    adopt: {
      begin: async () => (lock) => [...adopt("b", "c"), "--lock", lock],
      after: ["0-a", "0-b", "0-c"],
    },
    "lock merge": {
      begin: async () => {
        await succeed(...adopt("b"), "--lock", "other.json");
        return (lock) => ["lock", "merge", lock, "other.json", "--out", lock];
      },
      after: ["0-a", "0-b"],
    },
  };

  describe.each(Object.entries(cases))("of %s", (_, { begin, after }) => {
    it("is one at which a kill leaves the old lock or the new one, and the next run ends it", async () => {
      await succeed(...adopt("a"), "--lock", "old.json");
      const command = (await begin())("lock.json");
      const seen = new Set<string>();
      for (let at = 0, killed = true; killed; at += rounds(2, 1)) {
        for (const each of ["lock.json", "lock.json.busy"])
          rmSync(join(folder, each), { recursive: true, force: true });
        writeFileSync(join(folder, "lock.json"), read("old.json"));
        const faulty = { FAULT_AT: `${at}`, NODE_OPTIONS: `--require ${join(folder, "killer.cjs")}` };
        killed = (await run(command, faulty)).status === null;
        const cells = cellsOf(read("lock.json"));
        expect([["0-a"], after], `killed at write ${at}`).toContainEqual(cells);
        seen.add(cells.join());
        if (!killed) expect(at).toBeGreaterThan(5);
        await succeed(...command);
        expect(cellsOf(read("lock.json"))).toEqual(after);
      }
      expect(seen.size).toBe(2);
    });

    it("is one at which a full disk leaves the old lock, and is named", async ({ skip }) => {
      await succeed(...adopt("a"), "--lock", "old.json");
      const commandFor = await begin();
      const disk = mkdtempSync(join(tmpdir(), "imgmatch-disk-"));
      try {
        execFileSync("mount", ["-t", "tmpfs", "-o", "size=512k", "imgmatch", disk], { stdio: "ignore" });
      } catch {
        rmSync(disk, { recursive: true });
        return skip("a small file system cannot be mounted here");
      }
      try {
        const lock = join(disk, "lock.json");
        let failed = 0;
        for (let pages = 0; ; pages++) {
          for (const each of [lock, `${lock}.busy`, join(disk, "filler")])
            rmSync(each, { recursive: true, force: true });
          writeFileSync(lock, read("old.json"));
          // All but so many pages of 4 KiB are taken.
          const free = Number(execFileSync("stat", ["-f", "-c", "%a", disk], { encoding: "utf8" }));
          writeFileSync(join(disk, "filler"), Buffer.alloc(Math.max(0, free - pages) * 4096));
          const { status, stderr } = await run(commandFor(lock));
          if (status === 0) break;
          failed++;
          expect(stderr, `${pages} pages`).toContain("WRITE_FAILED");
          expect(status).toBe(1);
          expect(readFileSync(lock, "utf8"), `${pages} pages`).toBe(read("old.json"));
        }
        expect(failed).toBeGreaterThan(0);
        expect(cellsOf(readFileSync(lock, "utf8"))).toEqual(after);
      } finally {
        execFileSync("umount", [disk]);
        rmSync(disk, { recursive: true });
      }
    });
  });

  it.each(["adopt", "promote"])(
    "of %s in the registry is one at which a kill leaves nothing false",
    async (name) => {
      await succeed(...adopt("a", "b"), "--lock", "lock.json");
      await succeed("publish", "--lock", "lock.json");
      const whole = async (tag: string) => {
        const reference = parseImageReference(`${direct}:${tag}`);
        const index = await readFleetIndex(client, reference);
        return index === null ? null : [...parseFleetIndex(index, reference).entries.keys()].sort();
      };
      for (let at = 0, killed = true; killed; at += rounds(2, 1)) {
        repository = repository.replace(/ours\w+/, (own) => (name === "adopt" ? `${own}x` : own));
        const tag = `2.${at}`;
        const lock = name === "adopt" ? `${at}.json` : "lock.json";
        const command =
          name === "adopt"
            ? [...adopt("b", "c"), "--lock", lock]
            : ["promote", `${repository}:1`, tag, "--lock", lock];
        let left = at;
        const end = new AbortController();
        proxy.fault = ({ method }) => {
          if (method === "GET" || method === "HEAD" || --left >= 0) return null;
          end.abort();
          return { kind: "reset" };
        };
        killed =
          (await imgmatch(command, { cwd: folder, env: { PATH: process.env.PATH }, kill: end.signal }))
            .status === null;
        proxy.fault = null;
        if (name === "promote") expect([null, ["0-a", "0-b"]]).toContainEqual(await whole(tag));
        await succeed(...command);
        if (name === "promote") expect(await whole(tag)).toEqual(["0-a", "0-b"]);
        else {
          expect(cellsOf(read(lock))).toEqual(["0-b", "0-c"]);
          await succeed("verify", "--lock", lock);
        }
        if (!killed) expect(at).toBeGreaterThan(0);
      }
    },
  );
});
