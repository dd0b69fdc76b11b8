/** The workflows take nobody's word for an action but its digest, and no right that they do not need. */

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { makeFolder, writeIn } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNot, whyNoVersion } from "../support/programs.ts";

const folder = ".github/workflows";
const action = ".github/actions/inspect/action.yml";
const whyNoActionlint = whyNot("actionlint", ["-version"], {
  install: "go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.7",
});
const whyNoZizmor = whyNoVersion("zizmor", "pip3 install zizmor==1.32.0");

/** The permissions that a job may have. */
const rights: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>> = {
  "ci.yml": { check: { contents: "read" } },
  "fleet.yml": { plan: { contents: "read" }, build: { contents: "read" }, lock: { contents: "write" } },
  "release.yml": {
    check: { contents: "read" },
    pack: { contents: "read" },
    npm: { "id-token": "write" },
    release: { contents: "write", "id-token": "write", attestations: "write" },
  },
};

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<
      string,
      { readonly permissions?: Readonly<Record<string, string>>; readonly steps?: readonly Step[] }
    >
  >;
}

describe.each(readdirSync(folder))("%s", (name) => {
  const text = readFileSync(join(folder, name), "utf8");
  const workflow = parse(text) as Workflow;
  const steps = Object.entries(workflow.jobs).flatMap(([job, each]) =>
    (each.steps ?? []).map((step) => ({ job, ...step })),
  );

  it("names every action by digest, with its version beside it", () => {
    const uses = text.match(/^.*\buses: (?!\.\/).*$/gm) ?? [];
    expect(uses.length).toBeGreaterThan(0);
    expect(uses.filter((line) => !/uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([]);
  });

  it("may nothing but what each job needs", () => {
    expect(workflow.permissions).toEqual({});
    const each = Object.entries(workflow.jobs).map(([job, { permissions }]) => [job, permissions]);
    expect(Object.fromEntries(each)).toEqual(rights[name]);
  });

  it("leaves no login in a checkout but in that of the job that pushes", () => {
    const kept = steps.filter(({ uses, with: given }) => {
      return uses?.startsWith("actions/checkout@") && given?.["persist-credentials"] !== false;
    });
    expect(kept.map(({ job }) => job)).toEqual(name === "fleet.yml" ? ["lock"] : []);
  });

  it("puts nothing from outside into the text of a script", () => {
    expect(steps.filter(({ run = "" }) => run.includes("${{")).map(({ run }) => run)).toEqual([]);
  });

  it("is what actionlint takes", needs(whyNoActionlint), () => {
    const { status, stdout } = spawnSync("actionlint", ["-no-color", join(folder, name)], {
      encoding: "utf8",
    });
    expect(stdout).toBe("");
    expect(status).toBe(0);
  });
});

describe("zizmor", needs(whyNoZizmor), () => {
  const audit = (at: string) => {
    const { status, stdout } = spawnSync("zizmor", ["--offline", "--quiet", "--format=plain", at], {
      encoding: "utf8",
    });
    return { status, stdout };
  };

  it("finds nothing in the workflows and the action, nor in those that docs/ci.md shows", () => {
    const root = makeFolder({});
    for (const name of readdirSync(folder)) writeIn(root, join(folder, name), read(join(folder, name)));
    writeIn(root, join(folder, "images.yml"), read("docs/examples/ci/github.yml"));
    writeIn(root, join(folder, "wheels.yml"), read("docs/examples/ci/github-wheels.yml"));
    writeIn(root, action, read(action));
    expect(audit(join(root, ".github"))).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("No findings"),
    });
  });

  it("would find a checkout that keeps its login, and a script with words from outside", () => {
    const worse = read(join(folder, "fleet.yml"))
      .replace('"$ONLY"', "$" + "{{ inputs.only }}")
      .replace("persist-credentials: false", "clean: true");
    const injected = read(action).replace('"$EXPECT")', "$" + "{{ inputs.expect }})");
    const root = makeFolder({ [join(folder, "fleet.yml")]: worse, [action]: injected });
    const { status, stdout } = audit(join(root, ".github"));
    expect(status).not.toBe(0);
    expect(stdout).toContain("artipacked");
    for (const file of ["fleet.yml", "action.yml"])
      expect(stdout).toMatch(new RegExp(`template-injection[^]*?${file}`));
  });
});

function read(path: string): string {
  return readFileSync(path, "utf8");
}
