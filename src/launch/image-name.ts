/** A reference in the forms that other programs read. */

/** `repo:tag@sha256:…` → its parts; `digest` is null when it has none. */
export function splitReference(reference: string): {
  readonly repository: string;
  readonly tag: string | null;
  readonly digest: string | null;
} {
  const [name = "", digest = null] = reference.split("@");
  const colon = name.lastIndexOf(":");
  // A colon before a slash belongs to a registry's port.
  if (colon <= name.lastIndexOf("/")) return { repository: name, tag: null, digest };
  return { repository: name.slice(0, colon), tag: name.slice(colon + 1), digest };
}

/**
 * `repo@sha256:…`: programs on containers/image (podman, apptainer, CRI-O) and Mesos refuse a tag beside a digest
 * ("Docker references with both a tag and digest are currently not supported").
 */
export function byDigest(reference: string): string {
  const { repository, digest } = splitReference(reference);
  return digest === null ? reference : `${repository}@${digest}`;
}

/** `repo` of the name alone, for names of workloads: `cv-tf` of `registry.example.com/team/cv-tf:1.0`. */
export function baseName(reference: string): string {
  return splitReference(reference).repository.split("/").at(-1) ?? "app";
}

/** Lower case letters, digits and single hyphens, as DNS labels of at most 63 characters (RFC 1123). */
export function dnsName(text: string): string {
  const name = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");
  return name === "" ? "app" : name;
}
