/** The macro of gcc and clang for each Linux feature name. */

/** Macros of the x86 compilers. A feature without a macro (lm, cmov, …) is part of every x86-64 compiler's baseline. */
const x86Macros: Readonly<Record<string, string>> = {
  __3dNOW__: "3dnow",
  __3dNOW_A__: "3dnowext",
  __ADX__: "adx",
  __AES__: "aes",
  __AMX_BF16__: "amx_bf16",
  __AMX_COMPLEX__: "amx_complex",
  __AMX_FP16__: "amx_fp16",
  __AMX_INT8__: "amx_int8",
  __AMX_TILE__: "amx_tile",
  // clang up to 15.
  __AMXBF16__: "amx_bf16",
  __AMXINT8__: "amx_int8",
  __AMXTILE__: "amx_tile",
  __AVX2__: "avx2",
  __AVX512BF16__: "avx512_bf16",
  __AVX512BITALG__: "avx512_bitalg",
  __AVX512BW__: "avx512bw",
  __AVX512CD__: "avx512cd",
  __AVX512DQ__: "avx512dq",
  __AVX512F__: "avx512f",
  __AVX512FP16__: "avx512_fp16",
  __AVX512IFMA__: "avx512ifma",
  __AVX512VBMI2__: "avx512_vbmi2",
  __AVX512VBMI__: "avx512vbmi",
  __AVX512VL__: "avx512vl",
  __AVX512VNNI__: "avx512_vnni",
  __AVX512VP2INTERSECT__: "avx512_vp2intersect",
  __AVX512VPOPCNTDQ__: "avx512_vpopcntdq",
  __AVXIFMA__: "avx_ifma",
  __AVXNECONVERT__: "avx_ne_convert",
  __AVXVNNIINT16__: "avx_vnni_int16",
  __AVXVNNIINT8__: "avx_vnni_int8",
  __AVXVNNI__: "avx_vnni",
  __AVX__: "avx",
  __BMI2__: "bmi2",
  __BMI__: "bmi1",
  __CLDEMOTE__: "cldemote",
  __CLFLUSHOPT__: "clflushopt",
  __CLWB__: "clwb",
  __CLZERO__: "clzero",
  __CMPCCXADD__: "cmpccxadd",
  __ENQCMD__: "enqcmd",
  __F16C__: "f16c",
  __FMA4__: "fma4",
  __FMA__: "fma",
  __FSGSBASE__: "fsgsbase",
  __FXSR__: "fxsr",
  __GCC_HAVE_SYNC_COMPARE_AND_SWAP_16: "cx16",
  __GFNI__: "gfni",
  __HLE__: "hle",
  __HRESET__: "hreset",
  __INVPCID__: "invpcid",
  __KL__: "kl",
  __LAHF_SAHF__: "lahf_lm",
  __LWP__: "lwp",
  __LZCNT__: "abm",
  __MMX__: "mmx",
  __MOVBE__: "movbe",
  __MOVDIR64B__: "movdir64b",
  __MOVDIRI__: "movdiri",
  __MWAITX__: "mwaitx",
  __PCLMUL__: "pclmulqdq",
  __PCONFIG__: "pconfig",
  __PKU__: "pku",
  __POPCNT__: "popcnt",
  __PREFETCHI__: "prefetchi",
  __PRFCHW__: "3dnowprefetch",
  __PTWRITE__: "ptwrite",
  __RDPID__: "rdpid",
  __RDPRU__: "rdpru",
  __RDRND__: "rdrand",
  __RDSEED__: "rdseed",
  __RTM__: "rtm",
  __SERIALIZE__: "serialize",
  __SGX__: "sgx",
  __SHA512__: "sha512",
  __SHA__: "sha_ni",
  __SHSTK__: "user_shstk",
  __SM3__: "sm3",
  __SM4__: "sm4",
  __SSE2__: "sse2",
  __SSE3__: "pni",
  __SSE4A__: "sse4a",
  __SSE4_1__: "sse4_1",
  __SSE4_2__: "sse4_2",
  __SSE__: "sse",
  __SSSE3__: "ssse3",
  __TBM__: "tbm",
  __TSXLDTRK__: "tsxldtrk",
  __UINTR__: "uintr",
  __USERMSR__: "usermsr",
  __VAES__: "vaes",
  __VPCLMULQDQ__: "vpclmulqdq",
  __WAITPKG__: "waitpkg",
  __WBNOINVD__: "wbnoinvd",
  __WIDEKL__: "widekl",
  __XOP__: "xop",
  __XSAVEC__: "xsavec",
  __XSAVEOPT__: "xsaveopt",
  __XSAVES__: "xsaves",
  __XSAVE__: "xsave",
};

/** Macros that a `-march` switches on beside its features: names of CPUs, widths, and parts of features named above. */
const x86OtherMacros =
  /^(__ABM__$|__tune_|__arch_|__FP_FAST_|__FLT_EVAL|__FLT16_|__BIGGEST_ALIGNMENT__|__CRC32__|__EVEX256__|__EVEX512__|__GCC_ASM_FLAG|__LAHF|__MWAIT__|__k8|__amdfam10|__(core|nehalem|westmere|corei7|sandybridge|ivybridge|haswell|broadwell|skylake|skx|cannonlake|icelake|cascadelake|cooperlake|tigerlake|rocketlake|alderlake|sapphirerapids|bonnell|atom|silvermont|slm|goldmont|tremont|znver|bdver|btver)[a-z0-9_]*$)/;

