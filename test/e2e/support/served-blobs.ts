/** The bytes that an image takes in a registry, by its manifest. Uses nothing of imgmatch. */

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly platform?: { readonly os: string };
}

interface Manifest {
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  readonly manifests?: readonly Descriptor[];
}

const accept = ["oci.image.index.v1", "oci.image.manifest.v1", "docker.distribution.manifest.v2"]
  .map((type) => `application/vnd.${type}+json`)
  .join(", ");

/** Bytes of configuration and layers by the first 16 digits of their digests, each once; of an index, of the one image that it has beside attestations. */
export async function servedBlobs(repository: string, digest: string): Promise<Record<string, number>> {
  const [host, ...path] = repository.split("/");
  const url = `http://${host}/v2/${path.join("/")}`;
  const answer = await fetch(`${url}/manifests/${digest}`, { headers: { accept } });
  const { config, layers, manifests } = (await answer.json()) as Manifest;
  if (manifests !== undefined) {
    const [image, other] = manifests.filter(({ platform }) => platform?.os !== "unknown");
    if (image === undefined || other !== undefined) throw new Error(`${digest} is not one image`);
    return servedBlobs(repository, image.digest);
  }
  const sizes = await Promise.all(
    [config, ...layers].map(async (blob) => {
      const { headers } = await fetch(`${url}/blobs/${blob.digest}`, { method: "HEAD" });
      // The registry stores as many bytes as the manifest says.
      if (Number(headers.get("content-length")) !== blob.size) throw new Error(`${blob.digest}: other bytes`);
      return [blob.digest.slice(7, 23), blob.size] as const;
    }),
  );
  return Object.fromEntries(sizes);
}
