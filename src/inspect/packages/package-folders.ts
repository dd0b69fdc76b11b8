/**
 * Where distributions' packages put files. Sources: Debian Policy 9.1 (nothing in `/usr/local`, `/home`, `/srv` and the like), FHS 3.0
 * 3.13 (`/opt` is for add-ons). Three checksums of every library elsewhere would be a fifth of the time that an image takes.
 */

/** A path of an image, without a leading slash. */
export function mayBePackaged(path: string): boolean {
  return /^(?:bin|sbin|lib\w*|usr(?!\/local\/)|boot|etc|var)\//.test(path);
}
