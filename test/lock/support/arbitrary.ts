/** Any lock that imgmatch could write. */

import type { Digest } from "../../../src/oci/digest.ts";
import fc from "fast-check";
import { type DriverRequirement, type Measured, onPaths } from "../../../src/lock/requirement.ts";
import type { Lock, LockedImage } from "../../../src/lock/lock.ts";

const digest = fc
  .array(fc.constantFrom(..."0123456789abcdef"), { minLength: 64, maxLength: 64 })
  .map((digits): Digest => `sha256:${digits.join("")}`);
const text = fc.string({ minLength: 1, maxLength: 12 });
const dotted = fc.constantFrom("525.60.13", "396.44", "580.65.06");
const created = fc
  .date({ min: new Date("2000-01-01"), max: new Date("2099-12-31"), noInvalidDate: true })
  .map((date) => date.toISOString());

const driver: fc.Arbitrary<DriverRequirement> = fc.oneof(
  fc.record({ mode: fc.constant("host" as const), minimum: dotted }),
  fc.record({ mode: fc.constant("bundled" as const), version: dotted }),
  fc.record(
    {
      mode: fc.constant("compat" as const),
      package: dotted,
      cuda: fc.constant("12.8"),
      branches: fc.array(fc.constantFrom("535", "550")),
      onPath: fc.constantFrom(...onPaths),
    },
    { requiredKeys: ["mode", "package", "cuda", "branches"] },
  ),
);

const cuda = fc.record(
  { toolkit: dotted, code: fc.array(fc.constantFrom("sm_80", "compute_80")), driver, require: text },
  { requiredKeys: ["toolkit", "code", "driver"] },
);

const measured: fc.Arbitrary<Measured> = fc.record({
  rules: fc.constant(1),
  cpu: fc.record({ unused: fc.array(fc.stringMatching(/^[a-z0-9_]{1,16}$/)) }),
  cuda: fc.option(
    fc.record({ code: fc.array(fc.constantFrom("sm_90a", "compute_100f")), minimum: fc.option(dotted) }),
  ),
});

const code = fc.dictionary(
  text,
  fc.dictionary(fc.stringMatching(/^[a-z0-9_+:]{1,20}$/), fc.nat(), { noNullPrototype: true }),
  {
    noNullPrototype: true,
  },
);
const blobs = fc.dictionary(fc.stringMatching(/^[0-9a-f]{16}$/), fc.nat(), { noNullPrototype: true });

const declaredImage: fc.Arbitrary<LockedImage> = fc.record({
  axes: fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), text),
  platform: fc.constantFrom("linux/amd64", "linux/arm64"),
  tag: fc.stringMatching(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,20}$/),
  inputDigest: digest,
  digest: fc.option(digest),
  requires: fc.record(
    {
      cpu: fc.record({ march: text, features: fc.array(text) }),
      cuda: fc.option(cuda),
      kernel: fc.constant("3.2.0"),
    },
    { requiredKeys: ["cpu", "cuda"] },
  ),
  bases: fc.array(fc.record({ ref: text, digest })),
  builder: text,
  created: fc.option(created),
  size: fc.option(fc.nat()),
});

export const lockedImage: fc.Arbitrary<LockedImage> = fc
  .tuple(declaredImage, fc.record({ measured, blobs, code, buildSeconds: fc.nat() }, { requiredKeys: [] }))
  .map(([image, known]) => ({ ...image, ...known }));

export const lock: fc.Arbitrary<Lock> = fc.record({
  schemaVersion: fc.constant(2 as const),
  name: text,
  version: text,
  repository: fc.constant("registry.example.com/team/app"),
  images: fc.dictionary(fc.stringMatching(/^[A-Za-z0-9._-]{1,16}$/), lockedImage, { noNullPrototype: true }),
});
