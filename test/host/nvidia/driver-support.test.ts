/** Cures for cards that no loaded driver drives: none of them loses another card. */

import { describe, expect, it } from "vitest";
import { supportProblem, whyNotLoaded } from "../../../src/host/nvidia/driver-support.ts";
import { gpu } from "../../resolve/support/hosts.ts";

const card = (index: number, compute: string) => gpu({ index, compute, name: `card ${compute}`, bus: null });

describe("no loaded driver", () => {
  it.each([
    ["a card that every new branch drives", ["8.0"], null, undefined],
    ["Pascal", ["6.1"], null, "install a driver of branch 580"],
    ["Pascal beside libraries of 590", ["6.1"], "590.48.01", "install a driver of branch 580"],
    ["Pascal beside libraries that drive it", ["6.1"], "580.95.05", undefined],
    ["Pascal and Blackwell", ["6.1", "12.0"], null, "install a driver of branch 580"],
  ])("%s", (_, computes, installed, fix) => {
    const cards = computes.map((compute, index) => card(index, compute));
    expect(whyNotLoaded(cards, installed)?.fix).toBe(fix);
  });

  it.each([null, "580.95.05"])(
    "Kepler and Blackwell have no branch together (libraries: %s)",
    (installed) => {
      const cards = [card(0, "3.7"), card(1, "12.0")];
      expect(whyNotLoaded(cards, installed)?.fix).toMatch(
        /^no branch of the driver drives this GPU and GPU 1 \(card 12\.0\) together: move one GPU to another machine/,
      );
    },
  );
});

describe("a loaded driver", () => {
  it("of the wrong flavor is replaced, unless that loses another card", () => {
    const open = { driver: "580.95.05", module: "open" } as const;
    expect(supportProblem(card(1, "6.1"), open)?.fix).toBe("install the proprietary flavor of the driver");
    expect(supportProblem(card(1, "6.1"), open, [card(0, "12.0")])?.fix).toMatch(
      /^no flavor of the driver drives this GPU and GPU 0 \(card 12\.0\) together/,
    );
  });
});
