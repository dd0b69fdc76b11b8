/** Puts the build arguments of `--build-arg` before those of the matrix. */

import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import type { Argument, Matrix } from "./matrix.ts";
import { secretProblem } from "./secret-names.ts";
import { unsafeArgument } from "./unsafe-text.ts";

export type GivenArguments = Readonly<Record<string, string>>;

export interface WithArguments {
  /** The given arguments among its own: they are templates and inputs of every cell too. */
  readonly matrix: Matrix;
  /** Proxies: they are no input, as the way to the network makes no other image. */
  readonly passed: GivenArguments;
}

/** Arguments that BuildKit keeps out of history and cache too (docs.docker.com/reference/dockerfile, "Predefined ARGs"). */
const proxy = /^((HTTPS?|FTP|NO|ALL)_PROXY|(https?|ftp|no|all)_proxy)$/;

/**
 * A given argument replaces the matrix's of the same name. Throws every mistake at once: `USAGE` for a name that no `ARG` can have or that
 * imgmatch itself gives a value; `MATRIX_SECRET` and `MATRIX_VALUE_UNSAFE` as for the matrix's. No message shows the value of a secret.
 */
export function withArguments(matrix: Matrix, given: GivenArguments): WithArguments {
  const entries = Object.entries(given);
  throwProblems(entries.flatMap(([name, value]) => problemsOf(name, value, matrix)));
  const isPassed = ([name]: readonly [string, string]) =>
    proxy.test(name) && !Object.hasOwn(matrix.args, name);
  const args: Record<string, Argument> = { ...matrix.args };
  for (const entry of entries) {
    const [name, value] = entry;
    if (!isPassed(entry)) args[name] = { value, at: placeOf(name), given: true };
  }
  return { matrix: { ...matrix, args }, passed: Object.fromEntries(entries.filter(isPassed)) };
}

function placeOf(name: string) {
  return { file: `--build-arg ${name}` };
}

function problemsOf(name: string, value: string, matrix: Matrix): Problem[] {
  if (!/^[A-Za-z_]\w*$/.test(name)) return [badName(name, "is no name of an ARG", "write NAME=VALUE")];
  if (/^IMGMATCH_/i.test(name))
    return [badName(name, "is given its value by imgmatch itself", "choose another name")];
  const what = `the build argument ${name}`;
  const secrets = secretProblem([name], value, { what, at: placeOf(name), data: matrix });
  return secrets.length > 0 ? secrets : unsafeArgument(value, "its value", placeOf(name));
}

function badName(name: string, what: string, fix: string): Problem {
  return { code: "USAGE", message: `--build-arg ${JSON.stringify(name)} ${what}`, fix };
}

/**
 * Parses the values of `--build-arg`: `NAME=VALUE`, or `NAME` for the variable of the environment, which is left out where it is not set.
 * The last of one name counts. Throws `USAGE` for one without a name.
 */
export function parseBuildArguments(
  texts: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): GivenArguments {
  const pairs = texts.flatMap((text): (readonly [string, string])[] => {
    const at = text.indexOf("=");
    if (text === "" || at === 0)
      throw new ImgmatchError(badName(text, "has no name", "write --build-arg NAME=VALUE, or NAME"));
    if (at > 0) return [[text.slice(0, at), text.slice(at + 1)]];
    const value = env[text];
    return value === undefined ? [] : [[text, value]];
  });
  return Object.fromEntries(pairs);
}
