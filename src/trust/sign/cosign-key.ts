/** Signs by the program `cosign`, with keys that stay in a key service, in hardware or in a cluster. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { fieldsOf, parseJson, text } from "../../io/json.ts";
import { findProgram, runProgram } from "../../io/run-program.ts";
import { withTemporaryFolder } from "../../io/temporary-folder.ts";
import type { Environment } from "../../io/world.ts";
import { type SigningKey, signingFailed } from "./signer.ts";

/** cosign's schemes beside files and variables (sigstore/cosign, pkg/signature/keys.go), and schemes that plug-ins of cosign may add. */
const schemes = /^(?:pkcs11:|(?!env:)[a-z][a-z0-9+.-]*:\/\/)/;
/** A key service may be far, and a person may have to touch a token. */
const longestMs = 120_000;
/** A signing configuration that names no service: nothing is uploaded. */
const noServices = '{"mediaType":"application/vnd.dev.sigstore.signingconfig.v0.2+json"}';

export function needsCosign(name: string): boolean {
  return schemes.test(name);
}

/** Throws `COSIGN_NOT_FOUND`, and `SIGNING_FAILED` with cosign's words. */
export async function openCosignKey(name: string, env: Environment): Promise<SigningKey> {
  const program = findProgram("cosign", env);
  if (program === null) throw notFound(name);
  const run = async (...args: string[]): Promise<string> => {
    const ended = await runProgram(program, args, { env, timeoutMs: longestMs, maxBytes: 1024 * 1024 });
    if (ended.status === 0) return ended.stdout;
    const said = ended.stderr.trim().split("\n").at(-1) ?? "";
    const why = ended.timedOut ? `no answer in ${longestMs / 1000} s` : said;
    throw signingFailed(
      `cosign ${args[0]} --key ${name}`,
      why,
      "run the same command by hand until it works",
    );
  };
  const version = text(fieldsOf(parseJson(await run("version", "--json"))).gitVersion) ?? "";
  const publicKey = await run("public-key", "--key", name);
  return {
    name,
    publicKey,
    sign: (message) => withTemporaryFolder((folder) => signIn(folder, message)),
  };

  async function signIn(folder: string, message: Uint8Array): Promise<Buffer> {
    const [file, answer, services] = ["message", "answer", "services.json"].map((each) =>
      join(folder, each),
    ) as [string, string, string];
    await writeFile(file, message);
    await writeFile(services, noServices);
    const isOld = /^v?[12]\./.test(version);
    const how = isOld
      ? ["--tlog-upload=false", "--output-signature", answer]
      : ["--signing-config", services, "--bundle", answer];
    await run("sign-blob", "--key", name, ...how, "--yes", file);
    if (isOld) return Buffer.from(await readFile(answer, "utf8"), "base64");
    const { messageSignature } = fieldsOf(parseJson(await readFile(answer)));
    return Buffer.from(text(fieldsOf(messageSignature).signature) ?? "", "base64");
  }
}

function notFound(name: string): ImgmatchError {
  return new ImgmatchError({
    code: "COSIGN_NOT_FOUND",
    message: `the key ${name} needs the program cosign, which is not in PATH`,
    fix: "install cosign 2 or 3, or name a key file with --sign-key",
  });
}
