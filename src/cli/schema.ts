/** `imgmatch schema`: the JSON Schema of matrix.yaml, for editors. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { matrixJsonSchema } from "../fleet/matrix/json-schema.ts";
import type { CommandContext } from "./command-context.ts";

export async function schema(_flags: object, context: CommandContext): Promise<ExitCode> {
  context.out(`${JSON.stringify(matrixJsonSchema(), null, 2)}\n`);
  return exitCodes.ok;
}
