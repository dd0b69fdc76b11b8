import { describe, expect, it } from "vitest";
import { createRewriting } from "../../../src/fleet/engines/source-date-epoch.ts";
import { ImgmatchError } from "../../../src/errors.ts";

const refusal = new ImgmatchError({
  code: "BUILD_FAILED",
  message: 'one: step exporting to image failed: exporter option "rewrite-timestamp" conflicts with "unpack"',
});

describe("rewrite-timestamp", () => {
  it("is left out for good once an engine has refused it", async () => {
    const rewriting = createRewriting(true);
    const asked: boolean[] = [];
    const log: string[] = [];
    const build = async (rewrite: boolean) => {
      asked.push(rewrite);
      if (rewrite) throw refusal;
      return "image";
    };
    for (const _ of [1, 2]) expect(await rewriting((line) => log.push(line), build)).toBe("image");
    expect(asked).toEqual([true, false, false]);
    expect(log).toHaveLength(1);
  });

  it("is not to blame for anything else", async () => {
    const failure = new ImgmatchError({ code: "BUILD_FAILED", message: "one: step RUN make failed" });
    const building = createRewriting(true)(
      () => {},
      () => Promise.reject(failure),
    );
    await expect(building).rejects.toBe(failure);
  });

  it("is not asked for where nobody wants it", async () => {
    expect(
      await createRewriting(false)(
        () => {},
        async (rewrite) => rewrite,
      ),
    ).toBe(false);
  });
});
