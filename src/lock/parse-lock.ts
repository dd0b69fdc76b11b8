/** Text → lock. No schema library: `resolve` waits for this. */

import { formatPlace, ImgmatchError, throwProblems } from "../errors.ts";
import {
  anyText,
  type Check,
  ifPresent,
  list,
  oneOf,
  orNull,
  record,
  requireChecked,
  schemaVersion,
  shape,
  someText,
  text,
  truth,
  wholeNumber,
} from "../io/checks.ts";
import { fieldsOf, placeOfLine, readJson } from "../io/json.ts";
import { doubledKeys } from "../io/json-keys.ts";
import { inputLimits, registryLimits, requireSize } from "../io/limits.ts";
import { type Digest, isDigest } from "../oci/digest.ts";
import { isMediaType } from "../oci/media-types.ts";
import { isRepository, isTag } from "../oci/reference.ts";
import {
  isDay,
  type Lock,
  type LockedAdoption,
  type LockedAttestation,
  type LockedBase,
  type LockedBaseConfig,
  type LockedStart,
  type LockedChannel,
  type LockedImage,
  type LockedInputs,
  type LockedLocal,
  type LockedManifest,
  localEngines,
  lockSchemaVersion,
  rebuildWord,
  signatureForms,
} from "./lock.ts";
import { oneSide } from "./merge-locks.ts";
import { mostNames, requirement } from "./parse-requirement.ts";
import { type Measured, measuredRules } from "./requirement.ts";

/** Throws `INPUT_TOO_LARGE`, `LOCK_SYNTAX`, `LOCK_VERSION` or `LOCK_SCHEMA` with every mistake. */
export function parseLock(text: string, file: string): Lock {
  requireSize(text, inputLimits.lock, { file });
  const data = parseText(text, file);
  const { schemaVersion } = fieldsOf(data);
  if (typeof schemaVersion === "number" && schemaVersion !== lockSchemaVersion) {
    throw new ImgmatchError({
      code: "LOCK_VERSION",
      message: `the lock has schemaVersion ${schemaVersion}, this imgmatch reads ${lockSchemaVersion}`,
      fix: schemaVersion > lockSchemaVersion ? "update imgmatch" : rebuild,
      at: { file },
    });
  }
  const fix = `restore the lock ${cure}`;
  return requireChecked(data, lock, "the lock", { code: "LOCK_SCHEMA", fix, at: { file } });
}

const rebuild = "delete it and build again: what is published is adopted";
const cure = `from version control, or ${rebuild}`;

export const digest = text({ test: isDigest }, "a digest") as Check<Digest>;

const measuredNow = shape<Measured>({
  rules: wholeNumber,
  cpu: shape({
    // As Linux names them.
    unused: list(text(/^[a-z0-9_]{1,64}$/, "a feature"), mostNames),
    own: ifPresent(oneOf("baseline")),
  }),
  cuda: orNull(
    shape({
      code: list(text(/^(?:sm|compute)_\d{2,4}[af]?(?:@\d{1,2}\.\d)?$/, "a GPU target"), mostNames),
      minimum: orNull(text(/^\d{1,9}(?:\.\d{1,9}){1,3}$/, "a driver version")),
    }),
  ),
  rocm: ifPresent(
    shape({
      code: list(
        text(
          /^(?:gfx[0-9a-f-]{2,8}(?:-generic)?(?::(?:sramecc|xnack)[+-]){0,2}|amdgcnspirv)$/,
          "a GPU target",
        ),
        mostNames,
      ),
    }),
  ),
});

/** A measurement by other rules is not used, so only its number is checked. */
const measured: Check<Measured> = (value, report) => {
  const { rules } = fieldsOf(value);
  return Number.isSafeInteger(rules) && rules !== measuredRules
    ? (value as Measured)
    : measuredNow(value, report);
};

