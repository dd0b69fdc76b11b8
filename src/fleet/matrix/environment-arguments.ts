/** Gives the build arguments that a matrix takes from the environment their texts. Pure. */

import type { Problem } from "../../errors.ts";
import { isRecord } from "../../io/json.ts";
import type { Environment } from "../../io/world.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import type { MatrixInput, WrittenMatrix } from "./matrix-schema.ts";
import { secretProblem } from "./secret-names.ts";
import { unsafeArgument } from "./unsafe-text.ts";

/** `args: { NAME: { env: VARIABLE, default: … } }`, of the matrix and of any value: a variable that is empty, or not set, gives the default. */
export function withEnvironment(
  written: WrittenMatrix,
  env: Environment,
  source: YamlSource,
  problems: Problem[],
): MatrixInput {
  const argument = (name: string, value: unknown, path: YamlPath): unknown => {
    if (!isRecord(value) || typeof value.env !== "string") return settled(value, path);
    const { env: variable, default: standard } = value;
    const text = env[variable];
    if (text === undefined || text === "") return standard;
    const at = source.placeOfKey(path);
    const whose = `the environment's ${variable}, for the argument ${name}`;
    problems.push(
      ...secretProblem([name, variable], text, { what: whose, at, data: source.data }),
      ...unsafeArgument(text, whose, at),
    );
    return text;
  };
  const settled = (value: unknown, path: YamlPath): unknown => {
    if (Array.isArray(value)) return value.map((each, index) => settled(each, [...path, index]));
    if (!isRecord(value)) return value;
    const own =
      path.at(-1) === "args" ? argument : (_: string, each: unknown, at: YamlPath) => settled(each, at);
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, own(key, each, [...path, key])]),
    );
  };
  return settled(written, []) as MatrixInput;
}
