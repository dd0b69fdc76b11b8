/** The commands by which each container runtime pulls an image and names it. */

import { formatImageReference, type ImageReference } from "../oci/reference.ts";

export interface PullTarget {
  /** `repository@sha256:…` */
  readonly image: string;
  /** The image's plain name here. */
  readonly name: ImageReference;
  /** Further options of the runtime's pull. */
  readonly options: readonly string[];
  /** The namespace of containerd and nerdctl. */
  readonly namespace: string;
}

export type Argv = readonly [string, ...string[]];

export interface RuntimeCommands {
  /** Prints something if the whole image is here; null for a runtime that cannot tell and pulls each time. */
  readonly find: Argv | null;
  readonly pull: Argv;
  readonly tag: Argv;
  /** Keeps it from garbage collection; null for a runtime without such a command. */
  readonly pin: Argv | null;
}

function docker(
  program: string,
  { image, name, options }: PullTarget,
  words: readonly string[] = [],
): RuntimeCommands {
  return {
    find: [program, ...words, "image", "inspect", "--format", "{{.Id}}", image],
    pull: [program, ...words, "pull", ...options, image],
    tag: [program, ...words, "tag", image, formatImageReference(name)],
    pin: null,
  };
}

export const runtimes = {
  docker: (target) => docker("docker", target),
  podman: (target) => docker("podman", target),
  // containerd with docker's words and logins. It finds no image by digest, and sets no label that pins one.
  nerdctl: (target) => ({ ...docker("nerdctl", target, ["--namespace", target.namespace]), find: null }),
  containerd: ({ image, name, options, namespace }) => {
    const images = ["ctr", "--namespace", namespace, "images"] as const;
    const plain = formatImageReference(name);
    return {
      find: [...images, "check", "--quiet", `name==${image}`],
      pull: [...images, "pull", ...options, image],
      tag: [...images, "tag", "--force", image, plain],
      // The label is the name's: an earlier image loses both. The kubelet spares such images since containerd 1.7 (containerd,
      // pkg/cri/labels, PinnedImageLabelKey).
      pin: [...images, "label", plain, "io.cri-containerd.pinned=pinned"],
    };
  },
} as const satisfies Record<string, (target: PullTarget) => RuntimeCommands>;

export type RuntimeName = keyof typeof runtimes;
