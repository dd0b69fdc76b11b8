import { expect, it } from "vitest";
import { rememberedRoot } from "../../src/trust/find-trust.ts";

it("a root is asked for once an hour, and the one of before stays where a newer one cannot be had; a clock that is set back changes nothing", async () => {
  let [asked, clock, isAway] = [0, 0, true];
  const root = rememberedRoot(
    async () => {
      asked++;
      if (isAway) throw new Error("away");
      return `root ${asked}`;
    },
    () => clock,
  );
  await expect(root()).rejects.toThrow("away");
  isAway = false;
  expect(await Promise.all([root(), root()])).toEqual(["root 2", "root 2"]);
  expect(await root()).toBe("root 2");
  clock += 61 * 60_000;
  expect(await root()).toBe("root 3");
  clock += 61 * 60_000;
  isAway = true;
  expect([await root(), await root()]).toEqual(["root 3", "root 3"]);
  expect(asked).toBe(4);
  clock -= 24 * 60 * 60_000;
  isAway = false;
  expect(await root()).toBe("root 5");
});
