/** What BuildKit attests of an image, in the words of `docker buildx build --attest` and of a bake file. */

import type { BuildRequest } from "../engine.ts";

type Asked = Pick<BuildRequest, "attest">;

/** `type=provenance,mode=max`, `type=sbom,generator=…` (docker/buildx, docs/reference/buildx_build.md, --attest). */
export function attestValues({ attest }: Asked): readonly string[] {
  if (attest === undefined) return [];
  const { provenance, sbom } = attest;
  return [
    ...(provenance === null ? [] : [`type=provenance,mode=${provenance}`]),
    ...(sbom === null ? [] : [`type=sbom${sbom.generator === null ? "" : `,generator=${sbom.generator}`}`]),
  ];
}

/** The request's build arguments and, where provenance repeats them, those that say which cell it is. */
export function argsWithSaid({ args, attest }: Asked & Pick<BuildRequest, "args">): BuildRequest["args"] {
  return attest?.provenance === "max" ? { ...args, ...attest.said } : args;
}
