/** The text of the matrix that `init --from` writes for a definition of builds. */

import { Document, isMap, isScalar, isSeq, visit } from "yaml";
import type { DerivedMatrix } from "./settle-columns.ts";

export interface TextOptions {
  readonly name: string;
  readonly registry: string;
  /** The definition's file. */
  readonly from: string;
}

/** Width of a line that holds a value whole. */
const width = 140;

export function definitionText(matrix: DerivedMatrix, { name, registry, from }: TextOptions): string {
  const { template, context, target, args = {}, axes, values, exclude } = matrix;
  const given = {
    name,
    version: "0.1.0",
    registry,
    ...{ template, context, target },
    ...(Object.keys(args).length > 0 && { args }),
    axes,
    ...(Object.keys(values).length > 0 && { values }),
    ...(exclude.length > 0 && { exclude }),
  };
  const entries = Object.entries(given).filter(([, value]) => value !== undefined);
  const document = new Document(Object.fromEntries(entries));
  document.commentBefore = ` yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json\n From ${from}, by imgmatch init.`;
  visit(document, (_, node, path) => {
    // Values, cases and rules are a line each where they fit.
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
