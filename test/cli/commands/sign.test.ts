/** What the flags about signing refuse, before anything is built or asked. */

import { expect, it } from "vitest";
import { runInProcess } from "../../support/run-cli.ts";

it.each([
  ["nobody to sign as", ["publish", "--sign"], "--sign has nobody to sign as"],
  ["a key without --sign", ["publish", "--sign-key", "cosign.key"], "--sign-key is about signing"],
  [
    "an address without --sign",
    ["promote", "1", "2", "--rekor-url", "https://a"],
    "--rekor-url is about signing",
  ],
  [
    "a key and a token",
    ["publish", "--sign", "--sign-key", "a", "--identity-token", "b"],
    "needs neither token nor Fulcio",
  ],
  [
    "an address that is none",
    ["publish", "--sign", "--sign-key", "a", "--rekor-url", "file:///a"],
    "is no address of http",
  ],
  [
    "a Fulcio alone",
    ["publish", "--sign", "--identity-token", "a", "--fulcio-url", "https://a"],
    "nobody could tell later",
  ],
  ["a build without --push", ["build", "--sign", "--sign-key", "a"], "without --push nothing is there"],
])("%s is USAGE", async (_, args, message) => {
  const { exit, err, out } = await runInProcess(args);
  expect(err).toContain(message);
  expect({ exit, out }).toEqual({ exit: 2, out: "" });
});
