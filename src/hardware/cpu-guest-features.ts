/** CPU features that virtual machines and firmware hide from a system whose CPU has them. */

/**
 * Seen missing on machines whose CPU has them, in the captures of archspec (tests/targets/) and EESSI: `tsxldtrk` on AWS, `waitpkg`
 * on KVM guests, `rdpid` on Azure, the Arm ones on Grace, Axion and other clouds. No compiler emits one of them unless the source
 * names it. A CPU is known by what remains.
 */
export const guestHiddenFeatures: ReadonlySet<string> = new Set(
  "dit paca pacg rdpid rng svebitperm tsxldtrk waitpkg".split(" "),
);
