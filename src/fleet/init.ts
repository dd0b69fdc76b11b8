/** Writes a small matrix and template, or the matrix of an existing Dockerfile, workflow, bake or compose file. */

import { join, posix } from "node:path";
import { usageError } from "../errors.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { ClusterReader, HostWorld } from "../host/cluster-reader.ts";
import { nodeHostIo } from "../host/node-host-io.ts";
import { probeHost } from "../host/probe-host.ts";
import { readHostFiles } from "../host/read-host-files.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import { type Edit, editWords } from "./init/draft.ts";
import { definitionsIn } from "./init/found-definitions.ts";
import { type InitFrom, initFrom } from "./init/init-from.ts";
import { type InitFromDefinition, initFromDefinition } from "./init/init-from-definition.ts";
import { checkImageName, imageNameFor, matrixFile, refuseExisting } from "./init/new-fleet.ts";
import { isDefinition, refuseOthers } from "./init/read-definition.ts";

export interface InitOptions extends Watching {
  /** A Dockerfile, a GitHub workflow, bake and compose files, or a file with a list of builds. */
  readonly from?: readonly string[];
  /** With a list of builds: its key, as `images.include`; `.` for a file that is the list. */
  readonly rows?: string;
  /** With `rows`: build arguments and the keys of a row that have their texts, as `CUDA_VERSION=cuda-version`. */
  readonly map?: readonly string[];
  /** With a definition: write a matrix of which no cell is one of its builds too. */
  readonly partial?: boolean;
  /** With a Dockerfile: files with facts of the machines to build for. Default: this machine. */
  readonly host?: readonly string[];
  /** Further machine types; one text may list several with commas. */
  readonly hostType?: readonly string[];
  /** With a Dockerfile: note the edits, then apply them. */
  readonly write?: boolean;
  /** The matrix to write: paths in it start in its folder. Default: `matrix.yaml`. */
  readonly to?: string;
  /** Name of the images. Default: `app`; with `from` the folder's name. */
  readonly name?: string;
  /** `host` or `host/path`. Default: `localhost:5000`. */
  readonly registry?: string;
}

export interface InitAnswer {
  readonly schemaVersion: 1;
  /** Paths from the current folder. */
  readonly written: readonly string[];
}

/** For a Dockerfile. */
export type InitFromAnswer = InitAnswer & InitFrom;

/** For bake and compose files, or a workflow. */
export type InitFromDefinitionAnswer = InitAnswer & InitFromDefinition;

/**
 * Writes a small fleet into the current folder. With `from`, `init` writes the matrix of a Dockerfile and answers the lines to change, or the
 * matrix of bake files or a workflow and answers whether each build is a cell. Overwrites nothing, but with `write` the Dockerfile.
 *
 * Throws `FILE_EXISTS` for every existing file, `USAGE` or `REFERENCE_INVALID` for a wrong name, and errors of reading and planning for a
 * Dockerfile that no matrix could use.
 *
 * @example
 * await init({ name: "vision", registry: "registry.example.com/team" });
 */
export interface InitFunction {
  (
    options: InitOptions & { readonly from: readonly string[] },
    world?: Partial<World>,
  ): Promise<InitFromAnswer | InitFromDefinitionAnswer>;
  (
    options?: Omit<InitOptions, "from" | "host" | "hostType" | "write">,
    world?: Partial<World>,
  ): Promise<InitAnswer>;
}

export function initWith(ports: ClusterReader): InitFunction {
  const face = (
    options: InitOptions = {},
    given?: Partial<World>,
  ): Promise<InitAnswer | InitFromAnswer | InitFromDefinitionAnswer> =>
    inWorld(options, given, (world) => initIn(options, world), ports);
  return face as InitFunction;
}

