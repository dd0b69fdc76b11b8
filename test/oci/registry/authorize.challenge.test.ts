import { expect, test } from "vitest";
import { parseChallenge } from "../../../src/oci/registry/authorize.ts";

const bearer = { scheme: "bearer", realm: "https://auth.example/token", service: null, scope: null };

test.each([
  [
    'Bearer realm="https://auth.example/token",service="registry.example",scope="repository:a/b:pull,push"',
    { ...bearer, service: "registry.example", scope: "repository:a/b:pull,push" },
  ],
  ["bearer Realm=https://auth.example/token", bearer],
  ['Bearer realm = "https://auth.example/token" , service = "a \\"b\\""', { ...bearer, service: 'a "b"' }],
  ['Basic realm="x", Bearer realm="https://auth.example/token"', bearer],
  ['Basic realm="Bearer realm=x"', { scheme: "basic" }],
  ["Basic", { scheme: "basic" }],
  ["Negotiate, Basic", { scheme: "basic" }],
  ["Negotiate", null],
  ['Bearer scope="x"', null],
  ["", null],
  [undefined, null],
])("%s", (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});
