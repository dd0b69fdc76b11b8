/**
 * As much of `@pulumi/aws` as docs/examples/pulumi/cloud.ts uses, with types no wider than its own (7.48.0): the package has 84 MB, and its
 * plug-in an account. `IMGMATCH_PULUMI_PACKAGES=folder` of test/docs/examples.test.ts checks the example by the package itself.
 */

import * as pulumi from "@pulumi/pulumi";

class Repository extends pulumi.CustomResource {
  declare readonly repositoryUrl: pulumi.Output<string>;
  declare readonly registryId: pulumi.Output<string>;

  constructor(
    name: string,
    args: { readonly name?: pulumi.Input<string>; readonly imageTagMutability?: pulumi.Input<string> },
  ) {
    super("aws:ecr/repository:Repository", name, {
      ...args,
      repositoryUrl: undefined,
      registryId: undefined,
    });
  }
}

interface AuthorizationToken {
  readonly userName: string;
  readonly password: string;
}

function getAuthorizationTokenOutput(args: {
  readonly registryId?: pulumi.Input<string>;
}): pulumi.Output<AuthorizationToken> {
  return pulumi.runtime.invokeOutput("aws:ecr/getAuthorizationToken:getAuthorizationToken", args);
}

export const ecr = { Repository, getAuthorizationTokenOutput };
