/** The fleet of the world: four cells, the versions of their matrix, the key of all publishers, the nodes' hosts. */

import { createHash, createPublicKey } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import type { HostFacts } from "../../../src/facts/facts.ts";
import { expandMatrix } from "../../../src/fleet/cells/expand.ts";
import type { Matrix } from "../../../src/fleet/matrix/matrix.ts";
import { parseMatrix } from "../../../src/fleet/matrix/parse-matrix.ts";
import type { CellSources } from "../../../src/fleet/plan/plan-cells.ts";
import { remember } from "../../../src/io/collections.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { parseImageReference } from "../../../src/oci/reference.ts";
import { signWithKey } from "../../../src/trust/sign/make-signer.ts";
import { a100, cpuHost, gpuHost, levelV3 } from "../../resolve/support/hosts.ts";
import { cellSources } from "../../support/cell-sources.ts";
import { matrixText } from "../../support/matrices.ts";

/** Loopback: no TLS. Nothing listens there. */
export const repository = parseImageReference("127.0.0.1:5000/team/app");

export interface Release {
  readonly version: string;
  /** False: two inputs of one cell have one tag. */
  readonly hasInputs: boolean;
}

const releases = new Map<string, Matrix>();

export function matrixOf({ version, hasInputs }: Release): Matrix {
  const tag = hasInputs ? "{{version}}-{{cell}}-{{inputs}}" : "{{version}}-{{cell}}";
  const axes = `axes:\n  cuda: [none, { toolkit: "12.8.1", base: "nvidia/cuda:12.8.1-base-ubuntu22.04" }]\n  compute: ["8.0"]\n  march: [x86-64-v2, x86-64-v3]`;
  const text = `version: "${version}"\nregistry: 127.0.0.1:5000/team\ntag: "${tag}"\nmeasure: false\n${axes}\nchannels:\n  latest: "*"\n  cpu: cuda=none`;
  return remember(releases, tag + version, () => parseMatrix(matrixText(text), "matrix.yaml"));
}

export const cellsOf = (matrix: Matrix) => expandMatrix(matrix);

/** `content`: of the context of each cell. Equal contents are equal inputs. */
export function sourcesOf(
  matrix: Matrix,
  content: (cell: string) => string,
): ReadonlyMap<string, CellSources> {
  const base = digestOf("a base");
  const cells = cellsOf(matrix);
  return new Map(
    cells.flatMap(({ cell }) => {
      const bases = [{ ref: "debian:12", used: "debian:12", digest: base }];
      return [...cellSources(cells, { bases, context: digestOf(content(cell.id)) })].filter(
        ([id]) => id === cell.id,
      );
    }),
  );
}

/** The same in every run, and its signatures too (RFC 6979): a seed decides each byte. */
const secret = createHash("sha256").update("the key of a world").digest();
const point = Buffer.from(p256.getPublicKey(secret, false));
const coordinates = {
  x: point.subarray(1, 33).toString("base64url"),
  y: point.subarray(33).toString("base64url"),
};
export const publicPem = createPublicKey({ key: { kty: "EC", crv: "P-256", ...coordinates }, format: "jwk" })
  .export({ type: "spki", format: "pem" })
  .toString();
const signatures = new Map<string, Buffer>();
export const signer = signWithKey({
  name: "world.key",
  publicKey: publicPem,
  sign: async (message) =>
    remember(signatures, digestOf(message), () =>
      Buffer.from(p256.sign(message, secret, { format: "der", lowS: false })),
    ),
});
// The first signature loads libraries, and what they ask of the world is no part of a run.
await signer.signStatement({});
await signer.signPayload(Buffer.from("{}"));

const oldCpu = {
  vendor: "GenuineIntel",
  model: "old",
  features: ["cx16", "lahf_lm", "pni", "popcnt", "sse4_1", "sse4_2", "ssse3"],
  level: "x86-64-v2" as const,
};
export const hosts: readonly [HostFacts, ...HostFacts[]] = [
  gpuHost([a100], "570.124.06", "12.8"),
  cpuHost(),
  cpuHost({ cpu: { ...oldCpu, features: [...oldCpu.features].sort() } }),
  gpuHost([a100], "570.124.06", "12.8", {
    cpu: { ...oldCpu, features: [...oldCpu.features, ...levelV3.slice(0, 2)].sort() },
  }),
];
