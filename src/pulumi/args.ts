/** The arguments of an ImageFleet; waits for those of its plan. */

import type { Input, Output, Resource } from "@pulumi/pulumi";
import { hiddenOutput, pulumi } from "./packages.ts";
import { type ProviderName, providerNames } from "./stack-images.ts";
import { type ImgmatchError, usageError } from "../errors.ts";

/** Login for the registry that the fleet is pushed to. Without it the provider takes the logins of `docker login`. */
export interface RegistryLogin {
  /** Default: the host of the matrix's registry. */
  readonly server?: Input<string>;
  readonly username: Input<string>;
  /** Always a secret in the state, also when it is given as plain text. */
  readonly password: Input<string>;
}

/**
 * An `Input` may come from a resource of the same program: the plan waits for it. While a preview does not know it, the images are there and
 * nothing is known of them; `matrix` and `only` decide which images there are, so a preview that lacks the two values ends with `USAGE`.
 * Every other argument decides how the program itself goes on.
 */
export interface ImageFleetArgs {
  /**
   * Path of `matrix.yaml`, from the folder of the Pulumi program, or what would stand in that file. Has to be known in a preview,
   * with all that is in it; what is made in the same update is for `publishTo` and `replaceBases`.
   */
  readonly matrix: Input<string> | Input<Readonly<Record<string, unknown>>>;
  /** The folder at which the paths of a matrix that is given as an object start. Default: the folder of the Pulumi program. */
  readonly folder?: string;
  /**
   * The provider that builds the images: `docker.Image` of `@pulumi/docker`, or `Image` of `@pulumi/docker-build`, which has to be
   * installed beside imgmatch then. Default: `docker`.
   */
  readonly provider?: ProviderName;
  /** Only these cells: `axis=value,…` or a cell's id. Has to be known in a preview. Default: all. */
  readonly only?: Input<readonly Input<string>[]>;
  /** Login for the registry that the images go to, also for bases on the same host. Default: that of `docker login`. */
  readonly registry?: Input<RegistryLogin>;
  /** `host/path` to publish to in place of the matrix's registry. */
  readonly publishTo?: Input<string>;
  /** False leaves the images in the engine; then there are no references. Default: true. */
  readonly push?: boolean;
  /** Build arguments that go before the matrix's. Never secrets: images keep them in their history. */
  readonly args?: Input<Readonly<Record<string, Input<string>>>>;
  /** Build all cells anew though nothing else has changed, once for each word: `2026-W47`. Default: what the lock says of each. */
  readonly rebuild?: Input<string>;
  /** Base reference → the one to build with instead. */
  readonly replaceBases?: Input<Readonly<Record<string, Input<string>>>>;
  /**
   * Lock that pins base images. Default: `images/imgmatch.lock.json` beside the matrix, if the file exists, else the fleet's lock in the
   * stack.
   */
  readonly lock?: string;
  /** Asks for bases anew that only this stack's lock pins. Default: false. */
  readonly updateBases?: Input<boolean>;
  /** Registry hosts that are asked without TLS, beside this machine. */
  readonly plainHttp?: Input<readonly Input<string>[]>;
  /** References to read build cache from, `registry.example.com/cache:{cell}`. Only `docker-build`, as all that follow. */
  readonly cacheFrom?: Input<readonly Input<string>[]>;
  /**
   * References to write build cache to, or `inline` for cache inside the images themselves. One without `{cell}` is written by the
   * first image of an update that is built.
   */
  readonly cacheTo?: Input<readonly Input<string>[]>;
  /**
   * Name → value, for steps that mount it: `RUN --mount=type=secret,id=NAME`. In no image, tag or digest; encrypted in the state, where a
   * new value of the same name comes without a build.
   */
  readonly secrets?: Input<Readonly<Record<string, Input<string>>>>;
  /** Agents and keys for steps that mount them: `default`, which is that of SSH_AUTH_SOCK, or `ID=PATH`. */
  readonly ssh?: readonly string[];
  /** Builder of buildx. Default: that of `docker buildx use`; where that builds in the engine, the provider finds or makes another. */
  readonly builder?: string;
}

/** Arguments that only `docker-build` takes. */
const meansNames = ["cacheFrom", "cacheTo", "secrets", "ssh", "builder"] as const;

/** The arguments of the plan, as plain values. */
export interface PlainArgs {
  readonly matrix: string | Readonly<Record<string, unknown>>;
  readonly only: readonly string[];
  readonly publishTo: string | undefined;
  readonly args: Readonly<Record<string, string>> | undefined;
  readonly rebuild: string | undefined;
  readonly replaceBases: Readonly<Record<string, string>>;
  readonly updateBases: boolean;
  readonly plainHttp: readonly string[];
}

