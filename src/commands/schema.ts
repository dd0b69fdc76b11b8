/** `imgmatch schema`: the JSON Schema of matrix.yaml, for editors. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { matrixJsonSchema } from "../matrix/json-schema.ts";
import type { CommandContext } from "./context.ts";

export async function schema(_flags: object, context: CommandContext): Promise<ExitCode> {
  context.out(`${JSON.stringify(matrixJsonSchema(), null, 2)}\n`);
  return exitCodes.ok;
}