async function initIn(
  options: InitOptions,
  world: HostWorld,
): Promise<InitAnswer | InitFromAnswer | InitFromDefinitionAnswer> {
  const { from = [], host = [], hostType = [], name = "app", registry = "localhost:5000" } = options;
  const { rows: key, map = [], to = matrixFile } = options;
  const rows = key === undefined ? undefined : { key, map };
  if (rows === undefined && map.length > 0) throw usageError("--map needs --rows", "add --rows KEY");
  const [first, ...more] = from;
  if (first !== undefined) {
    const fleet = { name: options.name ?? imageNameFor(world.cwd), registry };
    checkImageName(fleet.name, registry);
    if (rows === undefined) refuseOthers(first);
    if (isDefinition(first)) {
      if (options.write) throw usageError("--write needs --from Dockerfile", "leave --write out");
      refuseHosts(host, hostType);
      const definition = {
        files: from,
        env: world.env,
        signal: world.signal,
        rows,
        partial: options.partial,
        ...{ to, ...fleet },
      };
      return { schemaVersion: 1, ...(await initFromDefinition(world.cwd, definition)) };
    }
    if (more.length > 0) throw usageError(`${first} is a Dockerfile`, "give --from once");
    if (rows !== undefined)
      throw usageError(`${first} is a Dockerfile`, "give --rows with a YAML or JSON file");
    const hosts = await factsOf(host, hostType, world);
    const show = (template: string, edits: readonly Edit[]) => {
      for (const edit of edits) world.onEvent({ type: "note", text: `${template}: ${editWords(edit)}` });
    };
    const wanted = { ...fleet, to, show: options.write ? show : undefined };
    return { schemaVersion: 1, ...(await initFrom(world.cwd, { dockerfile: first, hosts, ...wanted })) };
  }
  refuseHosts(host, hostType);
  if (rows !== undefined) throw usageError("--rows needs --from", "add --from FILE");
  if (options.write) throw usageError("--write needs --from Dockerfile", "add --from Dockerfile");
  checkImageName(name, registry);
  await refuseDefinitions(world);
  const beside = (path: string) => posix.join(posix.dirname(to), path);
  const files = Object.fromEntries(
    Object.entries(starterFiles(name, registry)).map(([path, text]) => [
      path === matrixFile ? to : beside(path),
      text,
    ]),
  );
  const written = Object.keys(files);
  refuseExisting(world.cwd, written);
  for (const [path, text] of Object.entries(files))
    await writeFileAtomic(join(world.cwd, path), text, world.cwd);
  return { schemaVersion: 1, written };
}

/** Throws `USAGE` where the folder has definitions of images, and tells what each would give. */
async function refuseDefinitions({ cwd, env, signal, onEvent }: HostWorld): Promise<void> {
  const found = await definitionsIn(cwd, { env, signal });
  const [first] = found;
  if (first === undefined) return;
  for (const { file, gives } of found)
    onEvent({ type: "note", text: `imgmatch init --from ${file}: ${gives}` });
  throw usageError(
    `${cwd} has definitions of images: init writes nothing beside them`,
    `name one, as in imgmatch init --from ${first.file}; for a new fleet, run init in an empty folder`,
  );
}

/** Only a Dockerfile needs hosts: a definition itself names its builds. */
function refuseHosts(host: readonly string[], hostType: readonly string[]): void {
  if (host.length + hostType.length > 0)
    throw usageError("--host and --host-type need --from Dockerfile", "add --from Dockerfile");
}

/** The facts of all hosts and machine types; of this machine if there are none. */
async function factsOf(
  files: readonly string[],
  hostType: readonly string[],
  world: HostWorld,
): Promise<readonly HostFacts[]> {
  if (files.length + hostType.length === 0) return [await probeHost(nodeHostIo(world.env), {})];
  return (await readHostFiles(files, world, { hostType })).map(({ facts }) => facts);
}

function starterFiles(name: string, registry: string): Record<string, string> {
  return {
    "matrix.yaml": `# yaml-language-server: $schema=./node_modules/imgmatch/dist/matrix.schema.json
name: ${name}
version: 0.1.0
registry: ${registry} # images go to ${registry}/${name}
template: templates/app.Dockerfile.hbs
tag: "{{version}}-{{cell}}-{{inputs}}"

axes:
  cuda:
    - toolkit: none # the CPU-only row
      base: { build: gcc:12-bookworm, run: debian:bookworm-slim }
    - toolkit: "12.8.1"
      base:
        build: nvidia/cuda:12.8.1-devel-ubuntu22.04
        run: nvidia/cuda:12.8.1-base-ubuntu22.04
      driver: { mode: host } # the host's driver, at least the floor of CUDA 12
  compute: ["8.0", "9.0+ptx"] # SASS for one, SASS and PTX for the other
  march: [x86-64, x86-64-v3] # the first starts on every machine: what docker pull gets

exclude:
  - { cuda: "12.8", march: x86-64, reason: every host with these GPUs has AVX2 }
`,
    "templates/app.Dockerfile.hbs": `FROM {{base.build}} AS build
COPY hello.c /src/hello.c
RUN gcc -O3 {{march.flags}} -o /hello /src/hello.c
{{#if gpu}}
# nvcc's options for exactly this image's GPUs:
RUN nvcc -O3 {{gpu.gencode}} -x cu -o /hello /src/hello.c
{{/if}}

FROM {{base.run}}
COPY --from=build /hello /usr/local/bin/hello
CMD ["hello"]
`,
    "templates/hello.c": `#include <stdio.h>

int main(void) {
#if defined(__AVX512F__)
  puts("compiled for AVX-512");
#elif defined(__AVX2__)
  puts("compiled for AVX2");
#else
  puts("compiled for any x86-64 CPU");
#endif
  return 0;
}
`,
  };
}
