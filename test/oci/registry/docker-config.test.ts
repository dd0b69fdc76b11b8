import { expect, test } from "vitest";
import { registryAuthHeader } from "../../../src/oci/registry/docker-config.ts";
import type { Credential } from "../../../src/oci/registry/credential.ts";

const header = (credential: Credential | null) => registryAuthHeader(credential)["X-Registry-Auth"] ?? "";

test.each<[Credential | null, Record<string, string>]>([
  [
    { kind: "password", username: "ann", password: "a:b" },
    { username: "ann", password: "a:b" },
  ],
  [{ kind: "identity", token: "t" }, { identitytoken: "t" }],
  [{ kind: "bearer", token: "t" }, { registrytoken: "t" }],
  [null, {}],
])("%j", (credential, config) => {
  expect(JSON.parse(Buffer.from(header(credential), "base64url").toString())).toEqual(config);
});

test("is base64url with padding", () => {
  const text = header({ kind: "password", username: "ÿÿ?>", password: "ÿ~~ÿ>" });
  expect(text).toMatch(/^[A-Za-z0-9_-]+=*$/);
  expect(text).toMatch(/[-_]/);
  expect(text.length % 4).toBe(0);
});
