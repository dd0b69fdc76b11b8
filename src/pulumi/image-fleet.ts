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
import type { HostFacts } from "../facts/facts.ts";
import { parseHostFacts } from "../facts/parse-facts.ts";
import { requireOptions } from "../io/checked-options.ts";
import type { Lock } from "../lock/lock.ts";
import { type ResolveImageOptions, resolveImage } from "../resolve/resolve-image.ts";
import type { Resolution } from "../resolve/verdict.ts";
import type { ImageFleetArgs } from "./args.ts";
import { pulumi } from "./packages.ts";
import { prepareFleet } from "./prepare-fleet.ts";
import { withoutStack } from "./program-error.ts";
import { imageProviders } from "./providers/providers.ts";
import { announceImages, type FleetData, registerImages } from "./register-images.ts";
import { fleetType } from "./stack-view.ts";

export { chooseLaunch } from "../node/launch/choose-launch.ts";
export { launchTargets } from "../node/launch/launch-targets.ts";
export type { HostFacts } from "../facts/facts.ts";
export type { Lock, LockedImage } from "../lock/lock.ts";
export type { LaunchChoice, LaunchChoiceOptions } from "../node/launch/choose-launch.ts";
export type { FleetTarget, LaunchTarget, LocalTarget } from "../node/launch/target.ts";
export type { ImageFleetArgs, RegistryLogin } from "./args.ts";
export type { ResolveImageOptions } from "../resolve/resolve-image.ts";
export type { Resolution } from "../resolve/verdict.ts";

/**
 * The images of a matrix as resources: one image of the chosen provider for each cell, named `<name>-<cell>`.
 *
 * Before the first resource everything is checked that `imgmatch plan` checks, and every tag is looked up. A tag with other inputs is
 * `TAG_CONFLICT`, and nothing is built. A tag with the same inputs, pushed by others, is taken without a resource. After
 * each push the registry's digest is read back.
 *
 * Unless the matrix says `measure: false`, every image is then opened, and `lock` says what its files showed. The provider builds and pushes
 * in one step, so the tag exists before the image is opened: a lie (`AUDIT_…`) fails the program, which then has neither references nor a
 * lock, and leaves tag and resource as they are. With `push: false` it is before anybody else sees the image.
 *
 * The program fails with an `ImgmatchError` that names every problem.
 */
export class ImageFleet extends pulumi.ComponentResource<FleetData> {
  /** Cell id → `repository@sha256:…` of every image in the registry. */
  readonly references: Output<Readonly<Record<string, string>>>;
  /** The lock of exactly these cells, as `imgmatch build` writes it. */
  readonly lock: Output<Lock>;
  readonly #name: string;
  readonly #args: ImageFleetArgs;
  readonly #options: ComponentResourceOptions;

  constructor(name: string, args: ImageFleetArgs, options: ComponentResourceOptions = {}) {
    super(fleetType, name, {}, options);
    this.#name = name;
    this.#args = args;
    this.#options = options;
    const data = this.getData();
    this.references = pulumi.output(data.then(({ references }) => references));
    this.lock = pulumi.output(data.then(({ lock }) => lock));
    // The outputs that pin the bases of the next update; `pulumi stack export` and other stacks read the outputs too.
    this.registerOutputs({ references: this.references, lock: this.lock });
  }

  /** Dependents of the component wait for this, so for all images. */
  protected override async initialize(): Promise<FleetData> {
    // Pulumi ends a program that does nothing but read files and ask registries.
    const done = pulumi.runtime.rpcKeepAlive();
    try {
      // The base class calls this in its constructor, before the fields above are set.
      await Promise.resolve();
      const [name, args, options] = [this.#name, this.#args, this.#options];
      const prepared = await prepareFleet(name, args, options.dependsOn);
      const provider = imageProviders[args.provider ?? "docker"]();
      const fleet = { parent: this, name, args, options, provider };
      const data =
        "unknown" in prepared ? announceImages(fleet, prepared) : await registerImages(fleet, prepared);
      return prepared.secret
        ? { references: pulumi.secret(data.references), lock: pulumi.secret(data.lock) }
        : data;
    } catch (error) {
      throw withoutStack(error);
    } finally {
      done?.();
    }
  }

  /**
   * The image of this fleet that fits a host, by the rules of `imgmatch resolve`; `match` is null where none does. The program fails
   * with `FACTS_SCHEMA` where the input is no host facts, with `PIN_UNKNOWN` for a pin of an axis that no image has, and with `USAGE` for an
   * unknown option or a wrong value.
   *
   * @param host what `imgmatch probe --json` prints on that host
   */
  resolve(host: Input<HostFacts>, options: Input<ResolveImageOptions> = {}): Output<Resolution> {
    const inputs = [pulumi.output(host as Input<unknown>), pulumi.output(options)] as const;
    return pulumi.all([this.lock, ...inputs]).apply(([lock, facts, chosen]) => {
      try {
        requireOptions("resolveImage", chosen);
        // They come from a configuration or another program, which may hold anything, whatever the types say.
        return resolveImage(lock, parseHostFacts(JSON.stringify(facts) ?? "null", "host"), chosen);
      } catch (error) {
        throw withoutStack(error);
      }
    });
  }
}
