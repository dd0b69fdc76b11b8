/** Pulumi: a whole fleet as one update of a stack. It builds with the Docker Engine that its plug-in finds. */

import { usageError } from "../errors.ts";
import type { BuiltImage } from "../fleet/build/engine.ts";
import type { FleetBuilder } from "../fleet/build/fleet-builder.ts";
import { adviceFor } from "../fleet/build/engines/advice.ts";
import { namedImage } from "../oci/engine/engine-answers.ts";
import { connectDocker, type DockerApi } from "../oci/engine/api.ts";
import { createLocalBases } from "../oci/engine/tag-local-bases.ts";
import { localBaseIds } from "../fleet/build/jobs.ts";
import { createDockerEngine, type DockerEngineOptions } from "../fleet/build/engines/docker/docker-engine.ts";
import { findParts } from "./missing-parts.ts";

export interface PulumiBuilderOptions extends DockerEngineOptions {
  /** Default: `imgmatch`. */
  readonly stack?: string | undefined;
}

/**
 * Throws `USAGE` for a name that no stack can have, `ENGINE_NOT_FOUND` that names all missing parts and how to install them,
 * and what the Docker Engine throws.
 */
export async function createPulumiBuilder(options: PulumiBuilderOptions): Promise<FleetBuilder> {
  const { env, stack = "imgmatch", ca } = options;
  requireStackName(stack);
  const parts = await findParts(env);
  const docker = await createDockerEngine(options);
  const api = await connectDocker(env);
  const imageOf = createImageLookup(api);
  const run = { env, pulumiRoot: parts.root, stack, advice: adviceFor("engine", ca), imageOf };
  const withLocalBases = createLocalBases(api);
  const builder = `pulumi ${parts.version}, docker plug-in ${parts.plugin}, ${await docker.describe()}`;
  return {
    attests: "nobody",
    describe: async () => builder,
    // Pulumi takes half a second to load: only where it is asked for.
    build: async (plan, fleet, buildOptions) =>
      withLocalBases(localBaseIds(plan), async () =>
        (await import("./run-stack.ts")).runPlan(plan, fleet, buildOptions, run, builder),
      ),
    save: (image, watch) => docker.save(image, watch),
    layers: (image, watch) => docker.layers(image, watch),
    push: docker.isHere ? (image, to, watch) => docker.push(image, to, watch) : null,
    preview: async (plan, fleet, buildOptions) =>
      (await import("./run-stack.ts")).previewPlan(plan, fleet, buildOptions, run),
  };
}

/** Pulumi: letters, digits, `_`, `-` and `.`, at most 100. A hyphen at the start would be an option of its program. */
function requireStackName(stack: string): void {
  if (/^[A-Za-z0-9_.][A-Za-z0-9_.-]{0,99}$/.test(stack)) return;
  throw usageError(
    `--stack ${JSON.stringify(stack)} is no name of a stack`,
    "use at most 100 letters, digits and _ . - in it; the organization is that of pulumi org set-default",
  );
}

function createImageLookup(api: DockerApi): (name: string) => Promise<BuiltImage | null> {
  return async (name) => {
    const image = await api.read(`/images/${name}/json`, namedImage).catch(() => null);
    return image === null ? null : { id: image.Id, size: image.Size };
  };
}
