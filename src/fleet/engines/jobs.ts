/** Turns planned cells into build jobs. */

import { ImgmatchError, InternalError, type Problem } from "../../errors.ts";
import { attestedArgs, describingArgs, inputsLabel } from "../../oci/build-words.ts";
import type { Digest } from "../../oci/digest.ts";
import { localBaseName } from "../../oci/local-base.ts";
import { type ImageReference, parseImageReference, withTag } from "../../oci/reference.ts";
import type { Cell } from "../cells/cell.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import type { ExpandedCell } from "../cells/expand.ts";
import { pinBases } from "../dockerfile/bases.ts";
import type { CellContext } from "../context/cell-context.ts";
import type { ContextListing } from "../context/context.ts";
import { parseDockerfile } from "../dockerfile/instructions.ts";
import type { RenderedFile } from "../dockerfile/render-cell.ts";
import { runBaseOf } from "../dockerfile/stages.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { PlannedBase, PlannedCell, TakenImage } from "../plan/planned-cell.ts";
import type { BuildRequest } from "./engine.ts";

export interface BuildJob {
  readonly cell: string;
  readonly request: BuildRequest;
  /** The reference to push to, with tag; null to leave it in the engine. */
  readonly reference: ImageReference | null;
  readonly inputDigest: Digest;
  readonly takesOver?: TakenImage;
}

export interface ContextFolder {
  readonly dir: string;
  readonly listing: ContextListing;
  /** Those of `contexts:`. */
  readonly named: readonly NamedFolder[];
}

export interface NamedFolder extends Omit<ContextFolder, "named"> {
  readonly name: string;
}

export interface FleetSources {
  /** Folder of the matrix file; every relative path starts here. */
  readonly root: string;
  readonly cells: readonly ExpandedCell[];
  folderOf(cell: Cell): ContextFolder;
  /** Values for `ARG`s of every build that are no input of its image: proxies. */
  readonly passedArgs?: Readonly<Record<string, string>>;
}

export interface JobOptions extends Pick<FleetSources, "folderOf" | "passedArgs"> {
  readonly matrix: Matrix;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  readonly push: boolean;
}

/** A planned cell whose inputs are all known. */
export type ReadyCell = PlannedCell & {
  readonly inputDigest: Digest;
  readonly tag: string;
  readonly dockerfile: RenderedFile;
  readonly context: CellContext;
};

export function isReady(planned: PlannedCell): planned is ReadyCell {
  return (
    planned.inputDigest !== null &&
    planned.tag !== null &&
    planned.dockerfile !== null &&
    planned.context !== null
  );
}

/** Base → why its digest could not be read. */
export type UnresolvedBases = ReadonlyMap<string, Problem>;

/** One for all that cannot be built: mostly they share their bases. A base without a reason was not asked for. */
export function unreadyProblem(
  cells: readonly [PlannedCell, ...PlannedCell[]],
  reasons: UnresolvedBases = new Map(),
): Problem {
  const [{ cell }, ...others] = cells;
  const unpinned = cells.flatMap(({ bases }) => bases.filter(({ digest }) => digest === null));
  const missing = unpinned.filter(({ parent }) => parent === undefined).map(({ used }) => used);
  const who = others.length === 0 ? cell.id : `${cell.id} and ${others.length} more`;
  const [parent] = unpinned.flatMap((base) => base.parent ?? []);
  if (missing.length === 0 && parent !== undefined) {
    return {
      code: "BASE_NOT_BUILT",
      message: `${who} cannot be built: its base ${parent.cell} of ${parent.matrix} is not built, or its inputs have changed since`,
      fix: "build that fleet first: imgmatch build --workspace builds fleets in the right order",
    };
  }
  return {
    code: "BASE_UNRESOLVED",
    message: `${who} cannot be built: the digest of ${[...new Set(missing)].join(", ")} is not known`,
    fix:
      missing.flatMap((ref) => reasons.get(ref)?.fix ?? [])[0] ??
      "leave --offline out: the registry is then asked for the digest",
  };
}

export function requireReady(cells: readonly PlannedCell[]): readonly ReadyCell[] {
  const [first, ...rest] = cells.filter((planned) => !isReady(planned));
  if (first !== undefined) throw new ImgmatchError(unreadyProblem([first, ...rest]));
  return cells.filter(isReady);
}

