/** As much of `@pulumi/kubernetes` (4.34.2) as docs/examples/pulumi/cloud.ts uses: see aws.ts. */

import * as pulumi from "@pulumi/pulumi";

class ConfigGroup extends pulumi.ComponentResource {
  // biome-ignore lint/suspicious/noExplicitAny: the package's own type
  constructor(name: string, args: { readonly objs?: pulumi.Input<pulumi.Input<any>[]> }) {
    super("kubernetes:yaml/v2:ConfigGroup", name, args, {}, true);
  }
}

export const yaml = { v2: { ConfigGroup } };
