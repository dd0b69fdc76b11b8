/** The workflows of docs/ci.md, run as their services run them: their own commands, in clones, with artifacts between the jobs. */

import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { parse } from "yaml";
import { capture } from "../../demo/process.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { cli } from "./support/program.ts";
import { createProject, lockFile, type Project } from "./support/project.ts";

const stack = inject("stack");
const marches =
  process.arch === "arm64" ? ["armv8-a", "armv8.1-a", "armv8.2-a"] : ["x86-64", "x86-64-v2", "x86-64-v3"];

const read = <T>(name: string) => parse(readFileSync(`docs/examples/ci/${name}`, "utf8")) as T;

interface Step {
  readonly id?: string;
  readonly run?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly if?: string;
}
interface GithubWorkflow {
  readonly jobs: Readonly<
    Record<"plan" | "build" | "publish", { readonly if?: string; readonly steps: readonly Step[] }>
  >;
}
interface GitlabJob {
  readonly script: readonly string[];
  readonly after_script?: readonly string[];
  readonly parallel?: number;
}
/** The words of each stage, as its service runs them. */
interface Stages {
  readonly plan: string;
  readonly build: readonly string[];
  readonly publish: string;
}

interface GocdJob {
  readonly tasks: readonly { readonly exec?: { readonly arguments: readonly string[] } }[];
  readonly environment_variables?: { readonly SHARD: string };
}
type GocdStage = Readonly<Record<string, { readonly jobs: Readonly<Record<string, GocdJob>> }>>;

/** Each job's words, with its variable exported. */
function gocdStages(): Stages {
  const { pipelines } = read<{ pipelines: { images: { stages: readonly GocdStage[] } } }>("images.gocd.yaml");
  const stages: GocdStage = Object.assign({}, ...pipelines.images.stages);
  const wordsOf = (stage: string) =>
    Object.values(stages[stage]?.jobs ?? {}).map(({ tasks, environment_variables }) => {
      const [words, ...others] = tasks.flatMap((task) => task.exec?.arguments.at(-1) ?? []);
      expect(others).toEqual([]);
      return `${environment_variables === undefined ? "" : `export SHARD=${environment_variables.SHARD}\n`}${words}`;
    });
  return {
    plan: wordsOf("plan").join("\n"),
    build: wordsOf("build"),
    publish: wordsOf("publish").join("\n"),
  };
}

/** Each step is a program of its own, `sh -xe`. */
function jenkinsStages(): Stages {
  const text = readFileSync("docs/examples/ci/Jenkinsfile", "utf8");
  const [plan = "", build = "", keep = "", publish = "", ...others] = text.split("sh '''").slice(1);
  expect(others).toEqual([]);
  const step = (words: string) => `sh -xe <<'STEP'\n${words.split("'''")[0]}\nSTEP\n`;
  const shards = /values (.*)/.exec(text)?.[1]?.match(/\d/g) ?? [];
  return {
    plan: step(plan),
    build: shards.map((shard) => `export SHARD=${shard}\n${step(build)}${step(keep)}`),
    publish: step(publish),
  };
}

type GitlabPipeline = Readonly<Record<"plan" | "build" | "publish", GitlabJob>> & {
  readonly default: { readonly before_script: readonly string[] };
};

