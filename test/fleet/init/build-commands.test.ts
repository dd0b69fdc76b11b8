/** What `init --from` does not understand in a script or a step is not known, with its place: never text, never silence. */

import { describe, expect, test } from "vitest";
import { readWorkflow } from "../../../src/fleet/init/read-workflow.ts";
import type { Repository } from "../../../src/fleet/init/workflow-steps.ts";

const none: Repository = { readYaml: async () => null, readBake: async () => ({ builds: [], notes: [] }) };

/** The builds of a job with these steps. */
async function builds(steps: readonly object[], job: object = {}) {
  const env = { V: "v", TWO: "two words", DIR: "app" };
  return await readWorkflow(
    { on: "push", jobs: { one: { "runs-on": "ubuntu-24.04", env, ...job, steps } } },
    none,
  );
}

async function script(run: string, step: object = {}) {
  const { builds: found, notes } = await builds([{ run, ...step }]);
  return { found, notes, first: found[0] };
}

describe("an argument of docker build", () => {
  test.each<[string, string | null]>([
    ["A=$V", "v"],
    ['"A=${V} w"', "v w"],
    ["'A=$V'", "$V"],
    ['"A=$TWO"', "two words"],
    ['"A=x; y && z | w"', "x; y && z | w"],
    ["A=x\\ y", "x y"],
    ["A=$TWO", null],
    ["A=${V:-d}", "v"],
    ["A=${UNKNOWN:-d}", null],
    ["A=${V:+d}", "d"],
    ["A=${V:?no value}", "v"],
    ["A=${V:=d}", null],
    ["A=${V#v}", null],
    ['"A=${V:-${DIR}}"', null],
    ["A=$(cat version)", null],
    ['"A=`cat version`"', null],
    ["A={1,2}", null],
    ["A=~/x", null],
    ["A=*.txt", null],
    ["A=$1", null],
    ["A=$'x'", null],
    ["A=$V$UNKNOWN", null],
  ])("%s is %s", async (written, value) => {
    const { found, first } = await script(`docker build --build-arg ${written} .`);
    expect([found.length, first?.args.A ?? null, first?.elsewhere ?? null]).toEqual([1, value, null]);
    expect(first?.left.some((each) => each.startsWith("args.A: "))).toBe(value === null);
  });

  test("that is none is named", async () => {
    const { first } = await script("docker build --build-arg A-B=1 --build-arg $(all) .");
    expect(first?.left).toHaveLength(2);
  });

  test("in quotes of the action may be lines, and other quotes are named", async () => {
    const text = '"A=one\ntwo, ""three"""\nB=x,"y"\nC="c"\n"D=1" 2\nE=e';
    const { builds: found } = await builds([
      { uses: "docker/build-push-action@v6", with: { "build-args": text } },
    ]);
    expect(found[0]?.args).toEqual({ A: 'one\ntwo, "three"', C: '"c"' });
    expect(found[0]?.left).toHaveLength(2);
  });
});

describe("a path that says which build it is", () => {
  test.each([
    "docker build -f ${UNKNOWN:-x}/Dockerfile .",
    "if [ -d app ]; then cd app; fi; docker build .",
    "docker build $(pwd)",
    "docker build -f $UNKNOWN .",
    "docker build https://example.org/x.git",
    "docker build git@example.org:x.git",
    "docker build - < Dockerfile",
    "docker build -f - .",
    "docker build /src",
    'cd "$UNKNOWN" && docker build .',
    "cd $(mktemp -d); docker build .",
    "pushd app; docker build .",
  ])("%s: no cell is the build", async (run) => {
    const { found, first } = await script(run);
    expect([found.length, typeof first?.elsewhere]).toEqual([1, "string"]);
  });

  test("follows cd in subshells, and the step's folder", async () => {
    const { found } = await script(
      "(cd $DIR && docker build .)\ndocker build .\ncd sub || exit 1\ndocker build ..",
    );
    expect(found.map(({ context, elsewhere }) => [context, elsewhere])).toEqual([
      ["app", null],
      [".", null],
      [".", null],
    ]);
    const unknown = await script("docker build .", { "working-directory": "${{ github.ref }}" });
    expect(typeof unknown.first?.elsewhere).toBe("string");
  });

  test.each<[object, boolean]>([
    [{ uses: "actions/checkout@v5" }, false],
    [{ uses: "actions/checkout@v5", with: { repository: "${{ github.repository }}" } }, false],
    [{ uses: "actions/checkout@v5", with: { repository: "team/other", path: "other" } }, false],
    [{ uses: "actions/checkout@v5", with: { repository: "team/other", path: "app/" } }, true],
    [{ uses: "actions/checkout@v5", with: { repository: "team/other" } }, true],
    [{ uses: "actions/checkout@v5", with: { repository: "${{ inputs.repository }}" } }, true],
  ])("after %j: of another repository, %s", async (checkout, isOther) => {
    const { builds: found } = await builds([checkout, { run: "docker build app" }]);
    expect(typeof found[0]?.elsewhere === "string").toBe(isOther);
  });
});

