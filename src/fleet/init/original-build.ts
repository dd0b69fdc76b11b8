/** What a build definition that is there calls: `docker build` with these, once for each. */

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
  /** What of it no matrix says, or nobody knows before it runs. */
  readonly left: readonly string[];
}

export interface Definition {
  readonly builds: readonly OriginalBuild[];
  readonly notes: readonly string[];
}
