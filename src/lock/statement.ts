/** What the owner of an image states of it, and how it is to be opened. */

/** Facts that the owner of an image knows, and its files may not tell. */
export interface Statement {
  /** The march that it was compiled for. Without it the CPU requirement is estimated. */
  readonly march?: string;
  /** Features of the march that the image does not need, as in a matrix. */
  readonly without?: readonly string[];
  /** The CUDA toolkit whose code is loaded: `12.8.1`, `12.8`. */
  readonly cuda?: string;
  /** The ROCm release of the image's runtime: `7.2`. */
  readonly rocm?: string;
}

export interface OpenChoice {
  /** The image of an index to open. Default: the platform of this machine. */
  readonly platform?: string;
}

export interface OpenEvent extends OpenProgress {
  readonly type: "open";
}

export interface OpenProgress {
  /** Layers that are done. */
  readonly layer: number;
  /** All layers; null while their number is unknown. */
  readonly layers: number | null;
  /** Bytes so far, as the source has them: of files, and of layers as they are stored. */
  readonly bytes: number;
  /** All bytes; null while the source does not tell: an engine writes its archive as it goes. */
  readonly total: number | null;
}