describe("a step that names the Dockerfile", () => {
  test.each([
    ["sed -i s/a/b/ app/Dockerfile", true],
    ["envsubst < Dockerfile.in > app/Dockerfile", true],
    ["./generate > 'app/Dockerfile'", true],
    ["hadolint app/Dockerfile", false],
    ["cat app/Dockerfile", false],
    ["sed -i s/a/b/ other.Dockerfile", false],
  ])("%s: may change it, %s", async (run, isNamed) => {
    const { builds: found } = await builds([{ run }, { run: "docker build app" }]);
    expect(found[0]?.left.some((each) => each.includes(run.slice(0, 20)))).toBe(isNamed);
    const after = await builds([{ run: "docker build app" }, { run }]);
    expect(after.builds[0]?.left).toEqual([]);
  });
});

describe("a step that writes into the context", () => {
  test.each<[string, string, boolean]>([
    ["cp -r dist app/", "app", true],
    ["./generate > app/version.txt", "app", true],
    ["tar -xzf data.tgz -C app", "app", true],
    ["curl -fsSLO https://example.org/x.tgz", ".", true],
    ["sed -i s/a/b/ app/main.c", ".", true],
    ["git submodule update --init", ".", true],
    ["cp -r dist other", "app", false],
    ["cp app/x /tmp/x", ".", false],
    ["curl -fsSL https://example.org/x", ".", false],
    ["sed s/a/b/ app/main.c", "app", false],
    ['echo "A=b" >> $GITHUB_ENV', ".", false],
    ["npm ci 2>&1", ".", false],
    ["ls -l > /dev/null", ".", false],
  ])("%s, context %s: is told, %s", async (run, context, isTold) => {
    const { builds: found, notes } = await builds([{ run }, { run: `docker build ${context}` }]);
    expect([found.length, found[0]?.left]).toEqual([1, []]);
    expect(notes.some((note) => note.includes("may change the context"))).toBe(isTold);
    const after = await builds([{ run: `docker build ${context}` }, { run }]);
    expect(after.notes).toEqual([]);
  });

  test("is told of an action that downloads", async () => {
    const download = { uses: "actions/download-artifact@v5", with: { path: "app/dist" } };
    const { notes } = await builds([
      download,
      { uses: "docker/build-push-action@v6", with: { context: "app" } },
    ]);
    expect(notes).toEqual([
      expect.stringContaining("actions/download-artifact: the step may change the context app"),
    ]);
  });
});

describe("a build that is not read", () => {
  test.each([
    'bash -c "docker build ."',
    "echo app | xargs docker build",
    "retry 3 docker build .",
    "docker --debug build .",
    "docker --context remote build .",
    "ID=$(docker build -q .)",
    'echo "id=$(docker build -q .)" >> $GITHUB_OUTPUT',
    "bash -c 'sh -c \"podman build .\"'",
    "docker compose -f ci.yml build",
    "docker buildx bake app",
    "$DOCKER build .",
    "bash <<END\ndocker build .\nEND",
    'bash <<< "docker build ."',
    "for x in a b; do docker build $x; done",
    "while read x; do\n docker build $x\ndone < list",
    "case $V in v) docker build . ;; esac",
    "build() { docker build .; }",
    "function build {\n docker build .\n}\n",
    "build() (\n cd app\n docker build .\n)",
    "env -C app docker build .",
    "sudo --chdir=app docker build .",
    "make docker-image",
    "./scripts/build-images.sh",
  ])("%s is named", async (run) => {
    const { found, notes } = await script(run);
    expect([found.length, notes.length]).toEqual([0, 1]);
  });

  test("on Windows, whose own shell is another, is named", async () => {
    const { builds: found, notes } = await builds([{ run: "docker build ." }], { "runs-on": "windows-2025" });
    expect([found.length, notes.length]).toEqual([0, 1]);
  });

  test("by devcontainers/ci is named", async () => {
    const { builds: found, notes } = await builds([{ uses: "devcontainers/ci@v0.3" }]);
    expect([found.length, notes]).toEqual([
      0,
      ["job one: init does not read the action devcontainers/ci@v0.3"],
    ]);
  });

  test("in a script of another shell is named", async () => {
    const { found, notes } = await script("docker build .", { shell: "pwsh" });
    expect([found.length, notes.length]).toEqual([0, 1]);
  });

  test.each([
    "DOCKER_BUILDKIT=1 docker build .",
    "timeout --signal=KILL 60m docker build .",
    "sudo -E docker image build .",
    "sudo -u root -- nice -n 5 docker build .",
    "env -u HOME A=b time -p docker build .",
    "for x in a b; do echo $x; done; docker build .",
    "case $V in v) echo v ;; esac\ndocker build .",
    "f() { echo f; }\ndocker build .",
    "constructor; toString x; docker build .",
    "if ! docker build . > log 2>&1; then exit 1; fi",
    "docker build . | tee log # a comment",
  ])("%s is read", async (run) => {
    const { found, first, notes } = await script(run);
    expect([found.length, first?.context, first?.left, notes]).toEqual([1, ".", [], []]);
  });

  test("in a here-document is none", async () => {
    const { found } = await script("cat <<'END' > script\ndocker build other\nEND\ndocker build .");
    expect(found.map(({ context }) => context)).toEqual(["."]);
  });
});

