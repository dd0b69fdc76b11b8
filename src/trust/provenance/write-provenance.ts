/** The provenance that imgmatch writes for engines that write none: SLSA provenance v1 in a statement of in-toto. */

import { parseImageReference } from "../../oci/reference.ts";
import { sortedEntries } from "../../oci/text-order.ts";
import type { BuildOrigin, BuildRecord } from "./build-record.ts";
import { imagePurl, repositoryOf } from "./image-purl.ts";
import {
  buildType,
  dependencyNames,
  provenanceTypes,
  statementVersion,
  unnamedBuilder,
} from "./predicate.ts";

/** An in-toto statement: what is signed, and what is attached. */
export interface ProvenanceStatement {
  readonly _type: typeof statementVersion;
  readonly subject: readonly [{ readonly name: string; readonly digest: { readonly sha256: string } }];
  readonly predicateType: typeof provenanceTypes.v1;
  readonly predicate: Readonly<Record<string, unknown>>;
}

interface Dependency {
  readonly name?: string;
  readonly uri?: string;
  readonly digest: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** Says nothing that is not in the record: what is unknown there is left out. The same record gives the same text. */
export function writeProvenance(record: BuildRecord): ProvenanceStatement {
  const { repository, digest, fleet, cell, axes, platform, engine, origin, started, finished } = record;
  return {
    _type: statementVersion,
    subject: [{ name: repositoryOf(parseImageReference(repository)), digest: { sha256: hexOf(digest) } }],
    predicateType: provenanceTypes.v1,
    predicate: {
      buildDefinition: {
        buildType,
        externalParameters: {
          fleet: fleet.name,
          version: fleet.version,
          matrix: fleet.matrix,
          cell,
          axes: Object.fromEntries(sortedEntries(axes)),
          platform,
          ...parametersOf(record),
        },
        internalParameters: { engine },
        resolvedDependencies: dependenciesOf(record),
      },
      runDetails: {
        builder: {
          id: origin.builder ?? unnamedBuilder,
          ...(origin.program === null ? {} : { version: { imgmatch: origin.program } }),
        },
        metadata: {
          ...(origin.invocation === null ? {} : { invocationId: origin.invocation }),
          startedOn: started.toISOString(),
          finishedOn: finished.toISOString(),
        },
      },
    },
  };
}

function parametersOf({ inputs }: BuildRecord): Readonly<Record<string, unknown>> {
  if (inputs === null) return {};
  const { args, target, rebuild } = inputs;
  return {
    args: Object.fromEntries(sortedEntries(args)),
    ...(target === null ? {} : { target }),
    ...(rebuild === undefined ? {} : { rebuild }),
  };
}

function dependenciesOf({
  bases,
  inputs,
  inputDigest,
  platform,
  origin,
}: BuildRecord): readonly Dependency[] {
  return [
    ...bases.map(({ ref, digest, local }): Dependency => {
      const sha256 = { sha256: hexOf(digest) };
      // An engine's id of an image: no registry knows it.
      if (local !== undefined) return { name: ref, digest: sha256, annotations: { local } };
      return { name: ref, uri: imagePurl(ref, digest, platform), digest: sha256 };
    }),
    ...sourceOf(origin),
    { name: dependencyNames.inputs, digest: { sha256: hexOf(inputDigest) } },
    ...(inputs === null
      ? []
      : [
          { name: dependencyNames.dockerfile, digest: { sha256: hexOf(inputs.dockerfile) } },
          { name: dependencyNames.context, digest: { sha256: hexOf(inputs.context) } },
        ]),
  ];
}

/** The commit, and where it is from. A revision that is no commit of git is no digest of anything. */
function sourceOf({ revision, remote, modified }: BuildOrigin): readonly Dependency[] {
  if (!isCommit(revision)) return [];
  return [
    {
      ...(remote === null ? {} : { uri: `git+${remote}@${revision}` }),
      digest: { gitCommit: revision },
      ...(modified === null ? {} : { annotations: { modified } }),
    },
  ];
}

/** SHA-1 or SHA-256, as git writes it. */
export function isCommit(revision: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(revision);
}

function hexOf(digest: string): string {
  return digest.slice("sha256:".length);
}
