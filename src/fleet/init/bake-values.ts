/** Whose values bake gets: those of the definition in files of ours, and none of this machine. Pure. */

import type { Environment } from "../../io/world.ts";
import { sortSettings } from "./build-settings.ts";
import type { BakeTarget, BakeTargets } from "./print-bake.ts";

/** The variables that docker's command itself needs, in capitals, as Windows does not tell them apart. */
const ofDocker = new Set(
  `APPDATA COMSPEC DOCKER_CONFIG DOCKER_CONTEXT DOCKER_HOST HOME LOCALAPPDATA PATH PATHEXT PROGRAMDATA PROGRAMFILES SYSTEMROOT TEMP TMP TMPDIR
  USERPROFILE XDG_CONFIG_HOME XDG_RUNTIME_DIR`.split(/\s+/),
);

export interface BakeFile {
  readonly name: string;
  readonly text: string;
}

/** Others than HCL and JSON are compose files (docker/buildx, bake/compose.go, validateComposeFile). */
export function isCompose({ name }: BakeFile): boolean {
  return !/\.(hcl|json)$/i.test(name);
}

/** A run of bake that is shown some values of this machine. */
export interface Showing {
  readonly names: readonly string[];
  readonly env: Environment;
  /** True for the values of `.env` too. */
  readonly hasDotEnv: boolean;
}

interface MachineValues {
  /** The environment of the hidden run. Of this machine's values the run sees only the values that docker needs. */
  readonly hidden: Environment;
  /** Runs that see values of this machine. A build with such a value differs from the same build of the hidden run. */
  readonly showings: readonly Showing[];
}

/** So many variables are shown one by one, and the others at once. */
const mostAlone = 16;

/**
 * @param dotEnv names of variables in `.env`
 * @param given names that the definition sets: no value of this machine replaces the definition's
 */
export function machineValues(
  files: readonly BakeFile[],
  env: Environment,
  dotEnv: readonly string[],
  given: ReadonlySet<string>,
): MachineValues {
  const words = new Set(files.flatMap(({ text }) => text.match(/\w+/g) ?? []));
  // A compose file may take variables in files that it extends, and a text with escapes hides names.
  const isOpen = files.some(
    (file) =>
      (isCompose(file) && words.has("extends")) || (!/\.hcl$/i.test(file.name) && file.text.includes("\\")),
  );
  const isNamed = (name: string) => words.has(name) || words.has(name.replace(/_JSON$/, ""));
  const mayTake = (name: string) => isOpen || isNamed(name) || !/^\w+$/.test(name);
  const isOfDocker = (name: string) => ofDocker.has(name.toUpperCase());
  const all = Object.entries(env).filter(([, value]) => value !== undefined);
  const hidden = Object.fromEntries(all.filter(([name]) => isOfDocker(name) || !mayTake(name)));
  const taken = all.filter(([name]) => !isOfDocker(name) && mayTake(name) && !given.has(name));
  const alone = taken.filter(([name]) => isNamed(name)).slice(0, mostAlone);
  const others = taken.filter((each) => !alone.includes(each));
  const replaced = all.flatMap(([name]) => (isOfDocker(name) && words.has(name) ? [name] : []));
  const { HOME: home, DOCKER_CONFIG: config = home === undefined ? undefined : `${home}/.docker` } = hidden;
  const ofDotEnv = dotEnv.filter((name) => mayTake(name) && !given.has(name) && env[name] === undefined);
  const showings: readonly Showing[] = [
    ...alone.map(([name, value]) => ({ names: [name], env: { ...hidden, [name]: value }, hasDotEnv: false })),
    // What docker needs cannot be hidden: another value shows whether the files take it.
    ...replaced.map((name) => ({
      names: [name],
      env: { ...hidden, ...(config !== undefined && { DOCKER_CONFIG: config }), [name]: `/imgmatch/${name}` },
      hasDotEnv: false,
    })),
    ...(ofDotEnv.length === 0 ? [] : [{ names: ofDotEnv, env: hidden, hasDotEnv: true }]),
    ...(others.length === 0
      ? []
      : [
          {
            names: others.map(([name]) => name),
            env: { ...hidden, ...Object.fromEntries(others) },
            hasDotEnv: false,
          },
        ]),
  ];
  const together = { ...hidden, ...Object.fromEntries(taken) };
  return {
    hidden,
    showings:
      showings.length < 2
        ? showings
        : [
            ...showings,
            { names: [...taken.map(([name]) => name), ...ofDotEnv], env: together, hasDotEnv: true },
          ],
  };
}

/** Names in a message; others are counted. */
const mostNames = 3;

function notKnownOf(names: readonly string[]): string {
  const more = names.length > mostNames ? ` and ${names.length - mostNames} more` : "";
  return `not known: ${names.slice(0, mostNames).join(", ")}${more} of this machine`;
}

