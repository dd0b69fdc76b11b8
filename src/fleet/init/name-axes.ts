/** Names the axes of a derived matrix and their values. Pure. */

import { posix } from "node:path";
import type { DockerfileOf } from "./build-hardware.ts";
import { type Column, type Factor, factorOf } from "./columns.ts";
import type { OriginalBuild } from "./original-build.ts";
import { type Axis, axisNameFor, freeName } from "./settle-columns.ts";

/** The axis of a column whose name and texts are the field's own. */
export function hardwareAxis(column: Column): Axis {
  const factor = factorOf([column]);
  return { name: column.name, factor, labels: labelsOf(factor, column.cells), column: column.name };
}

function labelsOf({ classes, size }: Factor, texts: Column["cells"]): readonly string[] {
  return Array.from({ length: size }, (_, number) => texts[classes.indexOf(number)] ?? "");
}

/** The axis of columns that vary together. One of the columns gives the axis its name, and the labels too if the column tells all values apart. */
export function freeAxis(
  factor: Factor,
  builds: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
  before: readonly Axis[],
): Axis {
  const shortest = [...factor.columns].sort((one, other) => one.name.length - other.name.length);
  const find = (pattern: RegExp) => shortest.find(({ name }) => pattern.test(name));
  const column =
    find(/^template$/) ?? find(/^target$/) ?? find(/^arg:.*_VERSION$/i) ?? find(/^arg:/) ?? factor.columns[0];
  const argument = column?.name.startsWith("arg:") ? column.name.slice(4) : null;
  const wanted =
    { template: "backend", target: "flavor" }[column?.name ?? ""] ?? axisNameFor(argument ?? "variant");
  const used = before.map((axis) => axis.name);
  const name = freeName(wanted, used);
  const plain = (column?.cells ?? []).map((text, row) => {
    if (column?.name === "template") return shortName(text ?? "");
    const standard =
      argument === null ? null : dockerfileOf(builds[row]?.dockerfile ?? "").defaults.get(argument);
    return text || standard || "default";
  });
  const labels = labelsOf(factor, plain);
  if (new Set(labels).size === factor.size) return { name, factor, labels, column: column?.name ?? null };
  // Labels of one column are not unique: add the texts of the others.
  const whole = labelsOf(
    factor,
    plain.map((text, row) =>
      [text, ...factor.columns.filter((each) => each !== column).map(({ cells }) => cells[row])]
        .filter(Boolean)
        .join("-"),
    ),
  ).map((text) => text.replace(/[^\w.-]+/g, "-").slice(0, 40));
  const numbered = whole.map((text, index) =>
    whole.indexOf(text) === index ? text : `${text}-${index + 1}`,
  );
  return { name, factor, labels: numbered, column: null };
}

/** `.devops/cuda.Dockerfile` and `docker/Dockerfile.cuda`: cuda. */
function shortName(path: string): string {
  const file = posix.basename(path);
  const named = file
    .replace(/^(Dockerfile|Containerfile)[._-]?/i, "")
    .replace(/[._-]?(Dockerfile|Containerfile)$/i, "");
  if (named !== "") return named;
  const folder = posix.basename(posix.dirname(path));
  return folder === "." || folder === "" ? "main" : folder;
}
