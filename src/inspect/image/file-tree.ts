/** Puts the files of all layers together: later layers replace, whiteouts remove, links of folders lead elsewhere. */

import { posix } from "node:path";
import type { ClaimFile } from "../claims/claim-files.ts";
import type { FileInspection } from "../file-inspection.ts";
import { confPath } from "../loader/ld-conf.ts";
import type { LoaderRecord } from "../loader/loader-record.ts";
import type { PackageRecords } from "../packages/unchanged-files.ts";
import { invalidImage } from "./invalid-image.ts";
import { type LayerInspection, normalPath } from "./layer.ts";
import type { OpenedFile } from "./opened-file.ts";

export interface FoundFile {
  /** Begins with `/`. `!/` stands before a path in an archive. */
  readonly path: string;
  /** Number of its layer; the lowest is 0. */
  readonly layer: number;
  readonly inspection: FileInspection;
}

export interface UnopenedFile {
  readonly path: string;
  readonly layer: number;
  readonly reason: string;
}

export interface ImageFiles {
  readonly files: readonly FoundFile[];
  readonly unopened: readonly UnopenedFile[];
  readonly packages: readonly PackageRecords[];
  /** The names of code in modules of Python, by the path of the module. */
  readonly named: ReadonlyMap<string, readonly string[]>;
  /** What packages say of themselves, by the path of the file that says it. */
  readonly claims: ReadonlyMap<string, ClaimFile>;
  /** Package databases that could not be read. */
  readonly unread: readonly UnopenedFile[];
  /** Settings of loaders, by the path of their file. */
  readonly loader: ReadonlyMap<string, LoaderRecord>;
  /** The path behind all links; null for a path that does not exist. */
  readonly realPath: (path: string) => string | null;
}

interface Node {
  /** null for most: files have none. */
  children: Map<string, Node> | null;
  opened: { readonly layer: number; readonly file: OpenedFile } | null;
  /** Target, if it is a symbolic link. */
  link: string | null;
}

/** Linux follows no more links (path_resolution(7)). */
const maxLinks = 40;
/** Files and folders of all layers that fit into memory. */
const maxNodes = 1_500_000;
/** `PATH_MAX` in parts of one letter. */
const maxParts = 2048;

/** OCI image-spec, `layer.md`: whiteouts act on lower layers only. */
export function filesOfLayers(layers: readonly LayerInspection[]): ImageFiles {
  const root = emptyNode();
  const newNode = () => {
    if (++nodes > maxNodes) throw invalidImage(`its layers have more than ${maxNodes} files and folders`);
    return emptyNode();
  };
  let nodes = 0;
  for (const [layer, { changes }] of layers.entries()) {
    // A layer removes files before it adds any, wherever the whiteout stands.
    for (const { kind, path } of changes) {
      if (kind === "removed") remove(root, path);
      else if (kind === "opaque") find(root, path)?.children?.clear();
    }
    for (const change of changes) {
      if (change.kind === "removed" || change.kind === "opaque") continue;
      const node = place(root, change.path, newNode);
      if (node === null) continue;
      const source = change.kind === "hardlink" ? find(root, change.target) : null;
      node.children = null;
      node.link = change.kind === "symlink" ? change.target : null;
      if (change.kind === "hardlink") node.opened = source?.opened ?? null;
      else node.opened = change.kind === "file" && change.opened ? { layer, file: change.opened } : null;
    }
  }
  return { ...collectFiles(root), realPath: (path) => realPath(root, path) };
}

