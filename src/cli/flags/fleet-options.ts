/** Groups of flags that several commands about a fleet have, and how their values are read. */

import { lockPath } from "../../lock/lock.ts";
import type { Command } from "commander";
import type { EngineName } from "../../fleet/engines/engine-traits.ts";
import { choice, many, positive, withJson, withRegistries } from "./options.ts";

/** As docker's: `plain` has the steps' output, and where nothing is said a terminal has what fits, and a log one line for each cell. */
const progressNames = ["auto", "plain", "tty", "quiet"] as const;
export type ProgressName = (typeof progressNames)[number];

// Named here and not read from the table: help waits for no engine.
const engineNames = ["docker", "buildx", "podman"] as const satisfies readonly EngineName[];

/** Adds the flags of a matrix, its lock and a choice of its cells. */
export function withFleet(command: Command): Command {
  return withMatrix(command).option(...lockOption);
}

export const lockOption = [
  "--lock <file>",
  `Use this lock (default: ${lockPath} beside the matrix)`,
] as const;

/** Without the lock. */
export function withMatrix(command: Command): Command {
  return withOnly(
    withJson(command)
      .option("--matrix <file>", "Read this matrix", "matrix.yaml")
      .option("--registry <host/path>", "Publish there instead of at the matrix's registry")
      .option(
        "--build-arg <name=value>",
        "Set a build argument over the matrix's args:; NAME alone takes it from the environment; never a secret",
        ...many,
      ),
  );
}

export function withOnly(command: Command): Command {
  return command.option("--only <cells>", "Take only these cells: axis=value,… or a cell's id", ...many);
}

/** Several fleets of one repository. */
export function withWorkspace(command: Command): Command {
  return command
    .optionsGroup("Several fleets:")
    .option(
      "--workspace [file]",
      "Do this for all fleets that a workspace names (default: imgmatch.workspace.yaml)",
    )
    .option(
      "--fleet <folder>",
      "Do this for this fleet of the workspace; * stands for any characters",
      ...many,
    );
}

export function withEngineName(command: Command): Command {
  return command
    .optionsGroup("Engine:")
    .addOption(choice(command, "--engine <name>", "Build with this engine", engineNames, "docker"))
    .option(
      "--builder <name>",
      "With --engine buildx: use this builder of docker buildx ls, local or remote",
    );
}

/** Adds the flags of the engine and of its builds. */
export function withEngine(command: Command): Command {
  return withEngineName(command)
    .option("--cache-from <ref>", "Take build cache from there; {cell} stands for the cell's id", ...many)
    .option("--cache-to <ref>", "Put build cache there, or inline; {cell} stands for the cell's id", ...many)
    .option("--secret <secret>", secretOption, ...many)
    .option("--ssh <agent>", sshOption, ...many)
    .option(
      "--network <name>",
      "Run the steps in this network: default, none or host; podman: any network that it has",
    );
}

export const secretOption =
  "Give a secret to the steps that mount it: id=NAME,env=VARIABLE or id=NAME,src=FILE";
export const sshOption = "Give an SSH agent to the steps that mount it: default, ID=SOCKET or ID=KEY";

/** Adds `--no-cache`, which plans unchanged cells again. */
export function withRebuild(command: Command): Command {
  command
    .optionsGroup("Options:")
    .option(
      "--no-cache [word]",
      "Build unchanged cells again, without build cache; with a word, such as 2026-W47, once for each word",
    );
  // Without the flag Commander would say true, also to the commands below, for which --cache names a folder.
  return command.setOptionValue("cache", undefined);
}

/** For what plans: with the engine that is to be asked. */
export function withLocalBases(command: Command): Command {
  return command
    .optionsGroup("Options:")
    .option("--local-bases", "Take base images that no registry has from the engine");
}

/** Adds `--progress`, the display of running builds. */
export function withProgress(command: Command): Command {
  return command
    .optionsGroup("Options:")
    .addOption(
      choice(
        command,
        "--progress <type>",
        "Show steps on a terminal and one line for each cell in a log (auto), or all that steps print (plain)",
        progressNames,
        "auto",
      ),
    );
}

/** Adds the pace of builds. */
export function withPace(command: Command): Command {
  return command
    .optionsGroup("Options:")
    .option(
      "--concurrency <n>",
      "Build and push this many cells at once (default: one for each processor, up to 16)",
      positive("--concurrency 4"),
    )
    .option(
      "--max-failures <n>",
      "Begin no other cell after so many have failed",
      positive("--max-failures 3"),
    )
    .option(
      "--cell-timeout <minutes>",
      "End the build of a cell that takes longer, as where a step hangs",
      positive("--cell-timeout 60"),
    );
}

export function withBases(command: Command): Command {
  return withRegistries(
    command
      .optionsGroup("Registry:")
      .option("--offline", "Ask no registry for the digests of base images")
      .option("--replace-base <old=new>", "Build with another base image", ...many),
  );
}

/** For commands that publish. */
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
