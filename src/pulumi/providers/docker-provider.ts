/** `docker.Image` of `@pulumi/docker`: builds by the Docker Engine, whose BuildKit gets the context as an archive. */

import type { types } from "@pulumi/docker";
import { installDocker, packageOf } from "../packages.ts";
import type { ImageProvider } from "./provider.ts";

export function dockerProvider(): ImageProvider {
  const docker = packageOf<typeof import("@pulumi/docker")>("@pulumi/docker", installDocker);
  return {
    builder: "pulumi docker.Image",
    labels: false,
    ignoreFiles: false,
    make: (name, { imageName, context, dockerfile, args, platform, target, push, login }, options) =>
      new docker.Image(
        name,
        {
          imageName,
          build: {
            context,
            dockerfile,
            args,
            platform,
            builderVersion: "BuilderBuildKit",
            ...(target === null ? {} : { target }),
          },
          // Without a push the provider would log in to a registry for nothing.
          ...(login === null || !push ? {} : { registry: login }),
          skipPush: !push,
        },
        options,
      ).repoDigest,
    announce: (name, push, later, options) => {
      const build = later<types.input.DockerBuild>();
      new docker.Image(name, { imageName: later<string>(), build, skipPush: !push }, options);
    },
    options: (kept, { login }) => ({
      // An image is never changed: other inputs are another image.
      replaceOnChanges: ["build", "imageName"],
      ...(kept === null
        ? {}
        : {
            // It takes a new password of the same host as no change: it comes into the state, and builds nothing.
            ignoreChanges: [
              ...["build", "skipPush"],
              kept.login === null || login === null ? "registry" : "registry.server",
            ],
          }),
    }),
  };
}
