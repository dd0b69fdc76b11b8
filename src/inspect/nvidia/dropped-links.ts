/** Finds what an image for Jetson takes from the driver of the host, and JetPack 7 no longer has. */

import { compareText } from "../../io/collections.ts";
import type { DroppedLinks } from "../../lock/requirement.ts";
import type { FileInspection } from "../file-inspection.ts";
import type { UnopenedFile } from "../image/file-tree.ts";

/**
 * TensorRT of JetPack 4 to 6 (`libnvinfer.so`) is linked with the compiler for the DLA. JetPack 7 has only libnvdla_runtime.so.
 * Sources: wyoming-whisper-trt, issue 1038 (L4T 36.4.7 beside 39.2.0); jetson-containers, issues 1420 and 1557 (Thor, L4T 38).
 */
const dropped: readonly string[] = ["libnvdla_compiler.so"];

type File = Pick<FileInspection, "program"> & { readonly path: string };

/**
 * The dropped libraries that the image lacks, each with the first file that is linked with the library. An empty file does not count: images of
 * L4T have one, over which a container runtime mounts the host's library (jetson-containers, issue 644).
 */
export function droppedLinks(files: readonly File[], unopened: readonly UnopenedFile[]): DroppedLinks {
  const programs = files.filter(({ program }) => program !== null);
  const nameOf = ({ path }: { readonly path: string }) => path.slice(path.lastIndexOf("/") + 1);
  const links = dropped.flatMap((library) => {
    const isIt = (name: string) => name === library || name.startsWith(`${library}.`);
    const isThere =
      programs.some((file) => isIt(nameOf(file)) || isIt(file.program?.soname ?? "")) ||
      unopened.some((file) => isIt(nameOf(file)));
    const linked = programs.filter(({ program }) => program?.needed.includes(library));
    const [first] = linked.map(({ path }) => path).sort(compareText);
    return isThere || first === undefined ? [] : [[library, first] as const];
  });
  return Object.fromEntries(links);
}
