/** A build of an existing definition: one `docker build` with these arguments. */

export interface OriginalBuild {
  /** As its definition calls it: a target of bake; a workflow's job, row and step. */
  readonly name: string;
  /** From the folder of the matrix. */
  readonly dockerfile: string;
  readonly context: string;
  /** null: the last stage. */
  readonly target: string | null;
  /** null: the platform of whatever builds. */
  readonly platform: string | null;
  readonly args: Readonly<Record<string, string>>;
  /** Parts that no matrix can say, or that nobody knows before it runs. */
  readonly left: readonly string[];
}

export interface Definition {
  readonly builds: readonly OriginalBuild[];
  readonly notes: readonly string[];
}
