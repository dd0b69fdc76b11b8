/** Reads the machine and the sources of a build from git and the CI's variables, for its provenance. */

import { askGit, shortHead } from "../../io/git.ts";
import type { BuildOrigin } from "../../oci/build-record.ts";
import { isWritten } from "../dockerfile/dockerfiles.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** `folder` has the matrix. Unknown members are null. */
export async function readOrigin(
  folder: string,
  env: Env,
): Promise<Omit<BuildOrigin, "revision" | "program">> {
  // The environment names the commit: the git of this folder may be at another one.
  const isNamed = env.IMGMATCH_REVISION !== undefined;
  const [remote, head] = await Promise.all([
    askGit(folder, ["config", "--get", "remote.origin.url"], { timeoutMs: 5_000 }),
    isNamed ? null : shortHead(folder, isWritten),
  ]);
  return {
    remote: remote.ok ? plainRemote(remote.text.trim()) : null,
    modified: head?.ok ? head.text.endsWith("-dirty") : null,
    ...runnerOf(env),
  };
}

/**
 * A remote of git as a URL without credentials; null for a folder and for what is no URL.
 *
 * @example
 * plainRemote("git@github.com:team/app.git"); // "ssh://github.com/team/app.git"
 */
export function plainRemote(remote: string): string | null {
  const [, host, path] = /^(?:[\w.-]+@)?([\w.-]+):(?!\/\/)([\w./~-]+)$/.exec(remote) ?? [];
  const text = host === undefined ? remote : `ssh://${host}/${path}`;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (!["https:", "http:", "ssh:", "git:"].includes(url.protocol) || url.hostname === "") return null;
  const port = url.port === "" ? "" : `:${url.port}`;
  return `${url.protocol}//${url.hostname}${port}${url.pathname}`;
}

/** GitHub Actions, "Default environment variables"; GitLab, "Predefined CI/CD variables". */
function runnerOf(env: Env): Pick<BuildOrigin, "builder" | "invocation"> {
  if (env.GITHUB_ACTIONS === "true") {
    const { GITHUB_SERVER_URL: server, GITHUB_WORKFLOW_REF: workflow, GITHUB_REPOSITORY: repository } = env;
    const run = `${server}/${repository}/actions/runs/${env.GITHUB_RUN_ID}/attempts/${env.GITHUB_RUN_ATTEMPT}`;
    return {
      builder: uriOf(server && workflow && `${server}/${workflow}`),
      invocation: uriOf(server && repository && env.GITHUB_RUN_ID && env.GITHUB_RUN_ATTEMPT && run),
    };
  }
  if (env.GITLAB_CI === "true") {
    const { CI_PROJECT_URL: project, CI_RUNNER_ID: runner } = env;
    return {
      builder: uriOf(project && runner && `${project}/-/runners/${runner}`),
      invocation: uriOf(env.CI_JOB_URL),
    };
  }
  return { builder: null, invocation: null };
}

function uriOf(text: string | undefined): string | null {
  return text && /^https?:\/\/[^\s"<>\\^`{|}]+$/.test(text) && URL.canParse(text) ? text : null;
}
