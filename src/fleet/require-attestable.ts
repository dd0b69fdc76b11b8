/** Whether what builds can attest what a matrix asks for: found out before anything is built. */

import type { FleetBuilder, FleetSources } from "./build/fleet-builder.ts";
import { type Problem, throwProblems } from "../errors.ts";
import type { Attestations, Located, Matrix } from "./matrix/matrix.ts";

/** Throws `ATTEST_UNSUPPORTED`: never is anything left out in silence. */
export function requireAttestable(
  { attest }: Pick<Matrix, "attest">,
  { attests }: Pick<FleetBuilder, "attests">,
  { passedArgs = {} }: Pick<FleetSources, "passedArgs">,
): void {
  if (attest === null) return;
  throwProblems([
    ...unsupported(attest, attests),
    ...(attests === "engine" ? leaks(attest, passedArgs) : []),
  ]);
}

function unsupported({ value, at }: Located<Attestations>, attests: FleetBuilder["attests"]): Problem[] {
  const code = "ATTEST_UNSUPPORTED";
  const fix =
    "build with --engine buildx and a builder of BuildKit 0.11 or newer (docker buildx create), or leave out attest";
  if (attests === "nobody")
    return [{ code, message: "the stack of --engine pulumi gives images their tags unattested", fix, at }];
  if (attests === "engine" || value.sbom === null) return [];
  return [
    {
      code,
      message: "attest.sbom needs a BuildKit that attests, and this engine has none",
      fix: `${fix}.sbom`,
      at,
    },
  ];
}

/** Mode `max` repeats every build argument, and what is attested can be read by all who can pull. */
function leaks({ value, at }: Located<Attestations>, args: Readonly<Record<string, string>>): Problem[] {
  if (value.provenance !== "max") return [];
  const names = Object.keys(args).filter((name) => /\/\/[^/@]*@/.test(args[name] ?? ""));
  return names.map((name) => ({
    code: "ATTEST_UNSUPPORTED",
    message: `the build argument ${name} has a password, and provenance: max would publish it`,
    fix: "write provenance: min, or give the builder a proxy without a password",
    at,
  }));
}
