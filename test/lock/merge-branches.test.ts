/** The locks of two branches: as git merges their texts, and as `imgmatch lock merge --branches` joins them. */

import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatLock } from "../../src/lock/format-lock.ts";
import type { Lock, LockedImage } from "../../src/lock/lock.ts";
import { mergedBranches } from "../../src/lock/merge-branches.ts";
import { parseLock } from "../../src/lock/parse-lock.ts";
import { digestOf } from "../../src/oci/digest-of.ts";
import { image, lockOf } from "../resolve/support/locks.ts";
import { bundledInParts } from "../support/bundle.ts";
import { makeFolder } from "../support/folders.ts";
import { rounds } from "../support/long.ts";
import { needs } from "../support/needs.ts";
import { whyNoVersion } from "../support/programs.ts";

const pairs = rounds(150, 600);

/** A build of a cell: another `of` is another image, of other inputs. */
const built = (of: string, change: Partial<LockedImage> = {}): LockedImage =>
  image({
    inputDigest: digestOf(of),
    digest: digestOf(`image ${of}`),
    created: "2026-01-01T00:00:00Z",
    ...change,
  });

function merge(ours: Lock, theirs: Lock, base: Lock | null): Lock | string[] {
  const joined = (one: Lock, two: Lock) => {
    try {
      return mergedBranches(
        [
          { file: "side", lock: one },
          { file: "side", lock: two },
        ],
        base,
      );
    } catch (error) {
      return (error as { problems: { message: string }[] }).problems.map(
        ({ message }) => message.split(":")[0] ?? "",
      );
    }
  };
  const found = joined(ours, theirs);
  // The sides may change places.
  expect(joined(theirs, ours)).toEqual(found);
  return found;
}

const cells = Array.from({ length: 12 }, (_, index) => `c${String(index).padStart(2, "0")}`);
/** What a branch does with some cells: builds, or removes. */
const changes = fc.uniqueArray(fc.tuple(fc.constantFrom(...cells), fc.constantFrom("x", "y", null)), {
  maxLength: 4,
  selector: ([cell]) => cell,
});
const begun = fc.subarray(cells);

const changed = (lock: Lock, by: readonly (readonly [string, string | null])[]): Lock => {
  const images: Record<string, LockedImage> = { ...lock.images };
  for (const [cell, of] of by) {
    if (of === null) delete images[cell];
    else images[cell] = { ...built(`${cell} ${of}`), tag: `${cell}-${of}` };
  }
  return { ...lock, images };
};

test("git's merge of texts is right or a conflict, for pairs of branches", needs(whyNoVersion("git")), () => {
  const folder = makeFolder({});
  const counts = { clean: 0, conflicts: 0 };
  fc.assert(
    fc.property(begun, changes, changes, (start, mine, others) => {
      const base = changed(
        lockOf({}),
        start.map((cell) => [cell, "old"]),
      );
      const locks = { ours: changed(base, mine), base, theirs: changed(base, others) };
      for (const [name, lock] of Object.entries(locks)) writeFileSync(join(folder, name), formatLock(lock));
      const { status, stdout } = spawnSync("git", ["merge-file", "-p", "ours", "base", "theirs"], {
        cwd: folder,
        encoding: "utf8",
      });
      if (status === 0) counts.clean++;
      else counts.conflicts++;
      if (status !== 0) return;
      const merged = parseLock(stdout, "merged").images;
      for (const cell of cells) {
        const [one, two, was] = [locks.ours, locks.theirs, base].map(({ images }) => images[cell]);
        const [mineOf, theirsOf, wasOf] = [one, two, was].map((found) => found?.inputDigest);
        expect(mineOf === wasOf || theirsOf === wasOf || mineOf === theirsOf).toBe(true);
        expect(merged[cell]).toEqual(mineOf === wasOf ? two : one);
      }
    }),
    { numRuns: pairs, seed: 59 },
  );
  expect(counts.clean).toBeGreaterThan(pairs / 6);
  expect(counts.conflicts).toBeGreaterThan(pairs / 12);
});

