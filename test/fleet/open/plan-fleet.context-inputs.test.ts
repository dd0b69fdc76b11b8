import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFleet } from "../../../src/fleet/open/open-fleet.ts";
import { type FleetPlanOptions, planFleet } from "../../../src/fleet/open/plan-fleet.ts";
import type { PlannedCell } from "../../../src/fleet/plan/planned-cell.ts";
import { makeFolder } from "../../support/folders.ts";

const digest = `sha256:${"a".repeat(64)}` as const;

const project = (base: string) => ({
  "matrix.yaml":
    'name: app\nversion: "1"\nregistry: r.example\ntemplate: Dockerfile\nargs: { F: "{{axes.flavor}}", M: "{{march.flags}}" }\naxes:\n  march: [x86-64-v2]\n  flavor: [one, two]\n',
  Dockerfile: `FROM ${base}\nARG F\nARG M\nCOPY src/$F /src\nRUN make $M $F\n`,
  "README.md": "read me\n",
  "src/one/a.c": "1\n",
  "src/two/a.c": "2\n",
});

async function planned(
  root: string,
  options: Partial<FleetPlanOptions> = {},
): Promise<readonly PlannedCell[]> {
  const fleet = await openFleet(join(root, "matrix.yaml"));
  return (await planFleet(fleet, { lock: null, findBaseDigest: async () => digest, ...options })).cells;
}

const whole = ([cell]: readonly PlannedCell[]) => cell?.context?.inputs.whole;

describe("a cell's inputs are the files that it takes", () => {
  test("a change of another file is none", async () => {
    const root = makeFolder(project("scratch"));
    const digests = async () => (await planned(root)).map(({ inputDigest }) => inputDigest);
    const before = await digests();
    writeFileSync(join(root, "README.md"), "more\n");
    writeFileSync(join(root, "build.log"), "1\n");
    expect(await digests()).toEqual(before);
    writeFileSync(join(root, "src/two/a.c"), "3\n");
    expect(await digests()).toEqual([before[0], expect.not.stringMatching(before[1] ?? "")]);
  });

  test("what nobody takes is not read", async () => {
    const root = makeFolder(project("scratch"));
    const fleet = await openFleet(join(root, "matrix.yaml"));
    rmSync(join(root, "README.md"));
    const { cells } = await planFleet(fleet, { lock: null, findBaseDigest: async () => null });
    expect(cells[0]?.context?.entries.map(({ path }) => path)).toEqual(["src/one", "src/one/a.c"]);
  });
});

describe("what a base does when it is built on decides", () => {
  const root = makeFolder(project("debian:12"));

  test.each([
    [null, "its base debian:12 was not read: it may have ONBUILD"],
    [{ onbuild: true, env: [] }, "its base debian:12 has ONBUILD"],
    [{ onbuild: false, env: ["PATH=/bin", "F=x"] }, "its base debian:12 sets F, which names files"],
    [{ onbuild: false, env: ["PATH=/bin", "M=x"] }, "its base debian:12 sets M, which names files"],
    [{ onbuild: false, env: ["PATH=/bin"] }, null],
  ])("%j: %s", async (config, why) => {
    expect(whole(await planned(root, { readBase: async () => config }))).toBe(why);
  });

  test("it is read once for a platform, and for what the lock says never again", async () => {
    const asked: string[] = [];
    const readBase: FleetPlanOptions["readBase"] = async (...base) => {
      asked.push(base.join(" "));
      return { onbuild: false, env: ["B=1", "A=1"] };
    };
    const [cell] = await planned(root, { readBase });
    expect(asked).toEqual([`debian:12 ${digest} linux/amd64`]);
    expect(cell?.bases[0]?.config).toEqual({ onbuild: false, env: ["A", "B"] });
    const pins = (config: object) => ({
      images: Object.fromEntries(
        ["x86-64-v2_one", "x86-64-v2_two"].map((id) => [
          id,
          {
            platform: "linux/amd64",
            bases: [{ ref: "debian:12", digest, ...config }],
            ...(cell?.inputs && { inputs: cell.inputs }),
          },
        ]),
      ),
    });
    const known = await planned(root, { pins: pins({ config: { onbuild: false, env: [] } }) });
    expect(whole(known)).toBeNull();
    // Built when nobody could read it: the one whose Dockerfile is the same stays as it was.
    const unread = await planned(root, { pins: pins({}), readBase });
    expect(whole(unread)).toContain("was not read");
    expect(asked).toHaveLength(2);
  });
});
