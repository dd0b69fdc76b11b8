/** Writes the matrix of a definition. Pure. */

import { Document, isMap, isScalar, isSeq, visit } from "yaml";
import { count } from "../../io/table.ts";
import type { ComparedBuild } from "./compare-builds.ts";
import type { DerivedMatrix } from "./settle-columns.ts";

interface TextOptions {
  /** The files of the definition. */
  readonly files: readonly string[];
  readonly name: string;
  readonly registry: string;
  readonly notSecret: readonly string[];
  /** Argument → the variable that has its text in a run. */
  readonly environment: ReadonlyMap<string, string>;
}

/** The longest value that is written on one line. */
const width = 140;

export function definitionText(
  derived: DerivedMatrix,
  { files, name, registry, notSecret, environment }: TextOptions,
): string {
  const matrix = withVariables(derived, environment);
  const { template, context, contexts, target, runner, args = {}, axes, values, exclude } = matrix;
  const given = {
    name,
    version: "0.1.0",
    registry,
    ...{ template, context, contexts, target, runner },
    ...(Object.keys(args).length > 0 && { args }),
    ...(notSecret.length > 0 && { notSecret }),
    axes,
    ...(Object.keys(values).length > 0 && { values }),
    ...(exclude.length > 0 && { exclude }),
  };
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const document = new Document(Object.fromEntries(entries));
  document.commentBefore = ` yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json\n From ${files.join(", ")}, by imgmatch init.`;
  visit(document, (_, node, path) => {
    // Each value, case and rule gets one line if it fits.
    if ((isMap(node) || isSeq(node)) && path.length > 4 && JSON.stringify(node).length < width)
      node.flow = true;
    // Versions are text: to YAML, 12.10 is a number.
    if (
      isScalar(node) &&
      typeof node.value === "string" &&
      path.at(-1) !== undefined &&
      !/^[A-Za-z./][\w./:-]*$/.test(node.value)
    )
      node.type = "QUOTE_DOUBLE";
  });
  return document.toString({ lineWidth: 0, flowCollectionPadding: true });
}

/** With `{ env: …, default: … }` for each argument whose text a run has in a variable: the text that it has here is the default. */
function withVariables<Value>(value: Value, environment: ReadonlyMap<string, string>): Value {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => withVariables(each, environment)) as Value;
  const entries = Object.entries(value).map(([key, each]) => {
    if (key !== "args") return [key, withVariables(each, environment)];
    const args = Object.entries(each as Readonly<Record<string, string>>).map(([name, text]) => {
      const variable = environment.get(name);
      return [name, variable === undefined ? text : { env: variable, default: text }];
    });
    return [key, Object.fromEntries(args)];
  });
  return Object.fromEntries(entries) as Value;
}

/** The most builds that the file itself names. */
const mostNamed = 20;

/** The matrix, with the builds that it does not have yet in a comment. */
export function marked(yaml: string, builds: readonly ComparedBuild[]): string {
  const unlike = builds.filter(({ equal }) => !equal);
  if (unlike.length === 0) return yaml;
  const named = unlike.slice(0, mostNamed).map(({ name }) => `#   ${name.replace(/[\s\p{Cc}]+/gu, " ")}`);
  const more = unlike.length > mostNamed ? [`#   and ${unlike.length - mostNamed} more`] : [];
  const head = `# Unfinished: ${count(unlike.length, "build")} of the definition ${unlike.length === 1 ? "is" : "are"} no cell yet:`;
  return `${[head, ...named, ...more].join("\n")}\n${yaml}`;
}
