/** What an image takes in a registry by its manifest alone, read with nothing of imgmatch. */

/** `http://HOST/v2/…` by digest; bytes of configuration and layers by the first 16 digits of their digests, each once. */
export async function servedBlobs(repository: string, digest: string): Promise<Record<string, number>> {
  const [host, ...path] = repository.split("/");
  const accept = ["oci.image.manifest.v1", "docker.distribution.manifest.v2"]
    .map((type) => `application/vnd.${type}+json`)
    .join(", ");
  const answer = await fetch(`http://${host}/v2/${path.join("/")}/manifests/${digest}`, {
    headers: { accept },
  });
  const { config, layers } = (await answer.json()) as {
    readonly config: { readonly digest: string; readonly size: number };
    readonly layers: readonly { readonly digest: string; readonly size: number }[];
  };
  const sizes = await Promise.all(
    [config, ...layers].map(async (blob) => {
      const head = await fetch(`http://${host}/v2/${path.join("/")}/blobs/${blob.digest}`, {
        method: "HEAD",
      });
      // What is stored is what the manifest says.
      if (Number(head.headers.get("content-length")) !== blob.size)
        throw new Error(`${blob.digest}: other bytes`);
      return [blob.digest.slice(7, 23), blob.size] as const;
    }),
  );
  return Object.fromEntries(sizes);
}