/**
 * The builds without values of this machine, and what each lacks therefore.
 *
 * @param shown the targets of each showing; null where bake refuses its values
 */
export function withoutMachine(
  hidden: BakeTargets,
  shown: readonly (Pick<Showing, "names"> & { readonly targets: BakeTargets | null })[],
): {
  readonly targets: BakeTargets;
  readonly left: ReadonlyMap<string, readonly string[]>;
  readonly notes: readonly string[];
} {
  const left = new Map<string, readonly string[]>();
  const targets = Object.entries(hidden).map(([name, target]): [string, BakeTarget] => {
    const found = new Map<string, string>();
    for (const { names, targets: other } of shown)
      for (const key of other === null ? ["variables"] : unequalKeys(target, other[name]))
        if (!found.has(key)) found.set(key, notKnownOf(names));
    left.set(
      name,
      Array.from(found, ([key, why]) => `${key}: ${why}`),
    );
    const args = Object.entries(target.args).filter(([arg]) => !found.has(`args.${arg}`));
    return [name, { ...target, args: Object.fromEntries(args) }];
  });
  const notes = shown.flatMap(({ names, targets: other }) =>
    Object.keys(other ?? {}).flatMap((name) =>
      Object.hasOwn(hidden, name) ? [] : [`${name}: init leaves out the target: ${notKnownOf(names)}`],
    ),
  );
  return { targets: Object.fromEntries(targets), left, notes };
}

function unequalKeys(one: BakeTarget, other: BakeTarget | undefined): readonly string[] {
  if (other === undefined) return ["target"];
  const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
  const fields = keys.filter((key) => key !== "args" && sortSettings([[key, "given"]]).left.length > 0);
  const args = [...new Set([...Object.keys(one.args), ...Object.keys(other.args)])];
  const isUnequal = (a: unknown, b: unknown) => JSON.stringify(a) !== JSON.stringify(b);
  return [
    ...fields.filter((key) => isUnequal(one[key], other[key])),
    ...args.flatMap((name) => (isUnequal(one.args[name], other.args[name]) ? [`args.${name}`] : [])),
  ];
}

/** Names that HCL can have: no expression can take a variable of another name. */
const identifier = /^[A-Za-z_][\w-]*$/;

/** The target of {@link questionFile}. */
export const questionTarget = "imgmatch-variables";

/** A bake file whose one target tells what the variables are in the files before it: JSON, or `absent`. */
export function questionFile(variables: Readonly<Record<string, string>>): string {
  const names = Object.keys(variables).filter((name) => identifier.test(name));
  const args = names.map((name) => `    ${name} = try(jsonencode(${name}), "absent")\n`).join("");
  return `target "${questionTarget}" {\n  args = {\n${args}  }\n}\n`;
}

/** The text of a last bake file, which sets the variables, and the names of the variables that no file can set so. */
export function variablesFile(
  variables: Readonly<Record<string, string>>,
  told: Readonly<Record<string, string | null>>,
): { readonly text: string; readonly unfit: readonly string[] } {
  const declared = Object.entries(variables).filter(([name]) => (told[name] ?? "absent") !== "absent");
  const written = declared.map(([name, value]) => ({ name, value: literal(value, told[name] ?? "") }));
  return {
    text: written
      .flatMap(({ name, value }) => (value === null ? [] : [`variable "${name}" { default = ${value} }\n`]))
      .join(""),
    unfit: written.flatMap(({ name, value }) => (value === null ? [name] : [])),
  };
}

/** As bake reads a text of the environment for a variable with such a default (bake/hclparser/hclparser.go, resolveValue). null for none. */
function literal(value: string, standard: string): string | null {
  if (standard.startsWith('"')) return JSON.stringify(value).replace(/[$%](?=\{)/g, (sign) => sign + sign);
  if (/^(true|false)$/.test(standard))
    return /^(1|t|T|TRUE|true|True)$/.test(value)
      ? "true"
      : /^(0|f|F|FALSE|false|False)$/.test(value)
        ? "false"
        : null;
  if (/^-?\d/.test(standard)) return /^-?\d+(\.\d+)?$/.test(value) ? String(Number(value)) : null;
  return null;
}

/** A line of `.env` for each variable of a compose file, and the variables that it cannot have. */
export function dotEnvFile(variables: Readonly<Record<string, string>>): {
  readonly text: string;
  readonly unfit: readonly string[];
} {
  const all = Object.entries(variables);
  const isFit = ([name, value]: readonly [string, string]) => /^\w+$/.test(name) && !/['\n\r\\]/.test(value);
  return {
    text: all
      .filter(isFit)
      .map(([name, value]) => `${name}='${value}'\n`)
      .join(""),
    unfit: all.flatMap((each) => (isFit(each) ? [] : [each[0]])),
  };
}
