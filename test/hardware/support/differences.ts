/**
 * Every difference between the march tables and one compiler, with its reason. The tables are the union of what gcc and clang
 * say, so that each compiler alone knows less; what a compiler says beyond the table must be wrong about the CPU.
 */

export interface Difference {
  readonly compiler: "gcc" | "clang";
  /** `table`: the compiler has no macro for it. `compiler`: the compiler defines a macro, the table leaves it out. */
  readonly only: "table" | "compiler";
  readonly marches: RegExp;
  readonly features: readonly string[];
  /** Major versions of the compiler that differ; every version without it. */
  readonly versions?: readonly number[];
  readonly why: string;
}

export const differences: readonly Difference[] = [
  {
    compiler: "gcc",
    only: "table",
    marches: /./,
    features: ["hle", "invpcid", "rdpru", "user_shstk"],
    why: "gcc defines no macro for them under -march; nobody needs them",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /./,
    features: ["hle"],
    why: "clang does not know HLE; nobody needs it",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^(skylake-avx512|cascadelake|cooperlake)$/,
    features: ["sgx"],
    why: "gcc alone implies it; nobody needs it",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^tremont$/,
    features: ["cldemote", "movdir64b", "movdiri", "waitpkg"],
    why: "gcc alone implies them",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^alderlake$/,
    features: ["cldemote"],
    why: "gcc implies it, clang stopped doing so after 16; nobody needs it",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^btver1$/,
    features: ["xsave"],
    why: "gcc alone implies it",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^amdfam10$/,
    features: ["3dnow", "3dnowext"],
    why: "clang 19 dropped 3DNow!",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^sierraforest$/,
    features: ["enqcmd", "uintr"],
    versions: [16, 17, 18],
    why: "later clang implies them; nobody needs them",
  },
  {
    compiler: "clang",
    only: "compiler",
    marches: /^(arrowlake|meteorlake|raptorlake)$/,
    features: ["cldemote"],
    versions: [16, 17, 18, 19],
    why: "dropped by later clang: a hint that nobody needs",
  },
  {
    compiler: "gcc",
    only: "compiler",
    marches: /^sapphirerapids$/,
    features: ["avx512_vp2intersect"],
    versions: [11, 12],
    why: "the CPU does not have it, gcc 13 dropped it",
  },
  {
    compiler: "gcc",
    only: "table",
    marches: /^(armv8\.5-a|armv9-a|ampere1|neoverse-.*)$/,
    features: ["bti", "paca", "pacg"],
    why: "gcc defines these macros only with -mbranch-protection",
  },
  {
    compiler: "gcc",
    only: "table",
    marches: /^a64fx$/,
    features: ["fcma", "sha1", "sha2"],
    why: "clang implies them and the CPU has them",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^a64fx$/,
    features: ["fcma"],
    why: "clang implies the extension but defines no macro",
  },
  {
    compiler: "gcc",
    only: "table",
    marches: /^ampere1$/,
    features: "aes asimdfhm asimdhp fphp pmull rng sha1 sha2 sha3 sha512".split(" "),
    versions: [11, 12],
    why: "gcc 12 takes ampere1 for plain armv8.6-a, clang knows the core",
  },
  {
    compiler: "gcc",
    only: "table",
    marches: /^neoverse-(n1|n2|v1|v2)$/,
    features: "aes pmull sha1 sha2 sha3 sha512 sm3 sm4".split(" "),
    why: "cryptography is an extension of its own in gcc, and part of the core in clang",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^neoverse-n2$/,
    features: "aes pmull sha1 sha2 sha3 sha512".split(" "),
    versions: [17, 18, 19, 20, 21, 22],
    why: "clang 16 alone implies them, the CPU has them",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^neoverse-n2$/,
    features: ["rng"],
    why: "gcc alone implies it",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^armv9-a$/,
    features: ["asimdfhm"],
    why: "gcc alone implies it",
  },
  {
    compiler: "clang",
    only: "table",
    marches: /^apple-m1$/,
    features: ["frint"],
    versions: [17, 18, 19, 20, 21, 22],
    why: "clang defines the macro from armv8.5-a on, and takes the core for armv8.4-a with extensions",
  },
  {
    compiler: "clang",
    only: "compiler",
    marches: /^a64fx$/,
    features: ["aes", "pmull"],
    why: "the CPU does not have them",
  },
  {
    compiler: "clang",
    only: "compiler",
    marches: /^neoverse-n2$/,
    features: ["sm3", "sm4"],
    versions: [16],
    why: "hosts with this core lack them, later clang does not imply them",
  },
  {
    compiler: "clang",
    only: "compiler",
    marches: /^apple-m1$/,
    features: ["bti", "sm3", "sm4"],
    versions: [16],
    why: "the CPU does not have them, later clang does not imply them",
  },
];
