/** PTX that stands alone: text that begins with `.version` and `.target`. Source: PTX ISA, "PTX Module Directives". */

export interface PtxText {
  /** PTX ISA: `8.4`. */
  readonly version: string;
  readonly arch: number;
  readonly suffix: "" | "a" | "f";
}

/** The first some thousand bytes are enough; null for what is no PTX. */
export function readPtxText(head: Uint8Array): PtxText | null {
  const text = Buffer.from(head.buffer, head.byteOffset, Math.min(head.length, 4096)).toString("latin1");
  const directives = text.replace(/\/\*[\s\S]*?\*\//g, " ").replace(/\/\/[^\n]*/g, " ");
  const version = /^\s*\.version\s+(\d{1,2}\.\d)\s/.exec(directives)?.[1];
  const target = /\s\.target\s+sm_(\d{2,3})([af]?)\b/.exec(directives);
  if (version === undefined || target === null) return null;
  return { version, arch: Number(target[1]), suffix: target[2] as PtxText["suffix"] };
}
