/**
 * A fleet of images for a Pulumi program. Needs `@pulumi/pulumi` and `@pulumi/docker` or `@pulumi/docker-build` beside imgmatch: the
 * import throws `ENGINE_NOT_FOUND` without the first, and an `ImageFleet` fails with it without its provider's package.
 *
 * @example
 * import { ImageFleet } from "imgmatch/pulumi";
 *
 * const fleet = new ImageFleet("vision", { matrix: "matrix.yaml", only: ["cuda=none"] });
 * export const references = fleet.references;
 *
 * @packageDocumentation
 */

import type { ComponentResourceOptions, Input, Output } from "@pulumi/pulumi";
import { FleetImages } from "./component.ts";
import { pulumi } from "./packages.ts";
import { withoutStack } from "./events.ts";
import type { HostFacts } from "../host/facts.ts";
import { parseHostFacts } from "../host/parse-facts.ts";
import type { ImageFleetArgs } from "./args.ts";
import { prepareFleet } from "./prepare-fleet.ts";
import { type ResolveImageOptions, resolveImage } from "../resolve/resolve-image.ts";
import type { Resolution } from "../resolve/verdict.ts";

export type { RegistryLogin } from "./component.ts";
export type { HostFacts } from "../host/facts.ts";
export type { Lock, LockedImage } from "../lock/lock.ts";
export type { ImageFleetArgs } from "./args.ts";
export type { ResolveImageOptions } from "../resolve/resolve-image.ts";
export type { Resolution } from "../resolve/verdict.ts";

/**
 * The images of a matrix as resources: one image of the chosen provider for each cell, named `<name>-<cell>`.
 *
 * Before the first resource everything is checked that `imgmatch plan` checks, and every tag is looked up: one with other
 * inputs is `TAG_CONFLICT` and nothing is built; one with the same inputs that this stack has not pushed is taken as it is,
 * without a resource. After each push the registry's digest is read back.
 *
 * Unless the matrix says `measure: false`, every image is then opened, and `lock` says what its files showed. The provider builds and
 * pushes in one step, so that this is after its tag exists: a lie (`AUDIT_…`) fails the program, which then has neither references nor
 * a lock, and leaves tag and resource as they are. With `push: false` it is before anybody else sees the image.
 *
 * The program fails with an `ImgmatchError` that names every problem.
 */
export class ImageFleet extends FleetImages {
  constructor(name: string, args: ImageFleetArgs, options: ComponentResourceOptions = {}) {
    const { registry, provider = "docker", cacheFrom, cacheTo, secrets, ssh, builder } = args;
    const means = { cacheFrom, cacheTo, secrets, ssh, builder };
    const prepare = () => prepareFleet(name, args, options.dependsOn);
    super(name, { prepare, provider, registry, means }, options);
    // The outputs that pin the bases of the next update; `pulumi stack export` and others of this stack read them too.
    this.registerOutputs({ references: this.references, lock: this.lock });
  }

  /**
   * The image of this fleet that fits a host, by the rules of `imgmatch resolve`; `match` is null where none does. Other
   * input than host facts fails the program with `FACTS_SCHEMA`, a pin of an axis that no image has with `PIN_UNKNOWN`.
   *
   * @param host what `imgmatch probe --json` prints on that host
   */
  resolve(host: Input<HostFacts>, options: Input<ResolveImageOptions> = {}): Output<Resolution> {
    const asked = [pulumi.output(host as Input<unknown>), pulumi.output(options)] as const;
    return pulumi.all([this.lock, ...asked]).apply(([lock, facts, chosen]) => {
      try {
        return resolveImage(lock, checkedFacts(facts), chosen);
      } catch (error) {
        throw withoutStack(error);
      }
    });
  }
}

/** They come from a configuration or from another program: whatever the types say, anything may stand there. */
function checkedFacts(facts: unknown): HostFacts {
  return parseHostFacts(JSON.stringify(facts) ?? "null", "host");
}