describe("a command that is no build", () => {
  test.each([
    'echo "docker build ."',
    "docker ps",
    "make test",
    "cat <<END\ndocker build .\nEND",
    "./run.sh",
  ])("%s is not named", async (run) => {
    const { found, notes } = await script(run);
    expect([found.length, notes]).toEqual([0, []]);
  });
});

describe("a variable of the job that the script itself gives a value", () => {
  const argument = async (run: string) => {
    const { builds: found } = await builds([
      { env: { V: "v" }, run: `${run}\ndocker build --build-arg A="$V" .` },
    ]);
    return found.map(({ args, left }) => [args, left.length]);
  };

  test.each([
    "V=x",
    "V+=x",
    "export W=a V=x",
    'declare "V=x"',
    "read -r V < file",
    "for V in a b; do echo $V; done",
    ': "${V:=x}"',
    "if true; then V=x; fi",
    "source ./env",
    "eval $CODE",
  ])("%s: is not known", async (run) => {
    expect(await argument(run)).toEqual([[{}, 1]]);
  });

  test.each(["echo V=x", "W=$V", "echo '. ./env'"])("%s: is that of the job", async (run) => {
    expect(await argument(run)).toEqual([[{ A: "v" }, 0]]);
  });
});

describe("a variable that steps write", () => {
  test.each([
    'echo "V=x" >> $GITHUB_ENV',
    'cat <<END >> "$GITHUB_ENV"\nV=x\nEND',
    '{ echo "V<<E"; echo x; echo E; } >> $GITHUB_ENV',
    'echo "$NAME=x" >> $GITHUB_ENV',
    "./versions >> $GITHUB_ENV",
  ])("%s: is not known", async (run) => {
    const { builds: found } = await builds([{ run }, { run: "docker build --build-arg A=$V ." }]);
    expect(found[0]?.args).toEqual({});
    expect(found[0]?.left).toEqual(["args.A: $V is not known before the workflow runs"]);
  });
});

// Where the time grew with the square of the text, each would take hours.
describe("a text of a megabyte", () => {
  const size = 1_000_000;
  test.each([
    ["open expressions", "${{".repeat(size / 3)],
    ["open expressions with quotes", "${{ ' ".repeat(size / 6)],
    ["a long word before GITHUB_ENV", `echo ${"x".repeat(size)} >> $GITHUB_ENV`],
    ["blank lines", "\n".repeat(size)],
    ["blank lines with blanks", `export${" \n".repeat(size / 2)}`],
    ["tildes", "~".repeat(size)],
    ["open quotes", `"a\n"`.repeat(size / 4)],
    ["open expansions", "$(".repeat(size / 2)],
    ["open braces", "${A:-".repeat(size / 5)],
    ["here-documents", "cat << A\n".repeat(size / 9)],
  ])("of %s is read as fast as another", async (_, text) => {
    const { builds: found } = await builds([
      { run: `${text}\necho GITHUB_ENV` },
      { uses: "docker/build-push-action@v6", with: { "build-args": text } },
      { run: "docker build ." },
    ]);
    expect(found.length).toBeGreaterThan(0);
  });
});
