/** The shape of `matrix.yaml` for editors. Its types name no schema library, which users of imgmatch do not have. */

import { z } from "zod";
import { matrixSchema } from "./matrix-schema.ts";

/** JSON Schema (draft 2020-12) of `matrix.yaml`, for editors. Numbers are allowed where YAML would read one: imgmatch takes their text. */
export function matrixJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(matrixSchema, {
    override: ({ jsonSchema }) => {
      // Editors resolve `version: 1.12` to a number; imgmatch reads its source text, so both are right.
      if (
        jsonSchema.type === "string" &&
        jsonSchema.pattern === undefined &&
        jsonSchema.enum === undefined &&
        jsonSchema.const === undefined
      ) {
        Object.assign(jsonSchema, { type: ["string", "number"] });
      }
      // And `true` to a boolean.
      const words = jsonSchema.enum ?? [];
      const isMissing = (truth: boolean) => words.includes(String(truth)) && !words.includes(truth);
      const truths = [true, false].filter(isMissing);
      if (truths.length > 0)
        Object.assign(jsonSchema, { type: ["string", "boolean"], enum: [...words, ...truths] });
    },
  });
  return { $id: "https://imgmatch.dev/schema/matrix.json", title: "imgmatch matrix", ...schema };
}
