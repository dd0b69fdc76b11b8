/** What a fleet asks of a script: what none of its images needs stays out of it. */

export interface FleetNeeds {
  /** There are Arm images, so a Jetson may get one. */
  readonly arm: boolean;
  /** Whether a GPU is of a data center (`compat`), or its brand is asked. */
  readonly classes: boolean;
  /** NVIDIA_REQUIRE_CUDA may name brands. */
  readonly brands: boolean;
  /** CPU features that the kernel prints under no name. */
  readonly hidden: boolean;
}
