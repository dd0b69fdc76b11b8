/** Loads Pulumi's packages, which a user installs beside imgmatch. */

import { createRequire } from "node:module";
import type { Output, Resource } from "@pulumi/pulumi";
import { ImgmatchError } from "../errors.ts";

const load = createRequire(import.meta.url);

/** In the versions of package.json. */
const install = (provider: string) =>
  `npm install @pulumi/pulumi@3 ${provider} (with --global where imgmatch was installed so)`;

export const installDocker = install("@pulumi/docker@5");
export const installDockerBuild = install("@pulumi/docker-build@0");

// Required and not imported: where one is missing, an import would end the program before imgmatch can say how to install it.
export const pulumi = packageOf<typeof import("@pulumi/pulumi")>("@pulumi/pulumi", installDocker);

/** The parts of an Output that the SDK's types hide. A preview may not know the value. */
export interface HiddenOutput<T> {
  readonly isKnown: Promise<boolean>;
  readonly isSecret: Promise<boolean>;
  promise(): Promise<T>;
  allResources(): Promise<Set<Resource>>;
}

export function hiddenOutput<T>(output: Output<T>): HiddenOutput<T> {
  return output as unknown as HiddenOutput<T>;
}

/** Throws `ENGINE_NOT_FOUND` if the package is not installed. */
export function packageOf<Package>(name: string, fix: string): Package {
  try {
    return load(name) as Package;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND")) throw error;
    throw new ImgmatchError(
      {
        code: "ENGINE_NOT_FOUND",
        message: `imgmatch/pulumi needs the package ${name}`,
        fix,
      },
      { cause: error },
    );
  }
}
