/** The words of SLSA provenance that imgmatch writes and reads (slsa.dev, spec v1.0 and v0.2, "Provenance"). */

export const provenanceTypes = {
  v1: "https://slsa.dev/provenance/v1",
  /** What BuildKit writes unless it is told otherwise. */
  v02: "https://slsa.dev/provenance/v0.2",
} as const;

/** How the rest of a predicate is to be read: docs/trust.md has each of its fields. */
export const buildType = "https://imgmatch.dev/provenance/build/v1";
/** BuildKit's, of provenance v0.2 and of v1 (moby/buildkit, docs/attestations/slsa-definitions.md). */
export const buildkitTypes: readonly string[] = [
  "https://mobyproject.org/buildkit@v1",
  "https://github.com/moby/buildkit/blob/master/docs/attestations/slsa-definitions.md",
];

/** Builds that no CI has named. */
export const unnamedBuilder = "https://imgmatch.dev/builder/unnamed";

export const statementVersion = "https://in-toto.io/Statement/v1";

/** Names of dependencies that are no images. */
export const dependencyNames = { inputs: "inputs", context: "context", dockerfile: "dockerfile" } as const;
