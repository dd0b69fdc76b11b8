/** Groups what is wrong with cells by its cause, so that nobody reads the same words once for each cell. */

import { groupBy } from "../../io/collections.ts";
import { count, firstOf } from "../../io/table.ts";

export type Alike<Item> = readonly [Item, ...Item[]];

/** `63 cells: a, b, c …`; the name alone of one. */
export function cellsOf(alike: Alike<{ readonly cell: string }>): string {
  const names = alike.map(({ cell }) => cell);
  return alike.length === 1 ? alike[0].cell : `${count(alike.length, "cell")}: ${firstOf(names, 3)}`;
}

/**
 * Items whose words differ in names, values of axes, digests, references and numbers alone: the same step of many cells, tags that hold other
 * inputs. What is said by `apart` keeps items apart whose cures differ.
 */
export function byCause<Item extends { readonly cell: string }>(
  items: readonly Item[],
  wordsOf: (item: Item) => string,
  apart: (item: Item) => string = () => "",
): readonly Alike<Item>[] {
  const groups = groupBy(
    items,
    (item) => `${causeOf(withoutNames(item.cell, wordsOf(item)))} ${apart(item)}`,
  );
  return [...groups.values()].flatMap(([first, ...others]) =>
    first === undefined ? [] : [[first, ...others]],
  );
}

/** Steps have the values of a cell in their words: `-march=haswell`. */
function withoutNames(cell: string, words: string): string {
  const values = [cell, ...cell.split("_").filter((each) => /^[a-z]/.test(each) && each.length > 3)];
  return values.reduce((text, value) => text.replaceAll(value, "…"), words);
}

function causeOf(words: string): string {
  return words.replace(/\S+\/\S+:\S+|\bsha256:[0-9a-f]+/g, "…").replace(/\d+(?:\.\d+)*/g, "#");
}
