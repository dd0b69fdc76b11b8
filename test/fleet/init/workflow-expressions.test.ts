import { expect, it } from "vitest";
import { textWith } from "../../../src/fleet/init/workflow-expressions.ts";

const nothing = { matrix: {}, env: {}, inputs: null };

it("formats and joins as GitHub does", () => {
  const text = "${{ format('{0}-{1}', 'a', 'b') }} ${{ join(fromJSON('[1,2]'), 'x') }}";
  expect(textWith(text, nothing)).toBe("a-b 1x2");
});

it("knows no text that calls in calls would make longer than a variable can be", () => {
  const ten = (argument: string) => `format('${"{0}".repeat(10)}', ${argument})`;
  const before = process.memoryUsage().rss;
  const billions = Array.from({ length: 9 }).reduce<string>(ten, "'0123456789'");
  expect(billions.length).toBeLessThan(1000);
  expect(textWith(`\${{ ${billions} }}`, nothing)).toBeUndefined();
  const joined = `join(fromJSON('[${Array.from({ length: 500 }, () => 0)}]'), ${ten(ten(ten("'0123456789'")))})`;
  expect(textWith(`\${{ ${joined} }}`, nothing)).toBeUndefined();
  expect(process.memoryUsage().rss - before).toBeLessThan(100 * 2 ** 20);
});