function collectFiles(root: Node): Omit<ImageFiles, "realPath"> {
  const files: FoundFile[] = [];
  const unopened: UnopenedFile[] = [];
  const packages: PackageRecords[] = [];
  const unread: UnopenedFile[] = [];
  const loader = new Map<string, LoaderRecord>();
  const named = new Map<string, readonly string[]>();
  const claims = new Map<string, ClaimFile>();
  const unvisited: { node: Node; path: string }[] = [{ node: root, path: "" }];
  for (let next = unvisited.pop(); next !== undefined; next = unvisited.pop()) {
    const { node, path } = next;
    if (node.opened !== null) {
      const { layer, file } = node.opened;
      for (const [inner, inspection] of Object.entries(file.files))
        files.push({ path: path + inner, layer, inspection });
      for (const [inner, reason] of Object.entries(file.unopened))
        unopened.push({ path: path + inner, layer, reason });
      for (const [inner, names] of Object.entries(file.named ?? {})) named.set(path + inner, names);
      for (const [inner, claim] of Object.entries(file.claims ?? {})) claims.set(path + inner, claim);
      if (file.packages !== undefined) packages.push(file.packages);
      if (file.loader !== undefined) loader.set(path, file.loader);
      const reason = file.packages?.unread;
      if (reason !== undefined) unread.push({ path, layer, reason });
    }
    // ldconfig follows the link.
    if (node.link !== null && confPath.test(path.slice(1)))
      loader.set(path, { kind: "conf", lines: [`include ${posix.resolve(posix.dirname(path), node.link)}`] });
    for (const [name, child] of node.children ?? []) unvisited.push({ node: child, path: `${path}/${name}` });
  }
  const byPath = (a: { path: string }, b: { path: string }) => (a.path < b.path ? -1 : 1);
  return {
    files: files.sort(byPath),
    unopened: unopened.sort(byPath),
    packages,
    named,
    claims,
    unread: unread.sort(byPath),
    loader,
  };
}

function emptyNode(): Node {
  return { children: null, opened: null, link: null };
}

/** The node of a path, which is made if it does not exist; null if links lead in circles. */
function place(root: Node, path: string, newNode: () => Node): Node | null {
  const parts = realFolder(root, path);
  if (parts === null) return null;
  let node = root;
  for (const part of parts) {
    node.children ??= new Map();
    const child = node.children.get(part) ?? newNode();
    node.children.set(part, child);
    node = child;
  }
  return node;
}

function find(root: Node, path: string): Node | null {
  return walk(root, realFolder(root, path) ?? []);
}

/** `/_` makes the last part of the path a folder, whose link is followed too. */
function realPath(root: Node, path: string): string | null {
  const parts = realFolder(root, `${path}/_`)?.slice(0, -1) ?? null;
  return parts === null || walk(root, parts) === null ? null : `/${parts.join("/")}`;
}

function remove(root: Node, path: string): void {
  const parts = realFolder(root, path);
  const name = parts?.pop();
  if (parts != null && name !== undefined) walk(root, parts)?.children?.delete(name);
}

function walk(root: Node, parts: readonly string[]): Node | null {
  let node: Node | undefined = root;
  for (const part of parts) node = node?.children?.get(part);
  return node ?? null;
}

/** Layers and folders of thousands of files have hardly a path with `.` or `..`. */
const hasDots = /(^|\/)\.\.?(\/|$)/;

/** The parts of a path after the links of its folders. The last part is not followed. */
function realFolder(root: Node, path: string): string[] | null {
  let parts = (hasDots.test(path) ? normalPath(path) : path).split("/").filter(Boolean).reverse();
  const done: string[] = [];
  const nodes: (Node | undefined)[] = [root];
  let links = 0;
  while (parts.length > 1) {
    const part = parts.pop() ?? "";
    if (part === "..") {
      done.pop();
      if (nodes.length > 1) nodes.pop();
      continue;
    }
    const node = nodes.at(-1)?.children?.get(part);
    if (node?.link != null) {
      const target = node.link.split("/").filter((each) => each !== "" && each !== ".");
      if (++links > maxLinks || parts.length + target.length > maxParts) return null;
      if (node.link.startsWith("/")) {
        done.length = 0;
        nodes.length = 1;
      }
      parts = [...parts, ...target.reverse()];
      continue;
    }
    done.push(part);
    nodes.push(node);
  }
  return [...done, ...parts];
}