/** ACLE macros of the Arm compilers; one macro can stand for several Linux names. */
const armMacros: Readonly<Record<string, readonly string[]>> = {
  __ARM_FEATURE_AES: ["aes", "pmull"],
  __ARM_FEATURE_ATOMICS: ["atomics"],
  __ARM_FEATURE_BF16_VECTOR_ARITHMETIC: ["bf16"],
  __ARM_FEATURE_BTI: ["bti"],
  __ARM_FEATURE_COMPLEX: ["fcma"],
  __ARM_FEATURE_CRC32: ["crc32"],
  __ARM_FEATURE_CSSC: ["cssc"],
  __ARM_FEATURE_DOTPROD: ["asimddp"],
  __ARM_FEATURE_FP16_FML: ["asimdfhm"],
  __ARM_FEATURE_FP16_VECTOR_ARITHMETIC: ["fphp", "asimdhp"],
  __ARM_FEATURE_FRINT: ["frint"],
  __ARM_FEATURE_JCVT: ["jscvt"],
  __ARM_FEATURE_LS64: ["ls64"],
  __ARM_FEATURE_MATMUL_INT8: ["i8mm"],
  __ARM_FEATURE_MEMORY_TAGGING: ["mte"],
  __ARM_FEATURE_PAUTH: ["paca", "pacg"],
  __ARM_FEATURE_QRDMX: ["asimdrdm"],
  __ARM_FEATURE_RNG: ["rng"],
  __ARM_FEATURE_SHA2: ["sha1", "sha2"],
  __ARM_FEATURE_SHA3: ["sha3"],
  __ARM_FEATURE_SHA512: ["sha512"],
  __ARM_FEATURE_SM3: ["sm3"],
  __ARM_FEATURE_SM4: ["sm4"],
  __ARM_FEATURE_SME: ["sme"],
  __ARM_FEATURE_SME2: ["sme2"],
  __ARM_FEATURE_SME2p1: ["sme2p1"],
  __ARM_FEATURE_SME_B16B16: ["smeb16b16"],
  __ARM_FEATURE_SME_F16F16: ["smef16f16"],
  __ARM_FEATURE_SVE: ["sve"],
  __ARM_FEATURE_SVE2: ["sve2"],
  __ARM_FEATURE_SVE2_BITPERM: ["svebitperm"],
};

/** Macros that a `-march` or `-mcpu` switches on beside these: the architecture's number, and parts of features named above. */
const armOtherMacros =
  /^(__ARM_ARCH|__ARM_FEATURE_(BF16|BF16_SCALAR_ARITHMETIC|CRYPTO|FP16_SCALAR_ARITHMETIC|LOCALLY_STREAMING|RCPC|SVE_(B16B16|BF16|BITS|MATMUL_INT8|VECTOR_OPERATORS))$|__ARM_BF16_|__ARM_NEON_SVE_BRIDGE|__ARM_FP16|__FLT_EVAL|__FP_FAST_|__GCC_(ASM_FLAG|HAVE_SYNC_COMPARE_AND_SWAP)|__STDCPP|__HAVE_FUNCTION_MULTI_VERSIONING)/;

/** Macros of the RISC-V compilers: one for each extension, `__riscv_zba`. */
const riscvMacros: Readonly<Record<string, string>> = Object.fromEntries(
  "a c d f i m supm v za128rs za64rs zawrs zba zbb zbs zcb zcmop zfa zfhmin zic64b zicbom zicbop zicboz ziccamoa ziccif zicclsm ziccrse zicntr zicond zihintntl zihintpause zihpm zimop zkt zvbb zvfhmin zvkt"
    .split(" ")
    .map((name) => [`__riscv_${name}`, name]),
);

/** Parts of the extensions named above, zicsr and zifencei, which Linux takes for granted, and the ABI. */
const riscvOtherMacros =
  /^(__GCC_HAVE_SYNC|__FP_FAST_|__STDC_IEC)|^__riscv_(arch_test|atomic|b|cmodel_\w+|compressed|div|fdiv|flen|float_abi_\w+|fsqrt|misaligned_\w+|mul|muldiv|v_(elen|elen_fp|intrinsic|min_vlen)|vector|xlen|zaamo|zalrsc|zca|zcd|zicsr|zifencei|zmmul|zve\d+[dfx]|zvkb|zvl\d+b)$/;

export interface MacroVocabulary {
  /** Macro → Linux names. */
  readonly features: Readonly<Record<string, readonly string[]>>;
  /** Macros that stand for no feature of their own. */
  readonly other: RegExp;
  /** Options whose macros every march of the architecture has. */
  readonly baseline: readonly string[];
  /** True if the compiler has a macro for the feature. */
  hasMacro(feature: string): boolean;
}

/** Part of every x86-64 compiler's baseline, without a macro of its own. */
const withoutMacro = new Set(["lm", "cmov", "cx8", "fpu", "syscall"]);
const armFeatures = new Set(Object.values(armMacros).flat());

/** POWER has a macro for each generation, and none for features. */
export const vocabularies: Readonly<Record<"amd64" | "arm64" | "riscv64", MacroVocabulary>> = {
  amd64: {
    features: listed(x86Macros),
    other: x86OtherMacros,
    baseline: ["-march=x86-64"],
    hasMacro: (feature) => !withoutMacro.has(feature),
  },
  arm64: {
    features: armMacros,
    other: armOtherMacros,
    baseline: ["-march=armv8-a"],
    hasMacro: (feature) => armFeatures.has(feature),
  },
  riscv64: {
    features: listed(riscvMacros),
    other: riscvOtherMacros,
    baseline: ["-march=rv64i", "-mabi=lp64"],
    hasMacro: () => true,
  },
};

function listed(macros: Readonly<Record<string, string>>): MacroVocabulary["features"] {
  return Object.fromEntries(Object.entries(macros).map(([macro, feature]) => [macro, [feature]]));
}
