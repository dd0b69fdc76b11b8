import { join } from "node:path";
import { expect, it } from "vitest";
import { findWritableByOthers } from "../../src/io/writable-by-others.ts";
import { makeFolder } from "../support/folders.ts";

it("takes a path of which the system tells nothing for no safe one", () => {
  const folder = makeFolder({});
  expect(() => findWritableByOthers([join(folder, "a".repeat(300))])).toThrowError(
    expect.objectContaining({ code: "FILE_UNREADABLE" }),
  );
  expect(findWritableByOthers([join(folder, "absent"), folder])).toBeNull();
});
