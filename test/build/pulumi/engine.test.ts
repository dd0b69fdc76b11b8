import { expect, it } from "vitest";
import { createPulumiEngine } from "../../../src/build/engines/pulumi/engine.ts";
import { noCredentials } from "../../../src/registry/credentials.ts";

it.each(["", "a b", "org/dev", "../x", "-x", "ü", "a".repeat(101)])(
  "uses no other stack than the one that is named: %j",
  async (stack) => {
    const engine = createPulumiEngine({ env: {}, credentials: noCredentials, stack });
    await expect(engine).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("--stack"),
    });
  },
);
