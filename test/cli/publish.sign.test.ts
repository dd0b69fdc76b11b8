/** The flags about signing refuse wrong use before anything is built or asked. */

import { expect, it } from "vitest";
import { runInProcess } from "../support/run-cli.ts";

it.each([
  ["no key and no identity", ["publish", "--sign"], "--sign has neither a key nor an identity"],
  ["a key without --sign", ["publish", "--sign-key", "cosign.key"], "--sign-key needs --sign"],
  [
    "an address without --sign",
    ["promote", "1", "2", "--rekor-url", "https://a"],
    "--rekor-url needs --sign",
  ],
  [
    "a key and a token",
    ["publish", "--sign", "--sign-key", "a", "--identity-token", "b"],
    "excludes --identity-token and --fulcio-url",
  ],
  [
    "an address that is none",
    ["publish", "--sign", "--sign-key", "a", "--rekor-url", "file:///a"],
    "is not an http address",
  ],
  [
    "a Fulcio alone",
    ["publish", "--sign", "--identity-token", "a", "--fulcio-url", "https://a"],
    "which prove when the certificate was used",
  ],
  ["a build without --push", ["build", "--sign", "--sign-key", "a"], "--sign needs --push"],
])("%s is USAGE", async (_, args, message) => {
  const { exit, err, out } = await runInProcess(args);
  expect(err).toContain(message);
  expect({ exit, out }).toEqual({ exit: 2, out: "" });
});