export function jobOf(planned: ReadyCell, options: JobOptions): BuildJob {
  const { cell, tag, inputDigest, dockerfile: file, bases, context } = planned;
  const { matrix, push } = options;
  const repository = repositoryOfCell(matrix, cell);
  const target = cell.settings.target?.value ?? null;
  const isLocal = ({ local }: PlannedBase) => local !== undefined;
  const [localBases, pulledBases] = [bases.filter(isLocal), bases.filter((base) => !isLocal(base))];
  const digests = new Map(pulledBases.map(({ ref, digest }) => [ref, requiredDigest(digest)]));
  const local = new Map(localBases.map(({ ref, digest }) => [ref, localBaseName(requiredDigest(digest))]));
  const replacements = new Map(
    bases.filter(({ ref, used }) => ref !== used).map(({ ref, used }) => [ref, used]),
  );
  const contexts = cell.settings.contexts?.value;
  const variables = { args: file.args, platform: cell.platform, contexts };
  const runBase = runBaseOf(file.text, target, variables);
  const run = bases.find(({ ref }) => ref === runBase);
  const pinned = pinBases(file.text, digests, replacements, { ...variables, local });
  const rebuild = planned.inputs?.rebuild;
  const extraArgs = { [attestedArgs.cell]: cell.id, [attestedArgs.matrix]: matrix.digest };
  return {
    cell: cell.id,
    inputDigest,
    ...(planned.takesOver && { takesOver: planned.takesOver }),
    reference: push ? withTag(parseImageReference(repository), tag) : null,
    request: {
      cell: cell.id,
      dockerfile: rebuild === undefined ? pinned : withRebuild(pinned, rebuild),
      ...(rebuild !== undefined && { rebuild }),
      contextDir: options.folderOf(cell).dir,
      contextFiles: context.entries,
      contextDigest: context.digest,
      ...(context.named.length > 0 && {
        contexts: context.named.map(({ name, dir, entries, digest }) => ({
          name,
          ...{ contextDir: dir, contextFiles: entries, contextDigest: digest },
        })),
      }),
      platform: cell.platform,
      target,
      args: {
        ...options.passedArgs,
        ...file.args,
        [describingArgs.revision]: options.revision,
        [describingArgs.version]: matrix.version,
        [describingArgs.baseName]: run?.used ?? runBase,
        // An engine's id of an image is no digest that a registry knows.
        [describingArgs.baseDigest]: run === undefined || isLocal(run) ? "" : (run.digest ?? ""),
      },
      labels: { [inputsLabel]: inputDigest },
      ...(localBases.length === 0
        ? {}
        : { localBases: [...new Set(localBases.map(({ digest }) => requiredDigest(digest)))] }),
      ...(matrix.attest === null ? {} : { attest: { ...matrix.attest.value, extraArgs } }),
      tags: [`${repository}:${tag}`],
    },
  };
}

export function requiredDigest(digest: Digest | null): Digest {
  if (digest === null) throw new InternalError("a ready cell has a base without digest");
  return digest;
}

/** Steps see it in their environment; the image has it in its history alone. */
const rebuildArg = "IMGMATCH_REBUILD";

/**
 * The Dockerfile with the word as an `ARG` at the beginning of every stage. The environment of a `RUN` has the arguments above it, and so has
 * the cache key (moby/buildkit, frontend/dockerfile/dockerfile2llb/convert.go; containers/buildah, imagebuildah/stage_executor.go), so that
 * every engine runs it anew for a new word. Cells that share a stage still share it: what `--no-cache` of an engine would make of each by
 * itself is made once. For Podman and Buildah the word counts for copied and added files too.
 */
export function withRebuild(dockerfile: string, word: string): string {
  return startingStages(dockerfile, `ARG ${rebuildArg}=${word}`);
}

/**
 * The Dockerfile of a request for BuildKit, whose key for `COPY` and `ADD` is the files' content and the layer below: with a word each stage
 * begins with a layer of its own, a `COPY` of no file, since BuildKit takes a pattern without a file (solver/llbsolver/ops/file.go).
 */
export function copyingAnew({ dockerfile, rebuild }: Pick<BuildRequest, "dockerfile" | "rebuild">): string {
  return rebuild === undefined
    ? dockerfile
    : startingStages(dockerfile, `COPY imgmatch-rebuild-${rebuild}* /`);
}

function startingStages(dockerfile: string, line: string): string {
  let text = dockerfile;
  const stages = parseDockerfile(dockerfile).instructions.filter(({ keyword }) => keyword === "FROM");
  // From the end, so that the offsets before stay true.
  for (const { parts } of stages.reverse()) {
    const last = parts.at(-1);
    const end = text.indexOf("\n", (last?.offset ?? 0) + (last?.text.length ?? 0));
    const at = end < 0 ? text.length : end + 1;
    text = `${text.slice(0, at)}${end < 0 ? "\n" : ""}${line}\n${text.slice(at)}`;
  }
  return text;
}