describe("the locks of two branches", () => {
  test("join to what each branch did, whatever the order, and nothing is undone", () => {
    fc.assert(
      fc.property(begun, changes, changes, (start, mine, others) => {
        const base = changed(
          lockOf({}),
          start.map((cell) => [cell, "old"]),
        );
        const [ours, theirs] = [changed(base, mine), changed(base, others)];
        const found = merge(ours, theirs, base);
        if (Array.isArray(found)) throw new Error(found.join());
        for (const cell of cells) {
          const [one, two, was, now] = [ours, theirs, base, found].map(
            ({ images }) => images[cell]?.inputDigest,
          );
          const candidates = one === was ? [two] : two === was ? [one] : [one, two];
          expect(candidates).toContain(now);
        }
      }),
    );
  });

  const base = { ...lockOf({ a: built("a"), b: built("b") }), version: "1.0" };

  test("have the version, the order of preference and the channels of the side that changed them", () => {
    const move = (at: string) => ({ digest: digestOf(at), version: "1.0", from: null, movedBy: "ann", at });
    const early = move("2026-01-01T00:00:00Z");
    const late = move("2026-02-01T00:00:00Z");
    const ours = { ...base, version: "1.1", variants: ["1.1-gpu"], channels: { latest: early, edge: late } };
    const theirs = { ...base, prefer: ["toolkit"], variants: ["1.0-gpu"], channels: { latest: late } };
    expect(merge(ours, theirs, base)).toEqual({
      ...base,
      ...{
        version: "1.1",
        prefer: ["toolkit"],
        variants: ["1.1-gpu"],
        channels: { latest: late, edge: late },
      },
    });
    expect(merge({ ...base, version: "1.1" }, { ...base, version: "2.0" }, base)).toEqual([
      "both branches changed version",
    ]);
    const twice = { ...base, channels: { latest: { ...early, digest: digestOf("other") } } };
    expect(merge({ ...base, channels: { latest: early } }, twice, base)).toHaveLength(1);
    expect(
      merge(
        base,
        { ...base, repository: "registry.example.com/x" },
        { ...base, repository: "y.example.com/z" },
      ),
    ).toHaveLength(1);
  });

  test("lose a cell that one side pruned, unless the other built the cell anew", () => {
    const { a: _, ...rest } = base.images;
    const pruned = { ...base, images: rest };
    expect(Object.keys((merge(pruned, base, base) as Lock).images)).toEqual(["b"]);
    const again = { ...base, images: { ...base.images, a: built("a2") } };
    expect((merge(pruned, again, base) as Lock).images.a).toEqual(again.images.a);
  });

  test("keep newer bases and the later rebuild word of a cell that both sides built, and in doubt conflict", () => {
    const on = (of: string, baseDigest: string, rebuild?: string, created = "2026-01-02T00:00:00Z") =>
      built(of, {
        created,
        bases: [{ ref: "debian:12", digest: digestOf(baseDigest) }],
        inputs: {
          ...{ dockerfile: digestOf(of), context: digestOf("c"), args: {}, target: null, builder: "b" },
          ...(rebuild !== undefined && { rebuild }),
        },
      });
    const lock = (a: LockedImage) => ({ ...base, images: { a } });
    const was = lock(on("old", "one"));
    const merged = (one: LockedImage, two: LockedImage) => {
      const found = merge(lock(one), lock(two), was);
      return Array.isArray(found) ? found : found.images.a;
    };
    const later = on("later", "one", undefined, "2026-01-09T00:00:00Z");
    expect(merged(on("early", "one"), later)).toEqual(later);
    expect(merged(on("moved", "two"), later)).toEqual(on("moved", "two"));
    expect(merged(on("weekly", "one", "2026-W02"), later)).toEqual(on("weekly", "one", "2026-W02"));
    expect(merged(on("w2", "one", "2026-W02"), on("w3", "one", "2026-W03"))).toEqual(
      on("w3", "one", "2026-W03"),
    );
    expect(merged(on("moved", "two"), on("weekly", "one", "2026-W02"))).toEqual(["both branches changed a"]);
    expect(merged(on("moved", "two"), on("moved too", "three"))).toEqual(["both branches changed a"]);
    // A pin for the next build stays beside a build of the other side.
    const nextBases = [{ ref: "debian:12", digest: digestOf("two") }];
    expect(merged({ ...on("old", "one"), nextBases }, later)).toEqual({ ...later, nextBases });
  });

  test("take what is pushed of one build, and conflict where one build has two images", () => {
    const lock = (a: LockedImage) => ({ ...base, images: { a } });
    const local = built("new", { digest: null });
    expect((merge(lock(local), lock(built("new")), base) as Lock).images.a).toEqual(built("new"));
    const other = built("new", { digest: digestOf("another image") });
    expect(merge(lock(other), lock(built("new")), base)).toEqual(["both branches changed a"]);
  });
});

test(
  "git merges with it: two branches that add a Python and a march",
  needs(whyNoVersion("git")),
  async () => {
    const file = "images/imgmatch.lock.json";
    const cli = await bundledInParts(resolve("src/cli/bin.ts"), "merge-driver-cli");
    const base = lockOf({ "3.11_v2": built("1"), "3.11_v3": built("2") });
    const root = makeFolder({ [file]: formatLock(base), ".gitattributes": `${file} merge=imgmatch-lock\n` });
    const git = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(
        "git",
        ["-c", "user.name=a", "-c", "user.email=a@b", ...args],
        {
          cwd: root,
          encoding: "utf8",
        },
      );
      return { status, said: stderr + stdout };
    };
    const commit = (lock: Lock) => {
      writeFileSync(join(root, file), formatLock(lock));
      expect(git("commit", "-qam", "lock")).toEqual({ status: 0, said: "" });
    };
    git("init", "-qb", "main");
    git(
      "config",
      "merge.imgmatch-lock.driver",
      `${process.execPath} ${cli} lock merge --branches --base %O --out %A %A %B`,
    );
    git("add", ".");
    commit(base);
    git("checkout", "-qb", "python");
    const python = changed(base, [
      ["3.12_v2", "x"],
      ["3.12_v3", "x"],
    ]);
    commit(python);
    git("checkout", "-q", "main");
    const march = changed(base, [
      ["3.11_v4", "y"],
      ["3.11_v2", "y"],
    ]);
    commit(march);
    expect(git("merge", "-q", "--no-edit", "python").status).toBe(0);
    const merged = parseLock(readFileSync(join(root, file), "utf8"), file);
    expect(merged).toEqual(
      changed(march, [
        ["3.12_v2", "x"],
        ["3.12_v3", "x"],
      ]),
    );
    // In doubt git calls the file conflicted, and the side of this branch stands in the file.
    git("checkout", "-qb", "two");
    commit({ ...merged, version: "2.0" });
    git("checkout", "-q", "main");
    commit({ ...merged, version: "1.13" });
    const { status, said } = git("merge", "two");
    expect([status, said]).toEqual([
      1,
      expect.stringMatching(/LOCK_MERGE_CONFLICT: both branches changed version[\s\S]*CONFLICT/),
    ]);
    expect(parseLock(readFileSync(join(root, file), "utf8"), file).version).toBe("1.13");
  },
);
