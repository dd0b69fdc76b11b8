/** Every mark by which `inspect` knows a format, found in the source: texts, bytes, and numbers of four bytes. */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../../src/inspect/", import.meta.url));

export const foundHeads: ReadonlyMap<string, Buffer> = new Map(
  readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts"))
    .sort()
    .flatMap((file) => headsIn(readFileSync(root + file, "utf8")))
    .map((head) => [head.toString("hex"), head]),
);

export function headsIn(source: string): readonly Buffer[] {
  const texts = [...source.matchAll(/Buffer\.from\("([^"]+)"\)/g)].map(([, text = ""]) => Buffer.from(text));
  const bytes = [...source.matchAll(/Buffer\.of\(([x\da-f, ]+)\)/g)].map(([, list = ""]) =>
    Buffer.from(list.split(",").map(Number)),
  );
  const numbers = [...source.matchAll(/0x([\da-f]{8})\b/g)].flatMap(([, digits = ""]) => {
    const big = Buffer.from(digits, "hex");
    return [big, Buffer.from(big).reverse()];
  });
  return [...texts, ...bytes, ...numbers];
}
