/** The pulumi programs and plug-ins that are there, and stacks of an inline program with a state in a project's folder. */

import { execFileSync } from "node:child_process";
import { delimiter, dirname } from "node:path";
import * as automation from "@pulumi/pulumi/automation/index.js";
import { findProgram } from "../../../src/io/run-program.ts";
import { whyNoBuildkitd, whyNoBuildx } from "./buildkitd.ts";
import { whyNot } from "../../support/programs.ts";

const noProgram = whyNot("pulumi", ["version"], { install: "curl -fsSL https://get.pulumi.com | sh" });

function noPlugin(name: string): string | null {
  const program = `pulumi-resource-${name}`;
  if (findProgram(program, process.env) !== null) return null;
  return `no ${program} in PATH (pulumi plugin install resource ${name})`;
}

/** null where a fleet can be built by `provider: "docker"`. */
export const whyNoDockerPlugin = noProgram ?? noPlugin("docker");

/** null where a fleet can be built by `provider: "docker-build"`: pulumi, this plug-in, and a BuildKit of the tests' own. */
export function whyNoDockerBuild(env: Readonly<Record<string, string>>): string | null {
  return noProgram ?? noPlugin("docker-build") ?? whyNoBuildkitd() ?? whyNoBuildx(env);
}

/** The pulumi of PATH, and those of other generations beside it: their states, events and messages are not the same. */
export const pulumiPrograms: readonly string[] = [
  "pulumi",
  ...(process.env.IMGMATCH_PULUMI_PROGRAMS ?? "").split(delimiter).filter((path) => path !== ""),
];

/** `pulumi 3.230.0` */
export function describePulumi(program: string): string {
  return `pulumi ${execFileSync(program, ["version"], { encoding: "utf8" }).trim().replace(/^v/, "")}`;
}

/** PATH with this program before others of its name. */
export function pathWith(program: string, path = process.env.PATH ?? ""): string {
  return program === "pulumi" ? path : `${dirname(program)}${delimiter}${path}`;
}

/** A stack whose provider runs in a folder that the Automation API makes: not that of the program. */
export function inlineStack(
  folder: string,
  stackName: string,
  program: automation.PulumiFn,
): Promise<automation.Stack> {
  return automation.LocalWorkspace.createOrSelectStack(
    { stackName, projectName: "platform", program },
    {
      projectSettings: { name: "platform", runtime: "nodejs", backend: { url: `file://${folder}/state` } },
      envVars: { PULUMI_CONFIG_PASSPHRASE: "test" },
    },
  );
}

export interface StateResource {
  readonly type: string;
  readonly urn: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the provider keeps
  readonly inputs?: any;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the provider keeps
  readonly outputs?: any;
}

export async function resourcesOf(stack: automation.Stack): Promise<readonly StateResource[]> {
  return (await stack.exportStack()).deployment.resources ?? [];
}
