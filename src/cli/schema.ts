/** `imgmatch schema`: print the JSON Schema of matrix.yaml, for editors. */

import type { CommandContext, Define } from "./command.ts";
import { withJson } from "./flags/options.ts";

export const schema: Define = (command, run) =>
  withJson(command).description("Print the JSON Schema of matrix.yaml").action(run(schemaCommand));

async function schemaCommand(_flags: object, context: CommandContext): Promise<void> {
  const { matrixJsonSchema } = await import("../fleet/matrix/json-schema.ts");
  context.out(`${JSON.stringify(matrixJsonSchema(), null, 2)}\n`);
}
