/** The pulumi program and its docker plug-in, where they are, and stacks of an inline program with a state in a project's folder. */

import * as automation from "@pulumi/pulumi/automation/index.js";
import { findParts } from "../../../src/build/engines/pulumi/missing-parts.ts";
import { ImgmatchError } from "../../../src/errors.ts";

/** null where all of it is there. */
export const whyNoPulumi = await findParts(process.env).then(
  () => null,
  (error: unknown) => (error instanceof ImgmatchError ? error.message : String(error)),
);

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
