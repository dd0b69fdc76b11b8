/** The commands by which each container runtime gets an image under a name: one entry each. */

import { formatImageReference, type ImageReference } from "../oci/reference.ts";

export interface PullTarget {
  /** `repository@sha256:…` */
  readonly image: string;
  /** The plain name that the image is to have here. */
  readonly name: ImageReference;
  /** Further options of the pull, for what only one runtime knows. */
  readonly options: readonly string[];
  /** The namespace of containerd that keeps it; null for runtimes without namespaces. */
  readonly namespace: string;
}

export type Argv = readonly [string, ...string[]];

export interface RuntimeCommands {
  /** Prints something where the image is here already, whole; null where the runtime cannot tell, and is to pull each time. */
  readonly find: Argv | null;
  readonly pull: Argv;
  readonly tag: Argv;
  /** Keeps it from garbage collection; null where the runtime has no such word. */
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
  // Of containerd, with docker's words and logins. It finds no image by a digest, and sets no label by which containerd keeps one.
  nerdctl: (target) => ({ ...docker("nerdctl", target, ["--namespace", target.namespace]), find: null }),
  containerd: ({ image, name, options, namespace }) => {
    const images = ["ctr", "--namespace", namespace, "images"] as const;
    const plain = formatImageReference(name);
    return {
      find: [...images, "check", "--quiet", `name==${image}`],
      pull: [...images, "pull", ...options, image],
      tag: [...images, "tag", "--force", image, plain],
      // The name alone: an image of before loses its name to this one, and with it what kept it. (containerd, pkg/cri/labels:
      // PinnedImageLabelKey; the kubelet spares such images since containerd 1.7.)
      pin: [...images, "label", plain, "io.cri-containerd.pinned=pinned"],
    };
  },
} as const satisfies Record<string, (target: PullTarget) => RuntimeCommands>;

export type RuntimeName = keyof typeof runtimes;
