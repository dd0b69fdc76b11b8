/** Names of build arguments and labels that describe a build, in the image and in its provenance. */

/** Build arguments that describe a build without being part of its inputs. The engine fills them in. */
export const describingArgs = {
  revision: "IMGMATCH_REVISION",
  version: "IMGMATCH_VERSION",
  baseName: "IMGMATCH_BASE_NAME",
  baseDigest: "IMGMATCH_BASE_DIGEST",
} as const;

/** Build arguments that no Dockerfile has: provenance repeats them. */
export const attestedArgs = { cell: "IMGMATCH_CELL", matrix: "IMGMATCH_MATRIX" } as const;

/** Label with the input digest. The engine adds it, since a Dockerfile cannot hold its own digest. */
export const inputsLabel = "dev.imgmatch.inputs";
