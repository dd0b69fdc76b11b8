/** Docker's credential helpers: `docker-credential-NAME get`, the server on standard input (docker/docker-credential-helpers). */

import { ImgmatchError } from "../../errors.ts";
import { errnoMessage, isErrno } from "../../io/files.ts";
import { runProgram } from "../../io/run-program.ts";
import { isRecord, parseJson, text } from "../../io/json.ts";
import type { Credential } from "./credential.ts";

export interface HelperOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The configuration that names the helper, for messages. */
  readonly path: string;
  readonly timeoutMs?: number;
}

// A helper may have to ask a cloud's metadata service, but never a person.
const helperTimeoutMs = 30_000;

/** null when the helper says that it has no login for this server. Throws `REGISTRY_AUTH` for anything else but a login. */
export async function askCredentialHelper(
  name: string,
  server: string,
  options: HelperOptions,
): Promise<Credential | null> {
  const program = `docker-credential-${name}`;
  const failed = (what: string, cause?: unknown): ImgmatchError =>
    new ImgmatchError(
      {
        code: "REGISTRY_AUTH",
        message: `${program}, asked for the login of ${server}, ${what}`,
        fix: `install or repair ${program}, or take it out of ${options.path}`,
      },
      { cause },
    );
  // The name becomes part of a program's name and must not lead to another folder.
  if (!/^[\w.-]+$/.test(name)) throw failed("has no valid name");

  const { env, timeoutMs = helperTimeoutMs } = options;
  // Its standard error goes nowhere: helpers print warnings there that are none of the caller's business.
  const bounds = { timeoutMs, dropErrors: true };
  const ended = await runProgram(program, ["get"], { env, input: `${server}\n`, ...bounds }).catch(
    (error) => {
      throw failed(isErrno(error, "ENOENT") ? "is not installed" : errnoMessage(error), error);
    },
  );
  const { status, stdout: output, timedOut } = ended;
  if (timedOut) throw failed(`gave no answer in ${timeoutMs} ms`);
  if (status !== 0) {
    // The helpers' library prints exactly this (errors.go, errCredentialsNotFoundMessage); the exit status is 1 for every failure.
    if (output.includes("credentials not found")) return null;
    // What it wrote is not quoted: it can hold the secret that was asked for.
    throw failed(`failed with status ${status}`);
  }
  const json = parseJson(output);
  const username = isRecord(json) ? text(json.Username) : null;
  const secret = isRecord(json) ? text(json.Secret) : null;
  if (username === null || secret === null) throw failed("answered something else than a login");
  if (secret === "") return null;
  return username === "<token>"
    ? { kind: "identity", token: secret }
    : { kind: "password", username, password: secret };
}
