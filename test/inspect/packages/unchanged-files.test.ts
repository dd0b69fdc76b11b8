import { expect, it } from "vitest";
import { mayBePackaged } from "../../../src/inspect/packages/unchanged-files.ts";

it.each(["usr/lib/x86_64-linux-gnu/libc.so.6", "lib64/ld-linux-x86-64.so.2", "bin/busybox", "var/lib/x"])(
  "%s may be a package's",
  (path) => expect(mayBePackaged(path)).toBe(true),
);

it.each(["usr/local/lib/libc.so.6", "opt/conda/lib/libc.so.6", "home/usr/bin/x", "app", "libx", "usr"])(
  "%s is none's",
  (path) => expect(mayBePackaged(path)).toBe(false),
);
