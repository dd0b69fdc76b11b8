/** Writes the JSON Schema of `matrix.yaml`. Apart from the zod schema, whose types users of the library cannot load. */

import { z } from "zod";
import { matrixSchema } from "./matrix-schema.ts";

/** JSON Schema (draft 2020-12) of `matrix.yaml`, for editors. It allows numbers and booleans where imgmatch takes their text. */
export function matrixJsonSchema(): Record<string, unknown> {
  const schema = z.toJSONSchema(matrixSchema, {
    override: ({ jsonSchema }) => {
      // Editors read `version: 1.12` as a number, imgmatch as text.
      if (
        jsonSchema.type === "string" &&
        jsonSchema.pattern === undefined &&
        jsonSchema.enum === undefined &&
        jsonSchema.const === undefined
      ) {
        Object.assign(jsonSchema, { type: ["string", "number"] });
      }
      // Editors read `true` as a boolean.
      const words = jsonSchema.enum ?? [];
      const isMissing = (truth: boolean) => words.includes(String(truth)) && !words.includes(truth);
      const truths = [true, false].filter(isMissing);
      if (truths.length > 0)
        Object.assign(jsonSchema, { type: ["string", "boolean"], enum: [...words, ...truths] });
    },
  });
  return { $id: "https://imgmatch.dev/schema/matrix.json", title: "imgmatch matrix", ...schema };
}
