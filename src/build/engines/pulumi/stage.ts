import { access, chmod, lutimes, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError } from "../../../errors.ts";
import { errnoMessage, writeFileAtomic } from "../../../io/files.ts";
import type { Digest } from "../../../lock/lock.ts";
import { digestOf } from "../../../registry/digest.ts";
import type { BuildRequest } from "../../engine.ts";
import { readContextItems } from "../docker/context-items.ts";
import { writeContextItems } from "../staged-context.ts";

/** Folder inside the context for the Dockerfiles of all cells. Only the one of the build is sent. */
const dockerfiles = ".imgmatch";

export interface StagedBuild {
  /** Absolute paths. */
  readonly context: string;
  readonly dockerfile: string;
}

/**
 * Copies the context once for each content and writes the Dockerfile into it: the provider gives a Dockerfile that lies
 * outside a random name inside, which then changes whatever copies the whole context.
 */
export async function stageBuild(
  folder: string,
  request: Pick<BuildRequest, "contextDir" | "contextFiles" | "contextDigest" | "dockerfile">,
  name: string,
  staged: Map<string, Promise<string>>,
): Promise<StagedBuild> {
  const digest = request.contextDigest ?? digestOf(Buffer.from(JSON.stringify(request.contextFiles)));
  const known = staged.get(digest) ?? stageContext(folder, digest, request);
  staged.set(digest, known);
  try {
    const context = await known;
    const dockerfile = join(context, dockerfiles, name);
    await writeOnce(dockerfile, request.dockerfile);
    // Goes before the context's own .dockerignore, which has done its work when the files were chosen.
    await writeOnce(`${dockerfile}.dockerignore`, `${dockerfiles}\n`);
    return { context, dockerfile };
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    const message = `cannot be written: ${errnoMessage(error)}`;
    throw new ImgmatchError({ code: "WRITE_FAILED", message, at: { file: folder } }, { cause: error });
  }
}

async function writeOnce(path: string, text: string): Promise<void> {
  if ((await readFile(path, "utf8").catch(() => null)) !== text) await writeFileAtomic(path, text);
}

async function stageContext(
  folder: string,
  digest: Digest,
  { contextDir, contextFiles }: Pick<BuildRequest, "contextDir" | "contextFiles">,
): Promise<string> {
  const contexts = join(folder, "contexts");
  const context = join(contexts, digest.slice("sha256:".length, "sha256:".length + 16));
  // Renamed into place when it is whole.
  if (
    await access(context).then(
      () => true,
      () => false,
    )
  )
    return context;
  await mkdir(contexts, { recursive: true });
  const partial = await mkdtemp(join(contexts, "partial-"));
  try {
    const items = await readContextItems(contextDir, contextFiles, 0);
    await writeContextItems(partial, items);
    await mkdir(join(partial, dockerfiles), { recursive: true });
    // What a folder holds changes its time, so from the end.
    for (const { path } of [...items].reverse()) await lutimes(join(partial, path), 0, 0);
    await chmod(partial, 0o755);
    await rename(partial, context).catch(async (error: unknown) => {
      // Another process was first; the content is the same.
      if (
        !(await access(context).then(
          () => true,
          () => false,
        ))
      )
        throw error;
    });
    return context;
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
