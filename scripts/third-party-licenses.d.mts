export interface BundledPackage {
  /** Name and version. */
  readonly title: string;
  /** As its package.json says, an SPDX expression. */
  readonly license: string;
  readonly texts: readonly string[];
}
export function packagesOf(modules: Iterable<string>): Promise<readonly BundledPackage[]>;
export function thirdPartyLicenses(packages: readonly BundledPackage[]): string;
