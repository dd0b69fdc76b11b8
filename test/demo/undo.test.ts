import { expect, it } from "vitest";
import { createUndo } from "../../demo/undo.ts";

it("takes back the last first, once, and goes on after a failure", async () => {
  const order: string[] = [];
  const undo = createUndo();
  undo.add("first", () => void order.push("first"));
  undo.add("second", async () => {
    order.push("second");
    throw new Error("it is stuck");
  });
  undo.add("third", () => void order.push("third"));
  expect(await undo.all()).toEqual(["second: it is stuck"]);
  expect(order).toEqual(["third", "second", "first"]);
  expect(await undo.all()).toEqual([]);
});
