/** How Pulumi's own packages come beside imgmatch, in the versions of package.json: for who asks for them and has none. */
const install = (provider: string) =>
  `npm install @pulumi/pulumi@3 ${provider} (with --global where imgmatch was installed so)`;

export const installPackages = install("@pulumi/docker@5");
export const installDockerBuild = install("@pulumi/docker-build@0");
