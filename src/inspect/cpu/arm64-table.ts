/**
 * AArch64 instructions that need more than Armv8.0-A: `[mask, value, feature]`, the feature by its Linux name, two where both are needed. Source: Arm
 * Architecture Reference Manual DDI 0487, the encoding of the instruction named behind each row (chapters C6 and C7, and C4 for
 * SVE and SME); features: Linux `Documentation/arch/arm64/elf_hwcaps.rst`. `null` is an instruction of Armv8.0-A that a later row
 * would take for something else. The first row that fits counts.
 */

export type Arm64Row = readonly [mask: number, value: number, feature: string | null];

// biome-ignore format: one row per line
export const arm64Rows: readonly Arm64Row[] = [
  // Loads, stores and atomics.
  [0xfffffc00, 0xf83fd000, "ls64"], // LD64B
  [0xffe0ec00, 0xf820a000, "ls64"], // ST64BV, ST64BV0
  [0xfffffc00, 0xf83f9000, "ls64"], // ST64B
  [0x3ffffc00, 0x38bfc000, "lrcpc"], // LDAPR, LDAPRB, LDAPRH
  [0x3f200c00, 0x38200000, "atomics"], // LDADD, LDCLR, LDEOR, LDSET, LDSMAX, LDSMIN, LDUMAX, LDUMIN, SWP
  [0x3fa07c00, 0x08a07c00, "atomics"], // CAS, CASB, CASH
  [0xbfa07c00, 0x08207c00, "atomics"], // CASP
  [0xff200400, 0xf8200400, "paca"], // LDRAA, LDRAB
  [0xff200000, 0xd9200000, "mte"], // STG, STZG, ST2G, STZ2G, LDG, LDGM, STGM
  [0xffc00000, 0x68800000, "mte"], // STGP (after)
  [0xff400000, 0x69000000, "mte"], // STGP (offset, before)
  [0x3f200c00, 0x19000000, "ilrcpc"], // LDAPUR, STLUR
  [0x3fe00c00, 0x1dc00400, "mops mte"], // SETGP, SETGM, SETGE
  [0x3b200c00, 0x19000400, "mops"], // CPYF…, CPY…, SET…
  // Integers.
  [0x7fe0e000, 0x1ac04000, "crc32"], // CRC32, CRC32C
  [0xffe0fc00, 0x9ac03000, "pacg"], // PACGA
  [0xffe0fc00, 0x9ac01000, "mte"], // IRG
  [0xffe0fc00, 0x9ac01400, "mte"], // GMI
  [0xdfe0fc00, 0x9ac00000, "mte"], // SUBP, SUBPS
  [0xbfc0c000, 0x91800000, "mte"], // ADDG, SUBG
  [0xffff8000, 0xdac10000, "paca"], // PACIA … AUTDZB, XPACI, XPACD
  [0xfe9ff800, 0xd61f0800, "paca"], // BRAA, BLRAA, BRAAZ, BLRAAZ
  [0xfffffbff, 0xd65f0bff, "paca"], // RETAA, RETAB
  [0xffffffff, 0xd500401f, "flagm"], // CFINV
  [0xffe07c10, 0xba000400, "flagm"], // RMIF
  [0xffffbc1f, 0x3a00080d, "flagm"], // SETF8, SETF16
  [0xffffffff, 0xd500405f, "flagm2"], // AXFLAG
  [0xffffffff, 0xd500403f, "flagm2"], // XAFLAG
  [0xffffffff, 0xd50330ff, "sb"], // SB
  [0xffffffc0, 0xd53b2400, "rng"], // MRS RNDR, RNDRRS
  [0x7ffffc00, 0x5ac02000, "cssc"], // ABS
  [0x7ffff800, 0x5ac01800, "cssc"], // CTZ, CNT
  [0x7fe0f000, 0x1ac06000, "cssc"], // SMAX, UMAX, SMIN, UMIN (register)
  [0x7fc00000, 0x11c00000, "cssc"], // SMAX, UMAX, SMIN, UMIN (immediate)
  // Cryptography.
  [0xffffcc00, 0x4e284800, "aes"], // AESE, AESD, AESMC, AESIMC
  [0xbfe0fc00, 0x0ee0e000, "pmull"], // PMULL, PMULL2 of 64 bits
  [0xffe0cc00, 0x5e000000, "sha1"], // SHA1C, SHA1P, SHA1M, SHA1SU0
  [0xffffec00, 0x5e280800, "sha1"], // SHA1H, SHA1SU1
  [0xffe0ec00, 0x5e004000, "sha2"], // SHA256H, SHA256H2
  [0xffe0fc00, 0x5e006000, "sha2"], // SHA256SU1
  [0xfffffc00, 0x5e282800, "sha2"], // SHA256SU0
  [0xffe0f800, 0xce608000, "sha512"], // SHA512H, SHA512H2
  [0xffe0fc00, 0xce608800, "sha512"], // SHA512SU1
  [0xfffffc00, 0xcec08000, "sha512"], // SHA512SU0
  [0xffc08000, 0xce000000, "sha3"], // EOR3, BCAX
  [0xffe0fc00, 0xce608c00, "sha3"], // RAX1
  [0xffe00000, 0xce800000, "sha3"], // XAR
  [0xffe08000, 0xce400000, "sm3"], // SM3SS1
  [0xffe0c000, 0xce408000, "sm3"], // SM3TT1A … SM3TT2B
  [0xffe0f800, 0xce60c000, "sm3"], // SM3PARTW1, SM3PARTW2
  [0xfffffc00, 0xcec08400, "sm4"], // SM4E
  [0xffe0fc00, 0xce60c800, "sm4"], // SM4EKEY
  // Products of small numbers.
  [0x9fe0fc00, 0x0e809400, "asimddp"], // SDOT, UDOT (vector)
  [0x9fc0f400, 0x0f80e000, "asimddp"], // SDOT, UDOT (by element)
  [0xdfe0fc00, 0x4e80a400, "i8mm"], // SMMLA, UMMLA
  [0xffe0fc00, 0x4e80ac00, "i8mm"], // USMMLA
  [0xbfe0fc00, 0x0e809c00, "i8mm"], // USDOT (vector)
  [0xbf40f400, 0x0f00f000, "i8mm"], // USDOT, SUDOT (by element)
  [0xbfe0fc00, 0x2e40fc00, "bf16"], // BFDOT (vector)
  [0xffe0fc00, 0x6e40ec00, "bf16"], // BFMMLA
  [0xbfe0fc00, 0x2ec0fc00, "bf16"], // BFMLALB, BFMLALT (vector)
  [0xbf40f400, 0x0f40f000, "bf16"], // BFDOT, BFMLALB, BFMLALT (by element)
  [0xfffffc00, 0x1e634000, "bf16"], // BFCVT
  [0xbffffc00, 0x0ea16800, "bf16"], // BFCVTN, BFCVTN2
  [0xbf60fc00, 0x0e20ec00, "asimdfhm"], // FMLAL, FMLSL (vector)
  [0xbf60fc00, 0x2e20cc00, "asimdfhm"], // FMLAL2, FMLSL2 (vector)
  [0xbfc0b400, 0x0f800000, "asimdfhm"], // FMLAL, FMLSL (by element)
  [0xbfc0b400, 0x2f808000, "asimdfhm"], // FMLAL2, FMLSL2 (by element)
  [0xbf20f400, 0x2e008400, "asimdrdm"], // SQRDMLAH, SQRDMLSH (vector)
  [0xff20f400, 0x7e008400, "asimdrdm"], // SQRDMLAH, SQRDMLSH (scalar)
  [0xaf00d400, 0x2f00d000, "asimdrdm"], // SQRDMLAH, SQRDMLSH (by element, vector and scalar)
  [0xbfe0e400, 0x2e40c400, "asimdhp fcma"], // FCMLA (vector) of half precision
  [0xbfe0ec00, 0x2e40e400, "asimdhp fcma"], // FCADD of half precision
  [0xbfc09400, 0x2f401000, "asimdhp fcma"], // FCMLA (by element) of half precision
  [0xbf20e400, 0x2e00c400, "fcma"], // FCMLA (vector)
  [0xbf20ec00, 0x2e00e400, "fcma"], // FCADD
  [0xbf009400, 0x2f001000, "fcma"], // FCMLA (by element)
  // Floating point.
  [0xfffffc00, 0x1e7e0000, "jscvt"], // FJCVTZS
  [0xffbe7c00, 0x1e284000, "frint"], // FRINT32Z, FRINT32X, FRINT64Z, FRINT64X (scalar)
  [0x9fbfec00, 0x0e21e800, "frint"], // the same (vector)
  [0xfffffc00, 0x1ee24000, null], // FCVT Sd, Hn: of Armv8.0-A
  [0xfffffc00, 0x1ee2c000, null], // FCVT Dd, Hn: of Armv8.0-A
  [0x7fc00000, 0x1ec00000, "fphp"], // scalar operations and conversions of half precision (ftype 11)
  [0xffc00000, 0x1fc00000, "fphp"], // FMADD, FMSUB, FNMADD, FNMSUB of half precision
  [0x9f60c400, 0x0e400400, "asimdhp"], // three registers of half precision
  [0xdf60c400, 0x5e400400, "asimdhp"], // the same (scalar)
  [0x9f7e0c00, 0x0e780800, "asimdhp"], // two registers of half precision
  [0xdf7e0c00, 0x5e780800, "asimdhp"], // the same (scalar)
  [0xbfc0b400, 0x0f001000, "asimdhp"], // FMLA, FMLS (by element) of half precision
  [0x9fc0f400, 0x0f009000, "asimdhp"], // FMUL, FMULX (by element) of half precision
  [0xdfc0b400, 0x5f001000, "asimdhp"], // FMLA, FMLS (scalar, by element) of half precision
  [0xdfc0f400, 0x5f009000, "asimdhp"], // FMUL, FMULX (scalar, by element) of half precision
  [0xbff8fc00, 0x0f00fc00, "asimdhp"], // FMOV (vector, immediate) of half precision
  // Whole groups (C4.1): every instruction of SVE and of SME.
  [0x1e000000, 0x04000000, "sve"],
  [0x9e000000, 0x80000000, "sme"],
];

/** Instructions of these stand among those of SVE, and the table does not tell them apart: with `sve` they may be there. */
export const undecidedWithSve: readonly string[] = [
  "sme",
  "sve2",
  "sve2p1",
  "sveaes",
  "svebf16",
  "svebitperm",
  "svef32mm",
  "svef64mm",
  "svei8mm",
  "svepmull",
  "svesha3",
  "svesm4",
];
