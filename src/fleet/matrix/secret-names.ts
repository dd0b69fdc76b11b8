/** Finds secrets in a matrix: its texts end in an image's history or labels, where everybody who can pull the image reads them. */

import type { Place, Problem } from "../../errors.ts";
import { fieldsOf } from "../../io/json.ts";
import { textsIn } from "./unsafe-text.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

const secretName =
  /(^|_)(TOKEN|PASSWORD|PASSWD|PASSPHRASE|SECRET|CREDENTIALS?|APIKEY|ACCESSKEY|PRIVATEKEY|KEY|PAT)$/i;

/** Keys that are no secret: of an archive's signature, of a cache, of a sort. */
const publicName = /(^|_)(PUBLIC|PUB|GPG|PGP|APT|RPM|SIGNING|CACHE|SORT|PRIMARY|FOREIGN|HOST)_KEY$/i;

// Source: each service's documentation of its token format.
const secretValues: readonly (readonly [RegExp, string])[] = [
  [/\bgh[pousr]_[A-Za-z0-9]{36,}/, "a GitHub token"],
  [/\bgithub_pat_[A-Za-z0-9_]{22,}/, "a GitHub token"],
  [/\bglpat-[A-Za-z0-9_-]{20,}/, "a GitLab token"],
  [/\bnpm_[A-Za-z0-9]{36}/, "an npm token"],
  [/\bpypi-[A-Za-z0-9_-]{40,}/, "a PyPI token"],
  [/\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}/, "a Docker token"],
  [/\bhf_[A-Za-z0-9]{30,}/, "a Hugging Face token"],
  [/\bnvapi-[A-Za-z0-9_-]{40,}/, "an NVIDIA API key"],
  [/\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/, "an AWS access key"],
  [/\bAIza[A-Za-z0-9_-]{35}/, "a Google API key"],
  [/\bya29\.[A-Za-z0-9_-]{20,}/, "a Google token"],
  [/\bxox[abeoprs]-[A-Za-z0-9-]{10,}/, "a Slack token"],
  [/\bsk-[A-Za-z0-9_-]{20,}/, "an API key"],
  [
    /(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{0,200}eyJ[A-Za-z0-9_-]{10,4096}\.eyJ[A-Za-z0-9_-]{10,}\./,
    "a signed token (JWT)",
  ],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----/, "a private key"],
  // The bound on the scheme keeps the time linear: without it a long word is read again from each of its letters.
  [/\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s/:@]*:[^\s/@]+@/i, "a URL with a password"],
];

/**
 * The kind of secret that a build argument looks like; null for none, and for an empty value.
 *
 * @param notSecret names that the matrix declares to be no secrets; a value of a secret's form is one under every name
 */
export function secretIn(name: string, value: string, notSecret: readonly string[] = []): string | null {
  if (value === "") return null;
  const isNamed = secretName.test(name) && !publicName.test(name) && !notSecret.includes(name);
  return secretForm(value) ?? (isNamed ? "a secret by its name" : null);
}

/** The name, where nothing but the name tells of a secret; else empty. */
export function nameOfSecret(name: string, value: string): string {
  return secretForm(value) === null ? name : "";
}

const placeholder =
  /(^|[^a-z])(dummy|placeholder|change[-_]?me|insecure|fake|not[-_]?a?[-_]?secret|unused|none|build[-_]?time)($|[^a-z])/i;

/** True for a placeholder under the name of a secret: `SECRET_KEY=build-time-dummy`. */
export function isPlaceholder(name: string, value: string): boolean {
  return placeholder.test(value) && secretIn(name, value) !== null && secretForm(value) === null;
}

/** The kind of secret that a text looks like, whatever its name; null for none. */
export function secretForm(text: string): string | null {
  return secretValues.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

/** A secret in `docker history`. @param remove the beginning of the fix. @param name where the name alone tells of a secret */
export function secretInHistory(what: string, { remove = "", name = "" } = {}): Problem {
  return {
    code: "MATRIX_SECRET",
    message: `${what}; everybody with the image can read it with docker history`,
    fix: `${remove}give the text as a build secret to the step that needs it: RUN --mount=type=secret,id=… with build --secret id=…,env=…${name === "" ? "" : `; if it is no secret, add notSecret: [${name}] to the matrix`}`,
  };
}

/**
 * Reports labels, `source` and values of axes that have a secret's form. No message shows the value, as other people read the logs that
 * reports end in.
 */
export function formProblems({ data, placeOf }: Pick<YamlSource, "placeOf" | "data">): Problem[] {
  return [...textsIn(data)].flatMap(({ text, path, isKey }): Problem[] => {
    const what = isKey || path.at(-2) === "args" || path.at(-3) === "args" ? null : secretForm(text);
    if (what === null) return [];
    const { text: _, ...at } = placeOf(path);
    return [
      {
        code: "MATRIX_SECRET",
        message: `${path.map(String).join(".")} holds ${what}; everybody with the image or access to the registry can read it`,
        fix: "remove it: give a build its secrets with build --secret, and log in with docker login",
        at,
      },
    ];
  });
}

/** Reports arguments that look like secrets. @param path of the mapping that has the arguments as `args` */
export function argumentProblems(
  args: Readonly<Record<string, string>> | undefined,
  { data, placeOfKey }: Pick<YamlSource, "placeOfKey" | "data">,
  path: YamlPath,
): Problem[] {
  return Object.entries(args ?? {}).flatMap(([name, value]) =>
    secretProblem([name], value, {
      what: `the build argument ${name}`,
      at: placeOfKey([...path, "args", name]),
      data,
    }),
  );
}

/**
 * `MATRIX_SECRET` for a text under one of these names.
 *
 * @param data of the matrix, with its `notSecret`
 */
export function secretProblem(
  names: readonly string[],
  text: string,
  {
    what,
    at: { text: _, ...at },
    data,
  }: { readonly what: string; readonly at: Place; readonly data: unknown },
): Problem[] {
  const { notSecret } = fieldsOf(data);
  const declared = Array.isArray(notSecret) ? notSecret.map(String) : [];
  const found = names.flatMap((name) => {
    const kind = secretIn(name, text, declared);
    return kind === null ? [] : [{ name, kind }];
  });
  const [first] = found;
  if (first === undefined) return [];
  const told = { remove: "remove it, and ", name: nameOfSecret(first.name, text) };
  return [{ ...secretInHistory(`${what} is ${first.kind}`, told), at }];
}