describe("CI workflows", needs(stack.available ? null : stack.reason), () => {
  let env: NodeJS.ProcessEnv;
  const projects: Project[] = [];

  beforeAll(() => {
    if (!stack.available) return;
    // The runner's part of a job: npm has installed imgmatch, and the registry here wants no login.
    const engine = stack.engineEnv.PATH ?? process.env.PATH;
    const bin = makeFolder({
      npx: `#!/bin/sh\nshift\nexec node ${cli} "$@"\n`,
      npm: "#!/bin/sh\n",
      imgmatch: `#!/bin/sh\nexec node ${cli} "$@"\n`,
      docker: `#!/bin/sh\nif [ "$1" = login ]; then exec cat >/dev/null; fi\nPATH=${engine} exec docker "$@"\n`,
    });
    for (const name of ["npx", "npm", "imgmatch", "docker"]) chmodSync(join(bin, name), 0o755);
    const git = {
      GIT_AUTHOR_NAME: "a",
      GIT_AUTHOR_EMAIL: "a@b",
      GIT_COMMITTER_NAME: "a",
      GIT_COMMITTER_EMAIL: "a@b",
    };
    env = { ...process.env, ...git, ...stack.engineEnv, PATH: `${bin}:${engine}` };
  });
  afterAll(() => {
    for (const project of projects) project.remove();
  });

  async function bash(script: string, cwd: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
    const { status, stdout, stderr } = await capture(["bash", "-eo", "pipefail", "-c", script], {
      cwd,
      env: { ...env, ...more },
    });
    expect(status, `${script}\n${stdout}${stderr}`).toBe(0);
    return stdout + stderr;
  }

  /** A fleet of three cells in a repository that others clone. */
  async function fleetNamed(name: string) {
    const registry = stack.available ? stack.registry : "";
    const project = createProject({ registry: `${registry}/ci`, name, env });
    projects.push(project);
    project.matrix(`base: scratch\naxes:\n  march: [${marches}]`);
    project.write(".gitignore", "locks\nshards.json\n");
    await bash(
      "git init -q -b main && npx imgmatch render && git add . && git commit -qm first",
      project.folder,
    );
    const origin = makeFolder({});
    await bash(`git clone -q --bare ${project.folder} app.git`, origin);
    // GitLab's takes them.
    await bash("git config receive.advertisePushOptions true", join(origin, "app.git"));
    const checkout = async () => {
      const folder = makeFolder({});
      await bash(`git clone -q ${origin}/app.git checkout`, folder);
      return join(folder, "checkout");
    };
    const locked = async () =>
      Object.keys(JSON.parse(readFileSync(join(await checkout(), lockFile), "utf8")).images);
    return { project, origin: `${origin}/app.git`, checkout, locked };
  }

  it.concurrent("GitHub's builds in three jobs, joins their locks, publishes, and then has nothing to build", async () => {
    const { jobs } = read<GithubWorkflow>("github.yml");
    const { project, checkout, locked } = await fleetNamed("github");
    expect(jobs.build.if).toContain("fromJSON(needs.plan.outputs.matrix).include[0] != null");
    const run = async (job: keyof typeof jobs, folder: string, values: NodeJS.ProcessEnv) => {
      const output = makeFolder({ output: "", summary: "" });
      const files = {
        GITHUB_OUTPUT: join(output, "output"),
        GITHUB_STEP_SUMMARY: join(output, "summary"),
        GITHUB_ACTOR: "a",
      };
      let said = "";
      for (const step of jobs[job].steps) {
        const given = Object.keys(step.env ?? {}).map((key) => [key, values[key] ?? ""]);
        if (step.run !== undefined)
          said += await bash(step.run, folder, { ...files, ...Object.fromEntries(given) });
      }
      return {
        said,
        output: readFileSync(files.GITHUB_OUTPUT, "utf8"),
        summary: readFileSync(files.GITHUB_STEP_SUMMARY, "utf8"),
      };
    };
    const pipeline = async () => {
      const plan = await run("plan", await checkout(), {});
      const { include } = JSON.parse(plan.output.replace(/^matrix=/, "")) as { include: { only: string }[] };
      const publishing = await checkout();
      await Promise.all(
        include.map(async ({ only }, index) => {
          const folder = await checkout();
          await run("build", folder, { ONLY: only });
          mkdirSync(join(publishing, `locks/lock-${index}`), { recursive: true });
          cpSync(join(folder, lockFile), join(publishing, `locks/lock-${index}/imgmatch.lock.json`));
        }),
      );
      return {
        jobs: include.length,
        summary: plan.summary,
        said: (await run("publish", publishing, {})).said,
      };
    };
    const first = await pipeline();
    expect(first.jobs).toBe(3);
    expect(first.summary).toContain("3 cells: 3 to build");
    expect(first.said).toContain(`${project.repository}:1.0.0@sha256:`);
    expect(await locked()).toEqual([...marches].sort());

    const second = await pipeline();
    expect(second.jobs).toBe(0);
    expect(second.summary).toContain("3 cells: 0 to build, 3 unchanged");
    expect(second.said).toContain("index unchanged");
  });

  it.concurrent("GitHub's of a repository without package.json builds, changes nothing but the lock, and then has nothing to build", async () => {
    const { jobs } = read<{ jobs: Record<"check" | "build", { steps: readonly Step[] }> }>(
      "github-global.yml",
    );
    const { project, checkout, locked } = await fleetNamed("global");
    const pipeline = async () => {
      const folder = await checkout();
      let said = "";
      for (const step of [...jobs.check.steps, ...jobs.build.steps])
        if (step.run !== undefined)
          said += await bash(step.run, folder, {
            RUNNER_TEMP: makeFolder({}),
            GITHUB_ACTOR: "a",
            PASSWORD: "p",
          });
      expect(await bash("git status --porcelain", folder)).toBe("");
      return said;
    };
    const first = await pipeline();
    expect(first).toContain("3 cells: 3 to build");
    expect(first).toContain(`${project.repository}:1.0.0@sha256:`);
    expect(await locked()).toEqual([...marches].sort());
    expect(await pipeline()).toContain("3 cells: 0 to build, 3 unchanged");
  });

  it.concurrent.each([
    ["GoCD", gocdStages],
    ["Jenkins", jenkinsStages],
  ])(
    "%s builds in two jobs, joins their locks, publishes, and then has nothing to build",
    async (name, stages) => {
      const { plan, build, publish } = stages();
      const { project, checkout, locked } = await fleetNamed(name.toLowerCase());
      const pipeline = async () => {
        const planning = await checkout();
        const planned = await bash(plan, planning);
        const publishing = await checkout();
        const said = await Promise.all(
          build.map(async (words) => {
            const folder = await checkout();
            cpSync(join(planning, "shards.json"), join(folder, "shards.json"));
            const job = await bash(words, folder);
            const locks = join(folder, "locks");
            if (existsSync(locks)) cpSync(locks, join(publishing, "locks"), { recursive: true });
            return job;
          }),
        );
        const idle = said.filter((each) => /^nothing to build here$/m.test(each)).length;
        return { planned, idle, published: await bash(publish, publishing) };
      };
      const first = await pipeline();
      expect(first.planned).toContain("3 cells: 3 to build");
      expect(first.idle).toBe(0);
      expect(first.published).toContain(`${project.repository}:1.0.0@sha256:`);
      expect(await locked()).toEqual([...marches].sort());

      const second = await pipeline();
      expect(second.planned).toContain("3 cells: 0 to build, 3 unchanged");
      expect(second.idle).toBe(2);
      expect(second.published).toContain("index unchanged");
    },
  );

  it.concurrent("GitLab's does, with a job more than there are shards", async () => {
    const { plan, build, publish, default: all } = read<GitlabPipeline>("gitlab.yml");
    const { project, origin, checkout, locked } = await fleetNamed("gitlab");
    const given = {
      ...{
        CI_REGISTRY: "registry.example.com",
        CI_REGISTRY_USER: "u",
        CI_REGISTRY_PASSWORD: "p",
        LOCK_TOKEN: "token",
      },
      ...{ CI_SERVER_HOST: "gitlab.example.com", CI_PROJECT_PATH: "team/app", CI_COMMIT_BRANCH: "main" },
      ...{ GIT_CONFIG_COUNT: "1", GIT_CONFIG_KEY_0: `url.${origin}.insteadOf` },
      GIT_CONFIG_VALUE_0: "https://images:token@gitlab.example.com/team/app.git",
    };
    const run = async (job: GitlabJob, folder: string, more: NodeJS.ProcessEnv = {}) => {
      const variables = { ...given, HOME: makeFolder({}), ...more };
      const said = await bash([...all.before_script, ...job.script].join("\n"), folder, variables);
      await bash((job.after_script ?? []).join("\n"), folder, variables);
      expect(JSON.parse(readFileSync(join(variables.HOME, ".docker/config.json"), "utf8"))).toEqual({
        auths: { "registry.example.com": { auth: Buffer.from("u:p").toString("base64") } },
      });
      return said;
    };
    const pipeline = async () => {
      const planning = await checkout();
      await run(plan, planning);
      const publishing = await checkout();
      const said = await Promise.all(
        Array.from({ length: build.parallel ?? 1 }, async (_, index) => {
          const folder = await checkout();
          cpSync(join(planning, "shards.json"), join(folder, "shards.json"));
          const job = await run(build, folder, { CI_NODE_INDEX: String(index + 1) });
          const locks = join(folder, "locks");
          if (existsSync(locks)) cpSync(locks, join(publishing, "locks"), { recursive: true });
          return job;
        }),
      );
      return { said, published: await run(publish, publishing) };
    };
    const idle = (said: readonly string[]) =>
      said.filter((each) => each.includes("nothing to build here")).length;
    const first = await pipeline();
    expect(idle(first.said)).toBe(1);
    expect(first.published).toContain(`${project.repository}:1.0.0@sha256:`);
    expect(await locked()).toEqual([...marches].sort());

    const second = await pipeline();
    expect(idle(second.said)).toBe(4);
    expect(second.published).toContain("index unchanged");
  });
});
