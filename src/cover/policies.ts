/** The policies of `imgmatch cover --check`. */

import { usageError } from "../errors.ts";
import type { Cover, CoveredClass, NearMiss } from "./cover-classes.ts";
import { type CoveredImage, isUnused } from "./image-use.ts";

export interface Violation {
  readonly policy: string;
  /** A class's id, or an image's cell. */
  readonly of: string;
  /** The hosts of the class; 0 for an image. */
  readonly hosts: number;
  readonly message: string;
}

/** Says why one class or one image breaks the policy; null if it does not. */
type Policy =
  | { readonly about: "classes"; readonly wrong: (each: CoveredClass) => string | null }
  | { readonly about: "images"; readonly wrong: (each: CoveredImage) => string | null };

const policies: Readonly<Record<string, Policy>> = {
  "every host served": {
    about: "classes",
    wrong: ({ match, nearest }) => (match === null ? `gets no image${because("nearest", nearest)}` : null),
  },
  "no GPU host on a CPU image": {
    about: "classes",
    wrong: ({ match, unusedGpus, nearest, serve }) =>
      unusedGpus
        ? `has GPUs and gets ${match?.cell}${because("nearest with GPU code", nearest)}${serve === null ? "" : `; what would serve it: ${serve}`}`
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
      const { fits, alwaysBeatenBy, beatenBy, misfit } = image;
      if (!isUnused(image)) return null;
      if (fits === 0) return `runs nowhere${misfit === null ? "" : `: ${misfit.code}: ${misfit.message}`}`;
      const [better = beatenBy.join(", ")] = alwaysBeatenBy;
      return `nobody gets it: ${better} ${alwaysBeatenBy.length > 0 ? "always comes first" : "come first"}`;
    },
  },
};

export const policyNames: readonly string[] = Object.keys(policies);

/** The violations of these policies, in their order. Throws `USAGE` for an unknown policy. */
export function checkCover({ classes, images }: Cover, names: readonly string[]): readonly Violation[] {
  return names.flatMap((policy) => {
    const found = Object.hasOwn(policies, policy) ? policies[policy] : undefined;
    if (found === undefined)
      throw usageError(
        `--check ${JSON.stringify(policy)} is not a policy`,
        `the policies are: ${policyNames.join("; ")}`,
      );
    if (found.about === "classes")
      return classes.flatMap((each) => violation(policy, each.id, each.hosts, found.wrong(each)));
    return images.flatMap((each) => violation(policy, each.cell, 0, found.wrong(each)));
  });
}

function violation(policy: string, of: string, hosts: number, message: string | null): readonly Violation[] {
  return message === null ? [] : [{ policy, of, hosts, message }];
}

function because(what: string, nearest: NearMiss | null): string {
  if (nearest === null) return "";
  return `; ${what}: ${nearest.cell}: ${nearest.reasons.map(({ code, message }) => `${code}: ${message}`).join("; ")}`;
}
