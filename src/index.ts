/** The library. */
export { version } from "./version.ts";
