/** Build arguments that are given beside the matrix: `--build-arg` goes before `args:`, as with docker. */

import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import type { Argument, Matrix } from "./matrix.ts";
import { secretIn, secretInHistory } from "./secret-names.ts";
import { unsafeIn } from "./unsafe-text.ts";

export type GivenArguments = Readonly<Record<string, string>>;

export interface WithArguments {
  /** With the given ones among its arguments: templates as they are, and inputs of every cell. */
  readonly matrix: Matrix;
  /** Arguments of a build that are no input: the way to the network says nothing about an image. */
  readonly passed: GivenArguments;
}

/** Arguments that BuildKit keeps out of history and cache too (docs.docker.com/reference/dockerfile, "Predefined ARGs"). */
const proxy = /^((HTTPS?|FTP|NO|ALL)_PROXY|(https?|ftp|no|all)_proxy)$/;

/**
 * The matrix with these in place of those of the same name. Throws with everything that is wrong: `USAGE` for a name that no `ARG` can
 * have or that imgmatch itself gives a value; `MATRIX_SECRET`, `MATRIX_VALUE_UNSAFE` as for the matrix's. Shows no value of a secret.
 */
export function withArguments(matrix: Matrix, given: GivenArguments): WithArguments {
  const entries = Object.entries(given);
  throwProblems(entries.flatMap(([name, value]) => problemsOf(name, value)));
  const isPassed = ([name]: readonly [string, string]) =>
    proxy.test(name) && !Object.hasOwn(matrix.args, name);
  const own = entries.filter((entry) => !isPassed(entry));
  const located = own.map(([name, value]): [string, Argument] => [
    name,
    { value, at: placeOf(name), given: true },
  ]);
  return {
    matrix:
      own.length === 0 ? matrix : { ...matrix, args: { ...matrix.args, ...Object.fromEntries(located) } },
    passed: Object.fromEntries(entries.filter(isPassed)),
  };
}

function placeOf(name: string) {
  return { file: `--build-arg ${name}` };
}

function problemsOf(name: string, value: string): Problem[] {
  if (!/^[A-Za-z_]\w*$/.test(name)) return [badName(name, "is no name of an ARG", "write NAME=VALUE")];
  if (/^IMGMATCH_/i.test(name))
    return [badName(name, "is given its value by imgmatch itself", "choose another name")];
  const secret = secretIn(name, value);
  if (secret !== null)
    return [{ ...secretInHistory(`the build argument ${name} is ${secret}`), at: placeOf(name) }];
  const unsafe = unsafeIn(value);
  if (unsafe === null) return [];
  return [
    {
      code: "MATRIX_VALUE_UNSAFE",
      message: `its value contains ${JSON.stringify(unsafe)}, which can break out of a Dockerfile instruction`,
      fix: "remove it, and write this text into the Dockerfile or a file of the build context",
      at: placeOf(name),
    },
  ];
}

function badName(name: string, what: string, fix: string): Problem {
  return { code: "USAGE", message: `--build-arg ${JSON.stringify(name)} ${what}`, fix };
}

/**
 * The values of `--build-arg`: `NAME=VALUE`, or `NAME` for what the environment has under it, which is nothing where it has none. The last
 * of one name counts. Throws `USAGE` for one without a name.
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
