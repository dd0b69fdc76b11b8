/** Fixes that name flags of the command line, in the words of a program. Pure. */

import { ImgmatchError, type Problem } from "../errors.ts";

const flags: readonly (readonly [RegExp, string])[] = [
  [/--replace-base OLD=NEW/g, '`replaceBases: { OLD: "NEW" }` of the ImageFleet'],
  [/^write --only (\S+)$/g, 'write `only: ["$1"]`'],
  [/--(matrix|lock|only)\b/g, "`$1` of the ImageFleet"],
  [/\brun imgmatch build --push to make one\b/g, "leave `lock` away"],
];

/** The same problems with next steps for who has written a program. */
export function inProgramWords(error: unknown): unknown {
  if (!(error instanceof ImgmatchError)) return error;
  const [first, ...rest] = error.problems;
  return new ImgmatchError([inWords(first), ...rest.map(inWords)], { cause: error });
}

function inWords(problem: Problem): Problem {
  const told = (text: string) => flags.reduce((now, [flag, words]) => now.replace(flag, words), text);
  const { fix, message } = problem;
  return { ...problem, message: told(message), ...(fix === undefined ? {} : { fix: told(fix) }) };
}

/** The same problem of a host that the program itself gives a login for: `docker login` would change nothing. */
export function aboutLogin(problem: Problem): Problem {
  if (!problem.fix?.includes("docker login")) return problem;
  const fix =
    "correct the login in `registry` of the ImageFleet, or its rights; check that the repository exists";
  return { ...problem, fix };
}
