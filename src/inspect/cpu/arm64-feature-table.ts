/**
 * AArch64 instructions beyond Armv8.0-A, without SVE and SME.
 * `[mask, value, features]`, written by scripts/arm64-table.mjs from LLVM 19.1 (Apache-2.0 WITH LLVM-exception),
 * `llvm/lib/Target/AArch64/*.td`, behind each row the first of its instructions. They are described in Arm's DDI 0487, C6 to C9.
 */

import type { Arm64Row } from "./arm64-row.ts";

// biome-ignore format: one row per line
export const arm64FeatureRows: readonly Arm64Row[] = [
  [0xffffcc00, 0x4e284800, "aes"], // aese aesd aesmc aesimc
  [0x9fe0fc00, 0x0e809400, "asimddp"], // sdot udot
  [0x9fc0f400, 0x0f80e000, "asimddp"], // sdot udot
  [0xbf60fc00, 0x0e20ec00, "asimdfhm"], // fmlal fmlsl
  [0xbfc0b400, 0x0f800000, "asimdfhm"], // fmlal fmlsl
  [0xbf60fc00, 0x2e20cc00, "asimdfhm"], // fmlal2 fmlsl2
  [0xbfc0b400, 0x2f808000, "asimdfhm"], // fmlal2 fmlsl2
  [0xbf7ffc00, 0x0e30c800, "asimdhp"], // fmaxnmv fminnmv
  [0xbf7ffc00, 0x0e30f800, "asimdhp"], // fmaxv fminv
  [0xbf60f400, 0x0e400400, "asimdhp"], // fmaxnm fminnm fmla fmls
  [0x9f60ec00, 0x0e400400, "asimdhp"], // fadd fsub fmaxnmp fminnmp faddp fabd
  [0x9fe0dc00, 0x0e401c00, "asimdhp"], // fmulx fmul fdiv
  [0xbfe0fc00, 0x0e402400, "asimdhp"], // fcmeq
  [0xbf60f400, 0x0e403400, "asimdhp"], // fmax fmin frecps frsqrts
  [0x9fffcc00, 0x0e798800, "asimdhp"], // frintn frinta frintm frintx fcvtns …
  [0x9fffec00, 0x0e79c800, "asimdhp"], // fcvtas fcvtau scvtf ucvtf
  [0x9fffec00, 0x0ef8c800, "asimdhp"], // fcmgt fcmge fcmeq fcmle
  [0xbffffc00, 0x0ef8e800, "asimdhp"], // fcmlt
  [0x9ffffc00, 0x0ef8f800, "asimdhp"], // fabs fneg
  [0xbffffc00, 0x0ef98800, "asimdhp"], // frintp
  [0x9fffbc00, 0x0ef99800, "asimdhp"], // frintz frinti frecpe frsqrte
  [0x9fffec00, 0x0ef9a800, "asimdhp"], // fcvtps fcvtpu fcvtzs fcvtzu
  [0xffc0b400, 0x0f001000, "asimdhp"], // fmla fmls
  [0xdfc0f400, 0x0f009000, "asimdhp"], // fmul fmulx
  [0xbff8fc00, 0x0f00fc00, "asimdhp"], // fmov
  [0xdff0fc00, 0x0f10e400, "asimdhp"], // scvtf ucvtf
  [0xdff0fc00, 0x0f10fc00, "asimdhp"], // fcvtzs fcvtzu
  [0xbf60f400, 0x2e402400, "asimdhp"], // fcmge fcmgt facge facgt
  [0xbf60fc00, 0x2e403400, "asimdhp"], // fmaxp fminp
  [0xbffffc00, 0x2ef9f800, "asimdhp"], // fsqrt
  [0xefc0b400, 0x4f001000, "asimdhp"], // fmla fmls
  [0xcfc0f400, 0x4f009000, "asimdhp"], // fmul fmulx
  [0xcff0fc00, 0x4f10e400, "asimdhp"], // scvtf ucvtf
  [0xcff0fc00, 0x4f10fc00, "asimdhp"], // fcvtzs fcvtzu
  [0xff7ffc00, 0x5e30c800, "asimdhp"], // fmaxnmp fminnmp
  [0xfffffc00, 0x5e30d800, "asimdhp"], // faddp
  [0xff7ffc00, 0x5e30f800, "asimdhp"], // fmaxp fminp
  [0xffe0fc00, 0x5e401c00, "asimdhp"], // fmulx
  [0xffe0fc00, 0x5e402400, "asimdhp"], // fcmeq
  [0xff60fc00, 0x5e403c00, "asimdhp"], // frecps frsqrts
  [0xdf7fec00, 0x5e79a800, "asimdhp"], // fcvtns fcvtnu fcvtms fcvtmu fcvtps …
  [0xdfffec00, 0x5e79c800, "asimdhp"], // fcvtas fcvtau scvtf ucvtf
  [0xdfffec00, 0x5ef8c800, "asimdhp"], // fcmgt fcmge fcmeq fcmle
  [0xfffffc00, 0x5ef8e800, "asimdhp"], // fcmlt
  [0xdffffc00, 0x5ef9d800, "asimdhp"], // frecpe frsqrte
  [0xfffffc00, 0x5ef9f800, "asimdhp"], // frecpx
  [0xff60f400, 0x7e402400, "asimdhp"], // fcmge fcmgt facge facgt
  [0xffe0fc00, 0x7ec01400, "asimdhp"], // fabd
  [0xbfe0e400, 0x2e40c400, "asimdhp fcma"], // fcmla
  [0xbfe0ec00, 0x2e40e400, "asimdhp fcma"], // fcadd
  [0xffc09c00, 0x2f401000, "asimdhp fcma"], // fcmla
  [0xffc09400, 0x6f401000, "asimdhp fcma"], // fcmla
  [0xffe0f400, 0x2e408400, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xffe0f400, 0x2e808400, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xffc0d400, 0x2f40d000, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xffc0d400, 0x2f80d000, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xefe0f400, 0x6e408400, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xefe0f400, 0x6e808400, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xefc0d400, 0x6f40d000, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xefc0d400, 0x6f80d000, "asimdrdm"], // sqrdmlah sqrdmlsh
  [0xbf207c00, 0x08207c00, "atomics"], // casp caspa casb casab cash …
  [0x3f208c00, 0x38200000, "atomics"], // ldaddb ldaddlb ldaddh ldaddlh ldaddab …
  [0x3f20fc00, 0x38208000, "atomics"], // swpb swplb swph swplh swpab …
  [0xbfa07c00, 0x88a07c00, "atomics"], // cas casa casl casal
  [0xbffffc00, 0x0ea16800, "bf16"], // bfcvtn bfcvtn2
  [0xbf40f400, 0x0f40f000, "bf16"], // bfdot bfmlalb bfmlalt
  [0xfffffc00, 0x1e634000, "bf16"], // bfcvt
  [0xbf60fc00, 0x2e40fc00, "bf16"], // bfdot bfmlalb bfmlalt
  [0xffe0fc00, 0x6e40ec00, "bf16"], // bfmmla
  [0xbfe0e000, 0x9a002000, "cpa"], // addpt subpt
  [0xffe00000, 0x9b600000, "cpa"], // maddpt msubpt
  [0xffe0e800, 0x1ac04000, "crc32"], // crc32b crc32cb crc32h crc32ch
  [0xffe0ec00, 0x1ac04800, "crc32"], // crc32w crc32cw
  [0xffe0ec00, 0x9ac04c00, "crc32"], // crc32x crc32cx
  [0x7ff00000, 0x11c00000, "cssc"], // smax umax smin umin
  [0x7fe0f000, 0x1ac06000, "cssc"], // smax umax smin umin
  [0x7ffff800, 0x5ac01800, "cssc"], // ctz cnt
  [0x7ffffc00, 0x5ac02000, "cssc"], // abs
  [0xbf20fc00, 0x19200c00, "d128 the"], // rcwcasp rcwcaspl rcwcaspa rcwcaspal rcwscasp …
  [0xbf20fc00, 0x19209000, "d128 the"], // rcwclrp rcwclrpl rcwclrpa rcwclrpal rcwsclrp …
  [0xbf20ec00, 0x1920a000, "d128 the"], // rcwswpp rcwswppl rcwswppa rcwswppal rcwsswpp …
  [0xbfa0fc00, 0x0e00f400, "f8cvt"], // fcvtn fcvtn2
  [0xbf3ffc00, 0x2e217800, "f8cvt"], // f1cvtl f2cvtl bf1cvtl bf2cvtl f1cvtl2 …
  [0xbfe0fc00, 0x2ea0fc00, "f8cvt"], // fscale
  [0xbfe0fc00, 0x2ec03c00, "f8cvt"], // fscale
  [0xffe0fc00, 0x6ee0fc00, "f8cvt"], // fscale
  [0xbfe0fc00, 0x0e40fc00, "f8dp2"], // fdot
  [0xbfc0f400, 0x0f400000, "f8dp2"], // fdot
  [0xffe0f400, 0x64204400, "f8dp2"], // fdot
  [0xffe0fc00, 0x64208400, "f8dp2"], // fdot
  [0xbfe0fc00, 0x0e00fc00, "f8dp4"], // fdot
  [0xbfc0f400, 0x0f000000, "f8dp4"], // fdot
  [0xffe0fc00, 0x64604400, "f8dp4"], // fdot
  [0xffe0fc00, 0x64608400, "f8dp4"], // fdot
  [0xbfa0fc00, 0x0e00c400, "f8fma"], // fmlallbb fmlalltb fmlallbt fmlalltt
  [0xbfe0fc00, 0x0ec0fc00, "f8fma"], // fmlalb fmlalt
  [0xbfc0f400, 0x0fc00000, "f8fma"], // fmlalb fmlalt
  [0xbf80f400, 0x2f008000, "f8fma"], // fmlallbb fmlalltb fmlallbt fmlalltt
  [0xff60f000, 0x64205000, "f8fma"], // fmlalb fmlalt
  [0xffe0cc00, 0x64208800, "f8fma"], // fmlallbb fmlallbt fmlalltb fmlalltt
  [0xff20f000, 0x6420c000, "f8fma"], // fmlallbb fmlalltb fmlallbt fmlalltt
  [0xffe0ec00, 0x64a08800, "f8fma"], // fmlalb fmlalt
  [0x9fe0fc00, 0x0ea0dc00, "faminmax"], // famax famin
  [0x9fe0fc00, 0x0ec01c00, "faminmax"], // famax famin
  [0xdfe0fc00, 0x4ee0dc00, "faminmax"], // famax famin
  [0xffe0e400, 0x2e80c400, "fcma"], // fcmla
  [0xffe0ec00, 0x2e80e400, "fcma"], // fcadd
  [0xffa0e400, 0x6e80c400, "fcma"], // fcmla
  [0xffa0ec00, 0x6e80e400, "fcma"], // fcadd
  [0xffe09400, 0x6f801000, "fcma"], // fcmla
  [0xffffbc1f, 0x3a00080d, "flagm"], // setf8 setf16
  [0xffe07c10, 0xba000400, "flagm"], // rmif
  [0xffffffff, 0xd500401f, "flagm"], // cfinv
  [0xffffffff, 0xd500403f, "flagm2"], // xaflag
  [0xffffffff, 0xd500405f, "flagm2"], // axflag
  [0xfffe8000, 0x1ec28000, "fphp"], // scvtf ucvtf
  [0xfffe8000, 0x1ed88000, "fphp"], // fcvtzs fcvtzu
  [0x7ff8fc00, 0x1ee00000, "fphp"], // fcvtns fcvtnu scvtf ucvtf fcvtas …
  [0x7fe6fc00, 0x1ee00000, "fphp"], // fcvtps fcvtpu fcvtms fcvtmu fcvtzs fcvtzu
  [0xffe00400, 0x1ee00400, "fphp"], // fccmp fccmpe fcsel
  [0xffe08c00, 0x1ee00800, "fphp"], // fmul fdiv fadd fsub fmax …
  [0xffe01fe0, 0x1ee01000, "fphp"], // fmov
  [0xffe0fc07, 0x1ee02000, "fphp"], // fcmp fcmpe
  [0xfffa7c00, 0x1ee04000, "fphp"], // fmov fneg fabs fsqrt frintn …
  [0xffe0fc00, 0x1ee08800, "fphp"], // fnmul
  [0xfffefc00, 0x1ee64000, "fphp"], // frinta frintx
  [0xfffffc00, 0x1ee7c000, "fphp"], // frinti
  [0xffc00000, 0x1fc00000, "fphp"], // fmadd fmsub fnmadd fnmsub
  [0xfffe0000, 0x9ec20000, "fphp"], // scvtf ucvtf
  [0xfffe0000, 0x9ed80000, "fphp"], // fcvtzs fcvtzu
  [0xdfffec00, 0x0e21e800, "frint"], // frint32z frint64z frint32x frint64x
  [0xffbe7c00, 0x1e284000, "frint"], // frint32z frint32x frint64z frint64x
  [0xdfbfec00, 0x4e21e800, "frint"], // frint32z frint64z frint32x frint64x
  [0xffffec00, 0xd91f0c00, "gcs"], // gcsstr gcssttr
  [0xff000010, 0x54000010, "hbc"], // bc.$cond
  [0xbfe0fc00, 0x0e809c00, "i8mm"], // usdot
  [0xbf40f400, 0x0f00f000, "i8mm"], // sudot usdot
  [0xffe0f400, 0x4e80a400, "i8mm"], // smmla usmmla
  [0xffe0fc00, 0x6e80a400, "i8mm"], // ummla
  [0xbf200c00, 0x19000000, "ilrcpc"], // stlurb ldapurb stlurh ldapurh ldapursb ldapursh
  [0xbfa00c00, 0x99000000, "ilrcpc"], // stlur ldapur
  [0xffe00c00, 0x99800000, "ilrcpc"], // ldapursw
  [0xfffffc00, 0x1e7e0000, "jscvt"], // fjcvtzs
  [0x3fbffc00, 0x089f7c00, "lor"], // stllrb ldlarb stllrh ldlarh stllr ldlar
  [0x3ffffc00, 0x38bfc000, "lrcpc"], // ldaprb ldaprh ldapr
  [0xbfbffc00, 0x0d018400, "lrcpc3"], // stl1 ldap1
  [0x3fa00c00, 0x1d000800, "lrcpc3"], // stlur ldapur
  [0xffa00c00, 0x1d800800, "lrcpc3"], // stlur ldapur
  [0xbfa0ec00, 0x99000800, "lrcpc3"], // stilp ldiapp
  [0xbfbffc00, 0x99800800, "lrcpc3"], // stlr ldapr
  [0xffe0ec00, 0xf820a000, "ls64"], // st64bv0 st64bv
  [0xffffbc00, 0xf83f9000, "ls64"], // st64b ld64b
  [0xff20dc00, 0x19201000, "lse128"], // ldclrp ldclrpl ldclrpa ldclrpal ldsetp …
  [0xff20fc00, 0x19208000, "lse128"], // swpp swppl swppa swppal
  [0xffe09c00, 0x4e401000, "lut"], // luti4
  [0xffe0bc00, 0x4e402000, "lut"], // luti4
  [0xffe09c00, 0x4e801000, "lut"], // luti2
  [0xffe08c00, 0x4ec00000, "lut"], // luti2
  [0xfba00c00, 0x19000400, "mops"], // cpyfp cpyfpwt cpyfprt cpyfpt cpyfpwn …
  [0xfbe00c00, 0x19800400, "mops"], // cpyfe cpyfewt cpyfert cpyfet cpyfewn …
  [0xffe08c00, 0x19c00400, "mops"], // setp setpt setpn setptn setm …
  [0xffe0cc00, 0x19c08400, "mops"], // sete setet seten setetn
  [0xffe08c00, 0x1dc00400, "mops mte"], // setgp setgpt setgpn setgptn setgm …
  [0xffe0cc00, 0x1dc08400, "mops mte"], // setge setget setgen setgetn
  [0xffc00000, 0x68800000, "mte"], // stgp
  [0xff400000, 0x69000000, "mte"], // stgp
  [0xbfc0c000, 0x91800000, "mte"], // addg subg
  [0xdfe0fc00, 0x9ac00000, "mte"], // subp subps
  [0xffe0f800, 0x9ac01000, "mte"], // irg gmi
  [0xff3ffc00, 0xd9200000, "mte"], // stzgm stgm ldgm
  [0xff200c00, 0xd9200400, "mte"], // stg stzg st2g stz2g
  [0xff200800, 0xd9200800, "mte"], // stg stzg st2g stz2g
  [0xffe00c00, 0xd9600000, "mte"], // ldg
  [0xffdff81f, 0xd61f081f, "paca"], // braaz brabz blraaz blrabz
  [0xfffffbff, 0xd65f0bff, "paca"], // retaa retab
  [0xfffffbff, 0xd69f0bff, "paca"], // eretaa eretab
  [0xffdff800, 0xd71f0800, "paca"], // braa brab blraa blrab
  [0xffffe000, 0xdac10000, "paca"], // pacia pacib pacda pacdb autia …
  [0xffffe3e0, 0xdac123e0, "paca"], // paciza pacizb pacdza pacdzb autiza …
  [0xfffffbe0, 0xdac143e0, "paca"], // xpaci xpacd
  [0xff200400, 0xf8200400, "paca"], // ldraa ldrab
  [0xffe0fc00, 0x9ac03000, "pacg"], // pacga
  [0xffc0001f, 0x5500001f, "pauth_lr"], // retaasppc retabsppc
  [0xfffffbe0, 0xd65f0be0, "pauth_lr"], // retaasppcr retabsppcr
  [0xfffff3ff, 0xdac183fe, "pauth_lr"], // pacnbiasppc pacnbibsppc pacia171615 pacib171615
  [0xfffff81f, 0xdac1901e, "pauth_lr"], // autiasppcr autibsppcr
  [0xfffffbff, 0xdac1a3fe, "pauth_lr"], // paciasppc pacibsppc
  [0xfffffbff, 0xdac1bbfe, "pauth_lr"], // autia171615 autib171615
  [0xffc0001f, 0xf380001f, "pauth_lr"], // autiasppc autibsppc
  [0xbfe0fc00, 0x0ee0e000, "pmull"], // pmull pmull2
  [0xffffffff, 0xd50330ff, "sb"], // sb
  [0xffe0cc00, 0x5e000000, "sha1"], // sha1c sha1p sha1m sha1su0
  [0xffffec00, 0x5e280800, "sha1"], // sha1h sha1su1
  [0xffe0ec00, 0x5e004000, "sha2"], // sha256h sha256h2
  [0xffe0fc00, 0x5e006000, "sha2"], // sha256su1
  [0xfffffc00, 0x5e282800, "sha2"], // sha256su0
  [0xffc08000, 0xce000000, "sha3"], // eor3 bcax
  [0xffe0fc00, 0xce608c00, "sha3"], // rax1
  [0xffe00000, 0xce800000, "sha3"], // xar
  [0xffe0f800, 0xce608000, "sha512"], // sha512h sha512h2
  [0xffe0fc00, 0xce608800, "sha512"], // sha512su1
  [0xfffffc00, 0xcec08000, "sha512"], // sha512su0
  [0xffe08000, 0xce400000, "sm3"], // sm3ss1
  [0xffe0c000, 0xce408000, "sm3"], // sm3tt1a sm3tt1b sm3tt2a sm3tt2b
  [0xffe0f800, 0xce60c000, "sm3"], // sm3partw1 sm3partw2
  [0xffe0fc00, 0xce60c800, "sm4"], // sm4ekey
  [0xfffffc00, 0xcec08400, "sm4"], // sm4e
  [0xffa0f800, 0x04205800, "sme"], // addsvl addspl
  [0xfffff800, 0x04bf5800, "sme"], // rdsvl
  [0xbf20fc00, 0x19200800, "the"], // rcwcas rcwcasl rcwcasa rcwcasal rcwscas …
  [0xbf20fc00, 0x38209000, "the"], // rcwclr rcwclrl rcwclra rcwclral rcwsclr …
  [0xbf20ec00, 0x3820a000, "the"], // rcwswp rcwswpl rcwswpa rcwswpal rcwsswp …
  [0xffe0001f, 0xd4600000, "tme"], // tcancel
  [0xffffffff, 0xd503307f, "tme"], // tcommit
  [0xfffffee0, 0xd5233060, "tme"], // tstart ttest
  [0xffffffc0, 0xd5031000, "wfxt"], // wfet wfit
  [0xfffff3ff, 0xd503323f, "xs"], // dsb
];
