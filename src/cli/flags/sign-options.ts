/** The flags of what publishes, about who signs it and how. */

import type { Command } from "commander";

export function withSigning(command: Command): Command {
  return command
    .option("--sign", "sign the index and every image, as cosign does")
    .option(
      "--sign-key <key>",
      "a private key: a file, env://NAME, or what cosign takes: awskms://…, pkcs11:…; without it the CI's OIDC token signs",
    )
    .addOption(
      command
        .createOption("--sign-format <format>", "bundle: as cosign 3 does; tag: as cosign 1 and 2")
        .choices(["bundle", "tag", "both"])
        .default("both"),
    )
    .option("--identity-token <file>", "an OIDC token to sign with (default: SIGSTORE_ID_TOKEN, or the CI's)")
    .option("--fulcio-url <url>", "the certificate authority (default: the public sigstore's)")
    .option(
      "--rekor-url <url>",
      "the transparency log (default: the public sigstore's for a token, none for a key)",
    )
    .option("--timestamp-url <url>", "a timestamp authority of RFC 3161 (default: none)")
    .option(
      "--sign-root <file>",
      "trusted_root.json of a sigstore of your own, to know what is signed already",
    );
}
