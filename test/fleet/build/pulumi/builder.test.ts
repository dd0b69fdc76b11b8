import { expect, it } from "vitest";
import { createPulumiBuilder } from "../../../../src/pulumi/builder.ts";
import { noCredentials } from "../../../../src/oci/registry/credentials.ts";

it.each(["", "a b", "org/dev", "../x", "-x", "ü", "a".repeat(101)])(
  "uses no other stack than the one that is named: %j",
  async (stack) => {
    const engine = createPulumiBuilder({ env: {}, credentials: noCredentials, stack });
    await expect(engine).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("--stack"),
    });
  },
);
