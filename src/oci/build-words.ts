/** Names by which imgmatch tells an engine, and finds again in an image or its provenance, what was built. */

/** Build arguments that describe a build without being part of its inputs. The engine fills them in. */
export const describingArgs = {
  revision: "IMGMATCH_REVISION",
  baseName: "IMGMATCH_BASE_NAME",
  baseDigest: "IMGMATCH_BASE_DIGEST",
} as const;

/** Build arguments for provenance alone, which repeats them: no Dockerfile is rendered with them. */
export const attestedArgs = { cell: "IMGMATCH_CELL", matrix: "IMGMATCH_MATRIX" } as const;

/** Label with the input digest. The engine adds it, since a Dockerfile cannot hold its own digest. */
export const inputsLabel = "dev.imgmatch.inputs";
