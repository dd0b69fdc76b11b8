/** The bytes of an image's code in the report of `imgmatch inspect`: the largest first. */

import type { CodeBytes, ImageBytes, PackageBytes } from "../inspect/code-bytes.ts";
import { compareText, sum } from "../io/collections.ts";
import { sizeText } from "../io/size-text.ts";
import { codeText } from "../lock/packed-targets.ts";
import { count } from "../io/table.ts";

type Rows = readonly (readonly string[])[];

const mostTargets = 12;
const mostPackages = 8;
/** An environment of so many packages is worth a table without GPU code, too. */
const manyPackages = 5;

/** Empty where there is neither GPU code nor many packages. */
export function bytesSections(bytes: ImageBytes, allFiles: boolean): readonly [title: string, rows: Rows][] {
  const named = bytes.packages.filter(({ name }) => name !== "");
  const hasGpu = Object.keys(bytes.gpu).length > 0;
  if (!hasGpu && named.length < manyPackages) return [];
  const kinds = Object.entries({ ...bytes.gpu, ...bytes.cpu })
    .sort(([a, one], [b, other]) => other - one || compareText(a, b))
    .map(([name, size]) => [codeText(name), sizeText(size), shareText(size, bytes)]);
  const rows = named.map((each) => [nameText(each), sizeText(each.bytes), gpuText(each)]);
  return [
    [
      `Bytes of its code: ${sizeText(bytes.bytes)} in ${count(bytes.files, "file")}`,
      firstRows(kinds, mostTargets, allFiles),
    ],
    ...(rows.length < 2
      ? []
      : [["By package", firstRows(rows, mostPackages, allFiles)] satisfies [string, Rows]]),
  ];
}

function shareText(size: number, { bytes }: CodeBytes): string {
  return bytes === 0 ? "" : `${((100 * size) / bytes).toFixed(1)} %`;
}

function nameText({ name, version }: PackageBytes): string {
  return version === null ? name : `${name} ${version}`;
}

function gpuText({ gpu }: CodeBytes): string {
  const size = sum(Object.values(gpu));
  return size === 0 ? "" : `${sizeText(size)} for GPUs`;
}

function firstRows(rows: Rows, most: number, all: boolean): Rows {
  if (all || rows.length <= most) return rows;
  return [...rows.slice(0, most), [`and ${rows.length - most} more (--files shows all)`]];
}
