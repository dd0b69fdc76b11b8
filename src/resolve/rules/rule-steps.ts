/** The versions at which a rule's answer can change: each rule that compares versions exports its own beside its check. */

/** Between two neighbours of these lists a rule gives one answer, so that asking it once for each stretch is asking it everywhere. */
export interface RuleSteps {
  /** Of drivers. From each on, the answer may be another. What cannot be read as a version is compared with nothing. */
  readonly drivers: readonly string[];
  /** Of CUDA, as the driver offers it. */
  readonly cudas: readonly string[];
  /** Right after each it may be another again: they are compared by `=` or `>` too. */
  readonly after: boolean;
}
