/** `Image` of `@pulumi/docker-build`: builds by a builder of buildx, whose BuildKit gets the context as a folder and pushes. */

import type { ImageArgs, Platform, types } from "@pulumi/docker-build";
import { inlineCache } from "../../fleet/engines/cache.ts";
import { installDockerBuild, packageOf } from "../packages.ts";
import type { StackImage } from "../stack-images.ts";
import type { GivenNow, ImageBuild, ImageMeans, ImageProvider } from "./provider.ts";

/** All that an image is made of. Logins and secrets are not in it: they may change and build nothing. */
const inputs = [
  ...["buildArgs", "buildOnPreview", "builder", "cacheFrom", "cacheTo", "context", "dockerfile", "labels"],
  ...["load", "network", "platforms", "push", "ssh", "tags", "target"],
] as const satisfies readonly (keyof ImageArgs)[];

export function dockerBuildProvider(): ImageProvider {
  const dockerBuild = packageOf<typeof import("@pulumi/docker-build")>(
    "@pulumi/docker-build",
    installDockerBuild,
  );
  return {
    builder: "pulumi docker-build.Image",
    labels: true,
    ignoreFiles: true,
    make: (name, build, options) => new dockerBuild.Image(name, argsOf(build), options).digest,
    announce: (name, _push, later, options) => {
      const context = later<types.input.BuildContextArgs>();
      // The provider refuses a known `push` together with an unknown name.
      const args = { tags: later<string[]>(), context, push: later<boolean>(), buildOnPreview: false };
      new dockerBuild.Image(name, args, options);
    },
    options: (kept, given) => ({
      replaceOnChanges: [...inputs],
      // Deleting the resource would delete the image from the registry, where hosts pull it.
      retainOnDelete: true,
      additionalSecretOutputs: ["registries"],
      ...(kept === null ? {} : { ignoreChanges: [...inputs, ...notSame(kept, given)] }),
    }),
  };
}

function argsOf(build: ImageBuild): ImageArgs {
  const { imageName, context, dockerfile, args, labels, platform, target, push, login, means } = build;
  const { secrets, ssh, builder } = means;
  return {
    tags: [imageName],
    context: { location: context },
    dockerfile: { location: dockerfile },
    buildArgs: args,
    labels,
    platforms: [platform as Platform],
    ...(target === null ? {} : { target }),
    push,
    // Into the engine: nothing else keeps it.
    load: !push,
    // As `docker.Image`: a preview is to say what will be, in seconds and without a builder.
    buildOnPreview: false,
    ...cachesOf(means),
    ...(secrets === null
      ? {}
      : {
          secrets: secrets.values,
          ...(secrets.names === null ? {} : { ignoreSecretsInDiffCalculation: [...secrets.names] }),
        }),
    ...(ssh.length === 0 ? {} : { ssh: ssh.map(({ id, paths }) => ({ id, paths: [...paths] })) }),
    ...(builder === null ? {} : { builder: { name: builder } }),
    ...(login === null
      ? {}
      : {
          registries: login.apply(({ server, username, password }) => [
            { address: server, username, password },
          ]),
        }),
  };
}

function cachesOf({ cacheFrom, cacheTo }: ImageMeans): Pick<ImageArgs, "cacheFrom" | "cacheTo"> {
  return {
    cacheFrom: cacheFrom.apply((from) => from.map((ref) => ({ registry: { ref } }))),
    cacheTo: cacheTo.apply((to) =>
      to.map((ref) => (ref === inlineCache ? { inline: {} } : { registry: { ref, mode: "max" as const } })),
    ),
  };
}

/**
 * It takes a new password of the same name at the same host as no change, and new values of the same secrets. Other names
 * would build again, so they wait until the image is built for another reason.
 */
function notSame({ login, secrets }: StackImage, given: GivenNow): readonly string[] {
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  return [
    ...(same(login, given.login) ? [] : ["registries"]),
    ...(same([...secrets].sort(), [...(given.secrets ?? [])].sort())
      ? []
      : ["secrets", "ignoreSecretsInDiffCalculation"]),
  ];
}