/** The fields by which an image is chosen: a fleet's index has them too. */
export const choosingFields = {
  axes: record(someText, mostNames),
  platform: text(/^[a-z0-9]+\/[a-z0-9]+(\/[a-z0-9]+)?$/, "a platform"),
  tag: text({ test: isTag }, "a tag"),
  inputDigest: digest,
  requires: requirement,
  measured: ifPresent(measured),
  adopted: ifPresent(shape<LockedAdoption>({ cpu: oneOf("estimated", "stated") })),
  deprecated: ifPresent(text({ test: isDay }, "a day")),
  guard: ifPresent(truth),
};

const bases = list(
  shape<LockedBase>({
    ref: someText,
    digest,
    local: ifPresent(oneOf(...localEngines)),
    config: ifPresent(
      shape<LockedBaseConfig>({
        onbuild: truth,
        env: list(someText),
        start: ifPresent(
          shape<LockedStart>({
            entrypoint: list(anyText),
            cmd: list(anyText),
            shell: ifPresent(list(anyText)),
            hasShell: truth,
          }),
        ),
      }),
    ),
  }),
  mostNames,
);

// A part of the one line that resolve prints.
const repository = text({ test: isRepository }, "a repository");

const image = shape<LockedImage>({
  ...choosingFields,
  repository: ifPresent(repository),
  digest: orNull(digest),
  local: ifPresent(shape<LockedLocal>({ engine: oneOf(...localEngines), id: digest })),
  manifest: ifPresent(
    shape<LockedManifest>({ mediaType: text({ test: isMediaType }, "a media type"), size: wholeNumber }),
  ),
  attested: ifPresent(shape<LockedAttestation>({ matrix: digest, revision: ifPresent(someText) })),
  signed: ifPresent(list(oneOf(...signatureForms), signatureForms.length)),
  bases,
  nextBases: ifPresent(bases),
  inputs: ifPresent(
    shape<LockedInputs>({
      dockerfile: digest,
      context: digest,
      args: record(anyText),
      target: orNull(someText),
      builder: someText,
      rebuild: ifPresent(text(rebuildWord, "a word")),
    }),
  ),
  builder: someText,
  created: orNull(text(/^\d{4}-\d\d-\d\dT/, "a time")),
  size: orNull(wholeNumber),
  blobs: ifPresent(record(wholeNumber)),
  code: ifPresent(record(record(wholeNumber, mostNames), mostNames)),
  buildSeconds: ifPresent(wholeNumber),
});

/** Unknown members stay, so that an older imgmatch writes them back. */
const lock = shape<Lock>({
  schemaVersion: schemaVersion(lockSchemaVersion),
  name: someText,
  version: someText,
  repository,
  prefer: ifPresent(list(anyText)),
  plainPull: ifPresent(oneOf("least")),
  images: record(image, registryLimits.indexEntries),
  variants: ifPresent(list(text({ test: isTag }, "a tag"))),
  channels: ifPresent(
    record(
      shape<LockedChannel>({
        digest,
        version: someText,
        from: orNull(digest),
        movedBy: someText,
        at: text(/^\d{4}-\d\d-\d\dT/, "a time"),
      }),
    ),
  ),
});

function parseText(text: string, file: string): unknown {
  const json = readJson(text);
  const code = "LOCK_SYNTAX";
  if (json.ok) {
    const problems = doubledKeys(text, json).map(
      ({ path, first, again }) =>
        ({
          code,
          message: `${path} stands twice, first at ${formatPlace({ file, ...first })}`,
          fix: oneSide,
          at: { file, ...again },
        }) as const,
    );
    throwProblems(problems);
    return json.value;
  }
  const conflict = text.split("\n").findIndex((line) => /^(<{7}|={7}|>{7})( |$)/.test(line));
  if (conflict >= 0) {
    throw new ImgmatchError({
      code,
      message: "the lock holds the conflict markers of a merge",
      fix: oneSide,
      at: { file, ...placeOfLine(text, conflict + 1) },
    });
  }
  const isEmpty = text.trim() === "";
  throw new ImgmatchError({
    code,
    message: `the lock is ${isEmpty ? "empty" : json.fault}`,
    fix: `restore it ${cure}`,
    at: { file, ...(isEmpty ? {} : json.place) },
  });
}
