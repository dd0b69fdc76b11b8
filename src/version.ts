/** Replaced by the bundler with the version of package.json. */
declare const IMGMATCH_VERSION: string;

export const version: string = typeof IMGMATCH_VERSION === "string" ? IMGMATCH_VERSION : "0.0.0-dev";
