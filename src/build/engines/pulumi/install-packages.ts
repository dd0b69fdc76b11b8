/** How Pulumi's own packages come beside imgmatch, in the versions of package.json: for who asks for them and has none. */
export const installPackages =
  "npm install @pulumi/pulumi@3 @pulumi/docker@5 (with --global where imgmatch was installed so)";
