/** The answer of a check, for a subject and for each package in it. */

import type { HostProblem } from "../facts/facts.ts";
import type { SignedBy } from "../lock/store/index-trust.ts";
import type { ImageCheck } from "../resolve/check-image.ts";
import type { KnownSubject } from "./checked-subject.ts";
import type { KnownPart } from "./known-parts.ts";

export interface CheckAnswer extends PartAnswer {
  readonly schemaVersion: 1;
  /** The name as the caller wrote it, with `latest` in place of a missing tag. */
  readonly subject: string;
  readonly source: KnownSubject["source"];
  readonly digest: string | null;
  readonly platform: string;
  /** The image that this host takes, only of an index that imgmatch wrote. */
  readonly cell?: string;
  /** The source of its needs. */
  readonly judgedBy: KnownPart["judgedBy"];
  /** Needs of which nobody knows whether the host's system meets them: `CPython 3.11`, `glibc >= 2.28`. Empty unless `fits` is true. */
  readonly conditions: readonly string[];
  readonly measured?: string;
  /** Unopened files and unknown facts: it may need more than `requires` says. */
  readonly notes: readonly string[];
  /** The host's problems. */
  readonly problems: readonly HostProblem[];
  /** The image's signers, if a signature is required. */
  readonly signed?: SignedBy;
  /** Each package by its own files, if there are several. */
  readonly packages: readonly PackageAnswer[];
}

/** The answer for a subject, or for a package in it. */
export interface PartAnswer extends Pick<ImageCheck, "fits" | "tier" | "by"> {
  /** From the lock, the files or the label. null without any, and for an environment of several packages, each of which has its own. */
  readonly requires: ImageCheck["requires"];
  /** In few words: the reason why it does not run, is not proved to run, or runs slower than it could; null if it runs as well as it can. */
  readonly why: string | null;
  /** The file that decides `why`; null if it is unknown. */
  readonly file: string | null;
  /** Empty unless `fits` is false. */
  readonly reasons: readonly CheckReason[];
  /** Why nothing proves that it runs; empty if `fits` is true. */
  readonly unknown: readonly CheckReason[];
  /** The GPU code that each GPU would run, in words. */
  readonly runs: readonly string[];
  /** It runs on the CPU, without its code for GPUs: each of the sources that say so, or `--cpu`. Absent for a part that has none or uses it. */
  readonly withoutGpu?: readonly string[];
}

export interface PackageAnswer extends PartAnswer {
  /** `torch`, `@esbuild/*`; empty for the files of no package. */
  readonly name: string;
  /** null if no list of an installer tells it. */
  readonly version: string | null;
}

export interface CheckReason {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}
