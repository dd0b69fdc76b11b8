/** The signing flags of the commands that publish. */

import { choice } from "./options.ts";
import type { Command } from "commander";

export function withSigning(command: Command): Command {
  return command
    .optionsGroup("Signing:")
    .option("--sign", "Sign the index and every image, as cosign does")
    .option(
      "--sign-key <key>",
      "Sign with this private key: a file, env://NAME, awskms://…, pkcs11:… (default: the CI's OIDC token)",
    )
    .addOption(
      choice(
        command,
        "--sign-format <format>",
        "Store signatures as cosign 3 does (bundle), as cosign 1 and 2 do (tag), or both",
        ["bundle", "tag", "both"],
        "both",
      ),
    )
    .option("--identity-token <file>", "Sign with this OIDC token (default: SIGSTORE_ID_TOKEN, or the CI's)")
    .option("--fulcio-url <url>", "Use this certificate authority (default: that of the public sigstore)")
    .option(
      "--rekor-url <url>",
      "Use this transparency log (default: that of the public sigstore for a token, none for a key)",
    )
    .option("--timestamp-url <url>", "Use this timestamp authority of RFC 3161 (default: none)")
    .option(
      "--sign-root <file>",
      "Check signatures that exist against this trusted_root.json, for a sigstore of your own",
    );
}
