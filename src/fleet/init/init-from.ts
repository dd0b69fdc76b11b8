/** `imgmatch init --from Dockerfile`: writes a matrix for the Dockerfile, and finds the lines of it to change. */

import { lstatSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { parseDockerfile } from "../dockerfile/instructions.ts";
import { placeholdersIn } from "../dockerfile/written-secrets.ts";
import { openFleet } from "../open/open-fleet.ts";
import { planFleet } from "../open/plan-fleet.ts";
import type { HostFacts } from "../../facts/facts.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { inputLimits } from "../../io/limits.ts";
import { readExactText } from "../../io/files.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { applyEdits, type Draft, draftOf, type Edit, editsOf } from "./draft.ts";
import { type Assignments, readMakefiles } from "./makefiles.ts";
import { matrixFile, permitted, refuseExisting } from "./new-fleet.ts";
import { findCompiler, findPython, lowestMarches, proposeMarches } from "./propose-axes.ts";
import { argumentsOf, readDockerfile, type Reading } from "./reading.ts";
import { proposeRocm } from "./amd-dockerfile.ts";
import { type MachineCatalog, machineTypes } from "../../hardware/machine-types.ts";
import { proposeCuda } from "./nvidia-dockerfile.ts";
import { varyMarch } from "./vary-march.ts";
import { matrixText, type ProposedMatrix } from "./write-matrix.ts";

interface InitFromOptions {
  /** As the user named it, from `folder`. */
  readonly dockerfile: string;
  /** The matrix to write, from `folder`. Default: `matrix.yaml`. */
  readonly to?: string | undefined;
  /** The machines to build for. */
  readonly hosts: readonly HostFacts[];
  readonly name: string;
  readonly registry: string;
  /** Shows the edits before the Dockerfile is changed; without it the Dockerfile stays as it is. */
  readonly show?: ((template: string, edits: readonly Edit[]) => void) | undefined;
}

export interface InitFrom {
  readonly written: readonly string[];
  /** The number of cells that can be built. */
  readonly cells: number;
  readonly template: string;
  readonly edits: readonly Edit[];
  /** Notes about the Dockerfile, for people. */
  readonly notes: readonly string[];
}

/**
 * Writes `matrix.yaml` into `folder`, and with `show` the edited Dockerfile. Plans the fleet with the edits first, so that they are known to work.
 * Throws `FILE_EXISTS`, `FILE_NOT_FOUND`, and errors of planning for a Dockerfile that no matrix could use.
 */
export async function initFrom(folder: string, options: InitFromOptions): Promise<InitFrom> {
  const { dockerfile, to = matrixFile, hosts, name, registry, show } = options;
  refuseExisting(folder, [to]);
  const matrix = join(folder, to);
  const path = resolve(folder, dockerfile);
  const read = () => readExactText(path, inputLimits.template, { shown: dockerfile });
  const text = await read();
  const reading = readDockerfile(text);
  const draft = draftOf(text);
  const template = relative(folder, path).replaceAll("\\", "/");
  const fromMatrix = (each: string) =>
    relative(dirname(matrix), join(folder, each)).replaceAll("\\", "/") || ".";
  const contexts = contextsOf(template);
  const makefiles = await readMakefiles(folder, contexts, reading);
  const rented = (await machineTypes()).filter(({ catalog }) => clouds.includes(catalog));
  const targets = [...new Set(rented.flatMap(({ compute, target }) => compute ?? target ?? []))];
  const proposed = propose(reading, draft, { hosts, rented: targets }, makefiles);
  const edits = editsOf(draft);
  const notSecret = [...new Set(placeholdersIn(parseDockerfile(text)))];
  const own = { name, registry, template: fromMatrix(template), notSecret };
  const matrixOf = (context: string) => ({ ...proposed.matrix, ...own, context });
  const edited = applyEdits(text, edits);
  const { yaml, cells } = await firstThatPlans(matrix, contexts.map(fromMatrix), matrixOf, edited);
  const changes = show !== undefined && edits.length > 0;
  if (changes) {
    show(template, edits);
    refuseChanged(path, dockerfile, (await read()) === text);
    await writeFileAtomic(path, edited, folder);
  }
  await writeFileAtomic(matrix, yaml, folder);
  return {
    written: [...(changes ? [template] : []), to],
    cells,
    template,
    edits,
    notes: [...proposed.notes, ...notSecret.map(permitted)],
  };
}

/** The edits are for the text that was read. A link would be replaced by a file. */
function refuseChanged(path: string, file: string, isSame: boolean): void {
  const isLink = lstatSync(path).isSymbolicLink();
  if (isSame && !isLink) return;
  throw new ImgmatchError({
    code: "FILE_EXISTS",
    message: isLink ? "is a link, and stays as it is" : "has changed since it was read",
    fix: isLink ? "name the file that the link leads to" : "run the same command again",
    at: { file },
  });
}

const clouds: readonly MachineCatalog[] = ["aws", "azure", "gcp"];

/** The GPU axes for a Dockerfile on a vendor's base. */
const proposals: Readonly<Record<GpuVendor, typeof proposeCuda>> = { nvidia: proposeCuda, amd: proposeRocm };

function propose(
  reading: Reading,
  draft: Draft,
  { hosts, rented }: { readonly hosts: readonly HostFacts[]; readonly rented: readonly string[] },
  makefiles: Assignments,
) {
  const compiler = findCompiler(reading);
  const { args: marchArgs, notes: ofMakefiles } = varyMarch(reading, draft, makefiles);
  const notes = [...ofMakefiles];
  const [gpus = null] = gpuVendors.flatMap(
    (vendor) => proposals[vendor](reading, draft, hosts, rented) ?? [],
  );
  if (gpus?.note !== undefined) notes.push(gpus.note);
  const marches = proposeMarches(hosts, compiler);
  const python = findPython(reading);
  const varies = Object.keys(marchArgs).length > 0;
  if (!varies)
    notes.push(
      "no step is known that compiles: the matrix has one march, and the images' own code decides what it needs",
    );
  if (hosts.every(({ cpu }) => cpu.features === null))
    notes.push("the CPU of no host is known: the marches are levels that most machines have");
  for (const argument of withoutValue(reading, { ...marchArgs, ...gpus?.args }))
    notes.push(`ARG ${argument} has no value: give a value in args of the matrix where a step needs one`);
  // The lowest march is for a plain pull, which needs an image that starts on every machine. With CUDA a plain pull gets no image: no runtime
  // chooses by GPU. If no step compiles, there is only the lowest march, as further ones would give one image several names.
  const lowest = varies && gpus !== null ? [] : lowestMarches(hosts);
  return {
    notes,
    matrix: {
      args: { ...marchArgs, ...gpus?.args, ...(python && { [python.argument]: "{{axes.python}}" }) },
      compiler,
      marches: [...new Set([...lowest, ...(varies ? marches : [])])],
      gpus,
      pythons: python === null ? [] : [python.version],
    },
  };
}

/** Arguments that have neither a default nor a value in the matrix. */
function withoutValue({ placed }: Reading, given: Readonly<Record<string, string>>): readonly string[] {
  const all = argumentsOf(placed);
  const valued = new Set([
    ...all.flatMap(({ name, value }) => (value === null ? [] : [name])),
    ...Object.keys(given),
  ]);
  const names = new Set(all.map(({ name }) => name).filter((name) => !valued.has(name)));
  return [...names].filter((name) => !/^(TARGET|BUILD)(PLATFORM|OS|ARCH|VARIANT)$|_proxy$/i.test(name));
}

/** Possible contexts: the Dockerfile's folder, and that of the matrix, as in `docker build -f docker/Dockerfile .`. */
function contextsOf(template: string): readonly string[] {
  return template.includes("/") ? [template.slice(0, template.lastIndexOf("/")), "."] : ["."];
}

/** Plans with the first context that has all files that the Dockerfile copies. If none has, throws the error of the last. */
async function firstThatPlans(
  file: string,
  [context, ...others]: readonly string[],
  matrixOf: (context: string) => ProposedMatrix,
  templateText: string,
): Promise<{ readonly yaml: string; readonly cells: number }> {
  const matrix = matrixOf(context ?? ".");
  const yaml = matrixText(matrix, true);
  try {
    const fleet = await openFleet(file, { text: yaml, templateText, env: {} });
    const { cells } = await planFleet(fleet, { lock: null });
    return {
      yaml: matrixText(matrix, false),
      cells: cells.filter(({ action }) => action === "build").length,
    };
  } catch (error) {
    const isElsewhere = error instanceof ImgmatchError && error.code === "CONTEXT_NOT_FOUND";
    if (!isElsewhere || others.length === 0) throw error;
    return firstThatPlans(file, others, matrixOf, templateText);
  }
}
