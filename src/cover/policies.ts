/** The policies of `imgmatch cover --check`. */

import { usageError } from "../errors.ts";
import type { Cover, CoveredClass, NearMiss } from "./cover-classes.ts";
import { type CoveredImage, hostsOf, isUnused, reasonWords } from "./image-use.ts";

export interface Violation {
  readonly policy: string;
  /** A class's id, or an image's cell. */
  readonly of: string;
  /** The hosts of the class; 0 for an image. */
  readonly hosts: number;
  readonly message: string;
}

/** What a policy has looked at: with nothing to look at, each policy holds. */
export interface Checked {
  readonly policy: string;
  /** 0 for a policy about images. */
  readonly hosts: number;
  /** Ids of classes, or cells of images. */
  readonly of: readonly string[];
}

/** Says why one class or one image breaks the policy; null if it does not. */
type Policy =
  | {
      readonly about: "classes";
      /** The classes to look at; all by default. */
      readonly which?: (each: CoveredClass) => boolean;
      readonly wrong: (each: CoveredClass) => string | null;
    }
  | { readonly about: "images"; readonly wrong: (each: CoveredImage) => string | null };

const policies: Readonly<Record<string, Policy>> = {
  "every host served": {
    about: "classes",
    wrong: ({ match, nearest }) => (match === null ? `gets no image${because("nearest", nearest)}` : null),
  },
  "no GPU host on a CPU image": {
    about: "classes",
    which: ({ host, unusedGpus }) => host.gpus.length > 0 || unusedGpus,
    wrong: ({ match, unusedGpus, nearest, serve }) =>
      unusedGpus
        ? `has GPUs and gets ${match?.cell}${because("nearest with GPU code", nearest)}${nearest !== null || serve === null ? "" : `; to serve it: ${serve}`}`
        : null,
  },
  "every host native": {
    about: "classes",
    wrong: ({ match }) => {
      if (match === null) return "gets no image";
      if (match.native === true) return null;
      return `gets ${match.cell}, ${match.native === null ? "which may not be native: not all facts are known" : "which is not native"}`;
    },
  },
  "no unused image": {
    about: "images",
    wrong: (image) => {
      const { fits, alwaysBeatenBy, beatenBy, nearest } = image;
      if (!isUnused(image)) return null;
      if (fits === 0)
        return `runs nowhere${nearest === null ? "" : `, nearest is ${nearest.host}: ${reasonWords(nearest.reasons)}`}`;
      const [better = beatenBy.join(", ")] = alwaysBeatenBy;
      return `nobody gets it: ${better} ${alwaysBeatenBy.length > 0 ? "always comes first" : "come first"}`;
    },
  },
};

export const policyNames: readonly string[] = Object.keys(policies);

/** What each policy has looked at, and what breaks the policy, in the order of the policies. Throws `USAGE` for an unknown policy. */
export function checkCover(
  { classes, images }: Cover,
  names: readonly string[],
): { readonly checked: readonly Checked[]; readonly violations: readonly Violation[] } {
  const all = names.map((policy) => {
    const found = Object.hasOwn(policies, policy) ? policies[policy] : undefined;
    if (found === undefined)
      throw usageError(
        `--check ${JSON.stringify(policy)} is not a policy`,
        `the policies are: ${policyNames.join("; ")}`,
      );
    if (found.about === "images")
      return {
        checked: { policy, hosts: 0, of: images.map(({ cell }) => cell) },
        violations: images.flatMap((each) => violation(policy, each.cell, 0, found.wrong(each))),
      };
    const looked = classes.filter(found.which ?? (() => true));
    return {
      checked: { policy, hosts: hostsOf(looked), of: looked.map(({ id }) => id) },
      violations: looked.flatMap((each) => violation(policy, each.id, each.hosts, found.wrong(each))),
    };
  });
  return {
    checked: all.map(({ checked }) => checked),
    violations: all.flatMap(({ violations }) => violations),
  };
}

function violation(policy: string, of: string, hosts: number, message: string | null): readonly Violation[] {
  return message === null ? [] : [{ policy, of, hosts, message }];
}

function because(what: string, nearest: NearMiss | null): string {
  if (nearest === null) return "";
  const fixes = [...new Set(nearest.reasons.map(({ fix }) => fix))].join("; and ");
  return `; ${what}: ${nearest.cell}: ${reasonWords(nearest.reasons)}; fix: ${fixes}`;
}