export interface AwaitedArgs {
  /** The arguments; an unknown one has its default here. */
  readonly args: PlainArgs;
  /** The arguments that a preview does not know yet: everything made of them is unknown too. */
  readonly unknown: Output<unknown> | null;
  /** One of the values is a secret. */
  readonly secret: boolean;
  /** The resources that the values come from. */
  readonly resources: readonly Resource[];
}

/** Waits for the arguments of the plan. Throws `USAGE` for one that a preview has to know and does not. */
export async function awaitArgs(given: ImageFleetArgs): Promise<AwaitedArgs> {
  refuseOutputs(given);
  refuseForProvider(given);
  const [matrix, only, publishTo, args, rebuild, replaceBases, updateBases, plainHttp] = await Promise.all([
    awaitValue<PlainArgs["matrix"]>(given.matrix),
    awaitValue<readonly string[]>(given.only ?? []),
    awaitValue<PlainArgs["publishTo"]>(given.publishTo),
    awaitValue<PlainArgs["args"]>(given.args),
    awaitValue<PlainArgs["rebuild"]>(given.rebuild),
    awaitValue<PlainArgs["replaceBases"]>(given.replaceBases ?? {}),
    awaitValue<boolean>(given.updateBases ?? false),
    awaitValue<readonly string[]>(given.plainHttp ?? []),
  ]);
  const all = [matrix, only, publishTo, args, rebuild, replaceBases, updateBases, plainHttp];
  if (!matrix.isKnown) throw notKnown("matrix");
  if (!only.isKnown) throw notKnown("only");
  const known = <T>({ isKnown, value }: AwaitedValue<T>, otherwise: T): T => (isKnown ? value : otherwise);
  return {
    args: {
      matrix: matrix.value,
      only: only.value,
      publishTo: known(publishTo, undefined),
      args: known(args, undefined),
      rebuild: known(rebuild, undefined),
      replaceBases: known(replaceBases, {}),
      updateBases: known(updateBases, false),
      plainHttp: known(plainHttp, []),
    },
    unknown: all.find(({ isKnown }) => !isKnown)?.output ?? null,
    secret: all.some(({ isSecret }) => isSecret),
    resources: [...new Set(all.flatMap(({ resources }) => resources))],
  };
}

export interface AwaitedValue<T> {
  readonly output: Output<unknown>;
  /** Only in a preview it may not be. */
  readonly isKnown: boolean;
  /** The value, to be read only if `isKnown`. */
  readonly value: T;
  readonly isSecret: boolean;
  readonly resources: readonly Resource[];
}

/** The plain value of an input, with all inputs in it, also secrets: an output that is made of a secret must be one too. */
export async function awaitValue<T>(input: unknown): Promise<AwaitedValue<T>> {
  const output = pulumi.output(input) as Output<T>;
  const inner = hiddenOutput(output);
  const [isKnown, isSecret, value, resources] = await Promise.all([
    inner.isKnown,
    inner.isSecret,
    inner.promise(),
    inner.allResources(),
  ]);
  return { output, isKnown, value, isSecret, resources: [...resources] };
}

function notKnown(name: "matrix" | "only"): ImgmatchError {
  return usageError(
    `\`${name}\` of the ImageFleet is not known in a preview: the value is of a resource that does not exist yet, and decides which images there are`,
    "write the value in the program or the configuration, or make the resource in another stack; a registry or a base that this program makes is for `publishTo` and `replaceBases`",
  );
}

/** JavaScript programs have no types, and an Output is true whatever its value is. */
function refuseOutputs(given: ImageFleetArgs): void {
  for (const name of ["folder", "push", "lock", "provider", "ssh", "builder"] as const) {
    const value: unknown = given[name];
    if (!pulumi.Output.isInstance(value) && !(value instanceof Promise)) continue;
    throw usageError(
      `\`${name}\` of the ImageFleet is an Output: it has to be a plain value`,
      "write it in the program, or read it from the configuration (pulumi.Config)",
    );
  }
}

/** Throws for arguments that the chosen provider does not have: silence would be noticed much later. */
function refuseForProvider(given: ImageFleetArgs): void {
  const { provider = "docker" } = given;
  if (!providerNames.includes(provider)) {
    throw usageError(
      `\`provider\` of the ImageFleet is ${JSON.stringify(provider)}`,
      `it is one of ${providerNames.map((name) => JSON.stringify(name)).join(", ")}`,
    );
  }
  const taken = provider === "docker" ? meansNames.filter((name) => given[name] !== undefined) : [];
  if (taken.length === 0) return;
  throw usageError(
    `@pulumi/docker has no ${taken.map((name) => `\`${name}\``).join(", ")}`,
    'build with `provider: "docker-build"` of the ImageFleet (npm install @pulumi/docker-build@0), or leave it away',
  );
}
