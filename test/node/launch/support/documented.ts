/** Checks what a target writes against the fields and options that its program documents. */

import { ImgmatchError } from "../../../../src/errors.ts";
import type { Json, LaunchCommand, LaunchRequest, LaunchTarget } from "../../../../src/node/launch/target.ts";
import { everything, gpuModes } from "./requests.ts";

/** A field's type; an object's fields by name, `*` for any; a list of one shape, or a tuple. */
export type Shape =
  | "text"
  | "number"
  | "whole"
  | "yes or no"
  | { readonly [field: string]: Shape }
  | readonly Shape[];

/** The places that the shape does not know, as `a.b[0].c: …`; none when the value is well formed. */
export function problemsOf(value: Json, shape: Shape, place = ""): readonly string[] {
  if (typeof shape === "string") {
    const fits =
      shape === "text"
        ? typeof value === "string"
        : shape === "yes or no"
          ? typeof value === "boolean"
          : typeof value === "number" && (shape === "number" || Number.isInteger(value));
    return fits ? [] : [`${place}: ${JSON.stringify(value)} is no ${shape}`];
  }
  if (isList(shape)) {
    if (!Array.isArray(value)) return [`${place}: no list`];
    const list: readonly Json[] = value;
    if (shape.length > 1 && list.length !== shape.length) return [`${place}: not ${shape.length} long`];
    return list.flatMap((each, index) =>
      problemsOf(each, shape[shape.length > 1 ? index : 0] ?? "text", `${place}[${index}]`),
    );
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [`${place}: no object`];
  return Object.entries(value).flatMap(([name, each]) => {
    const known = Object.hasOwn(shape, name) ? shape[name] : shape["*"];
    return known === undefined
      ? [`${place}.${name}: no such field`]
      : problemsOf(each, known, `${place}.${name}`);
  });
}

function isList(shape: Exclude<Shape, string>): shape is readonly Shape[] {
  return Array.isArray(shape);
}

/** Options by name: true for one that takes a value. */
export type Options = Readonly<Record<string, boolean>>;

/** The options before the first word that is none, with their values, and the words from there on. Throws on an unknown one. */
export function readOptions(words: readonly string[], options: Options) {
  const found: { readonly name: string; readonly value: string | null }[] = [];
  let at = 0;
  for (; at < words.length; at++) {
    const word = words[at] ?? "";
    if (!word.startsWith("-")) break;
    if (word === "--") return { found, rest: words.slice(at + 1) };
    const equals = word.indexOf("=");
    const name = equals < 0 ? word : word.slice(0, equals);
    if (!Object.hasOwn(options, name)) throw new Error(`there is no option ${name}`);
    const takesValue = options[name] === true;
    if (!takesValue && equals >= 0 && !/=(true|false)$/.test(word)) throw new Error(`${name} takes no value`);
    if (takesValue && equals < 0) at++;
    found.push({
      name,
      value: takesValue ? (equals < 0 ? (words[at] ?? null) : word.slice(equals + 1)) : null,
    });
  }
  return { found, rest: words.slice(at) };
}

export interface Written {
  readonly title: string;
  readonly request: LaunchRequest;
  readonly documents: readonly Json[];
  readonly command: LaunchCommand | null;
}

/** The text that a target writes for every kind of request, without those that it refuses. */
export function everyLaunch(
  target: LaunchTarget,
  settings: readonly Readonly<Record<string, string>>[] = [{}],
  node: LaunchRequest["node"] = { key: "image.cv-tf", value: "1.12.0-v3" },
): readonly Written[] {
  const wishes = {
    plain: { args: [] },
    full: everything,
    "with its program": { ...everything, program: "/usr/bin/train" },
  } as const satisfies Record<string, Partial<LaunchRequest>>;
  return (["batch", "service"] as const).flatMap((task) =>
    Object.entries(gpuModes).flatMap(([mode, image]) =>
      Object.entries(wishes).flatMap(([wish, more]) =>
        settings.flatMap((each) =>
          [node, null].flatMap((where): readonly Written[] => {
            const request: LaunchRequest = { ...image, ...more, task, settings: each, node: where };
            const title = `${task}, ${mode}, ${wish}`;
            try {
              const output = target.launch(request, target.formats[0]);
              return output.form === "command"
                ? [{ title, request, documents: [], command: output.command }]
                : [{ title, request, documents: output.documents, command: null }];
            } catch (error) {
              if (error instanceof ImgmatchError) return [];
              throw error;
            }
          }),
        ),
      ),
    ),
  );
}

/** The sentence with which a target refuses; null when it writes something. */
export function refusal(target: LaunchTarget, request: LaunchRequest): string | null {
  try {
    target.launch(request, target.formats[0]);
    return null;
  } catch (error) {
    if (error instanceof ImgmatchError) return error.message;
    throw error;
  }
}
