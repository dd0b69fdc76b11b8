/**
 * AArch64 instructions that every CPU of Armv8.0-A with floating point and Advanced SIMD executes.
 * `[mask, value, features]`, written by scripts/arm64-table.mjs from LLVM 19.1 (Apache-2.0 WITH LLVM-exception),
 * `llvm/lib/Target/AArch64/*.td`, behind each row the first of its instructions. They are described in Arm's DDI 0487, C6 to C9.
 */

import type { Arm64Row } from "./arm64-row.ts";

// biome-ignore format: one row per line
export const arm64BaseRows: readonly Arm64Row[] = [
  [0x3fe07c00, 0x08007c00, ""], // stxrb stxrh stlxrb stlxrh stxr stlxr
  [0x3fff7c00, 0x085f7c00, ""], // ldxrb ldxrh ldaxrb ldaxrh ldxr ldaxr
  [0x3fbffc00, 0x089ffc00, ""], // stlrb ldarb stlrh ldarh stlr ldar
  [0x9f008000, 0x0a000000, ""], // and bic orr orn eor …
  [0x9fa08000, 0x0b000000, ""], // add adds sub subs
  [0x1fe01000, 0x0b200000, ""], // add adds sub subs
  [0x1fe01c00, 0x0b201000, ""], // add adds sub subs
  [0x9fe08000, 0x0b800000, ""], // add adds sub subs
  [0xbfbf9800, 0x0c000000, ""], // st4 ld4 st1 ld1 st3 ld3
  [0xbfbf9c00, 0x0c000800, ""], // st4 ld4 st1 ld1 st3 ld3
  [0xbfbfbc00, 0x0c002c00, ""], // st1 ld1
  [0xbfbff000, 0x0c007000, ""], // st1 ld1
  [0xbfbfd800, 0x0c008000, ""], // st2 ld2 st1 ld1
  [0xbfbfdc00, 0x0c008800, ""], // st2 ld2 st1 ld1
  [0xbfbffc00, 0x0c00ac00, ""], // st1 ld1
  [0xbfa09800, 0x0c800000, ""], // st4 st1 st3 ld4 ld1 ld3
  [0xbfa09c00, 0x0c800800, ""], // st4 st1 st3 ld4 ld1 ld3
  [0xbfa0bc00, 0x0c802c00, ""], // st1 ld1
  [0xbfa0f000, 0x0c807000, ""], // st1 ld1
  [0xbfa0d400, 0x0c808000, ""], // st2 st1 ld2 ld1
  [0xbfa0dc00, 0x0c808400, ""], // st2 st1 ld2 ld1
  [0xbfa0fc00, 0x0c80ac00, ""], // st1 ld1
  [0xbf9fc000, 0x0d000000, ""], // st1 st3 st2 st4 ld1 …
  [0xbf9fc400, 0x0d004000, ""], // st1 st3 st2 st4 ld1 …
  [0xbf9fcc00, 0x0d008000, ""], // st1 st3 st2 st4 ld1 …
  [0xbf9fdc00, 0x0d008400, ""], // st1 st3 st2 st4 ld1 …
  [0xbfdfd000, 0x0d40c000, ""], // ld1r ld3r ld2r ld4r
  [0xbf80c000, 0x0d800000, ""], // st1 st3 st2 st4 ld1 …
  [0xbf80c400, 0x0d804000, ""], // st1 st3 st2 st4 ld1 …
  [0xbf80cc00, 0x0d808000, ""], // st1 st3 st2 st4 ld1 …
  [0xbf80dc00, 0x0d808400, ""], // st1 st3 st2 st4 ld1 …
  [0xbfc0d000, 0x0dc0c000, ""], // ld1r ld3r ld2r ld4r
  [0xbfe08c00, 0x0e000000, ""], // tbl tbx
  [0xbfa09c00, 0x0e001800, ""], // uzp1 zip1 uzp2 zip2
  [0xbfa0bc00, 0x0e002800, ""], // trn1 trn2
  [0xbfe1f400, 0x0e010400, ""], // dup
  [0xbfe1fc00, 0x0e012c00, ""], // smov
  [0xffe1fc00, 0x0e013c00, ""], // umov
  [0xbfe3f400, 0x0e020400, ""], // dup
  [0xbfe3fc00, 0x0e022c00, ""], // smov
  [0xffe3fc00, 0x0e023c00, ""], // umov
  [0xbfe7f400, 0x0e040400, ""], // dup
  [0xffe7fc00, 0x0e043c00, ""], // umov
  [0x9fa08800, 0x0e200000, ""], // saddl saddl2 ssubl ssubl2 addhn …
  [0x9fbf9c00, 0x0e200800, ""], // rev64 saddlp cls sadalp rev32 …
  [0x9fa08c00, 0x0e200c00, ""], // sqadd sqsub sqshl smin and …
  [0xbfffbc00, 0x0e201800, ""], // rev16 cnt
  [0x9faffc00, 0x0e203800, ""], // suqadd usqadd saddlv uaddlv
  [0xbfbefc00, 0x0e207800, ""], // sqabs fcvtl fcvtl2
  [0xbfe09800, 0x0e208000, ""], // smlal smlal2 smlsl smlsl2 smull …
  [0x9fa0dc00, 0x0e208000, ""], // smlal smlal2 smlsl smlsl2 umlal …
  [0x9ee0e400, 0x0e208400, ""], // mla mls rshrn rshrn2 sqrshrun …
  [0x9f60d400, 0x0e208400, ""], // cmtst sminp cmeq uminp add smaxp
  [0xbfbfcc00, 0x0e208800, ""], // cmgt cmlt cmeq abs
  [0xbfe09c00, 0x0e209c00, ""], // mul addp fmulx frecps
  [0x9f60f800, 0x0e20c000, ""], // smull smull2 umull umull2 fminnm
  [0xbf60fc00, 0x0e20cc00, ""], // fmla fmls
  [0x9fe0d400, 0x0e20d400, ""], // fadd fmax faddp fmaxp fmul fdiv
  [0x9fbffc00, 0x0e212800, ""], // xtn xtn2 sqxtun sqxtun2
  [0xbfbfdc00, 0x0e214800, ""], // sqxtn sqxtn2 fcvtn fcvtn2
  [0xff7fcc00, 0x0e218800, ""], // frintn fcvtns frintm fcvtms frintp …
  [0xdf7fec00, 0x0e21c800, ""], // fcvtas fcvtau scvtf ucvtf frecpe
  [0x9fbefc00, 0x0e30a800, ""], // smaxv umaxv sminv uminv
  [0xbfbffc00, 0x0e31b800, ""], // addv
  [0xbfe0c400, 0x0e608400, ""], // add smaxp cmtst sminp mla …
  [0xbfe0dc00, 0x0e609000, ""], // sqdmlal sqdmlal2 sqdmlsl sqdmlsl2
  [0x9fe0fc00, 0x0e60c000, ""], // smull smull2 umull umull2
  [0xbfe0fc00, 0x0e60d000, ""], // sqdmull sqdmull2
  [0xbfe09c00, 0x0e801800, ""], // uzp1 zip1 uzp2 zip2
  [0xbfe0bc00, 0x0e802800, ""], // trn1 trn2
  [0x9fe08800, 0x0ea00000, ""], // saddl saddl2 ssubl ssubl2 addhn …
  [0xbfff9c00, 0x0ea00800, ""], // rev64 saddlp cls sadalp
  [0x9fe08c00, 0x0ea00c00, ""], // sqadd sqsub sqshl smin orr …
  [0x9fffac00, 0x0ea02800, ""], // suqadd usqadd sqabs sqneg uaddlp
  [0x9fe0dc00, 0x0ea08000, ""], // smlal smlal2 smlsl smlsl2 umlal …
  [0xffff8c00, 0x0ea08800, ""], // cmgt cmlt cmeq abs fcmgt …
  [0xbfe0dc00, 0x0ea09000, ""], // sqdmlal sqdmlal2 sqdmlsl sqdmlsl2
  [0xbfe09c00, 0x0ea09400, ""], // mla sqdmulh fsub fmin
  [0xbfe0dc00, 0x0ea09c00, ""], // mul addp
  [0xbfe0fc00, 0x0ea0d000, ""], // sqdmull sqdmull2
  [0xbfe0fc00, 0x0ea0fc00, ""], // frsqrts
  [0x9fff7c00, 0x0ea12800, ""], // xtn xtn2 fcvtpu
  [0x9fff7c00, 0x0ea14800, ""], // sqxtn sqxtn2 urecpe uqxtn uqxtn2 ursqrte
  [0x9fe0fc00, 0x0ee01c00, ""], // orn bif
  [0x9ff88c00, 0x0f000400, ""], // movi orr mvni bic
  [0x9fc05c00, 0x0f000400, ""], // sshll ushll sshll2 ushll2 sshr …
  [0x9fc09c00, 0x0f001400, ""], // shl sli sqshl uqshl ssra srsra
  [0x9ff8cc00, 0x0f008400, ""], // movi orr mvni bic
  [0x9ff8ec00, 0x0f00c400, ""], // movi mvni
  [0x9ff8fc00, 0x0f00e400, ""], // movi
  [0xfff8fc00, 0x0f00f400, ""], // fmov
  [0x9ff8e400, 0x0f088400, ""], // shrn sqshrun shrn2 sqshrun2 sqshrn …
  [0x9ff0e400, 0x0f108400, ""], // shrn sqshrun shrn2 sqshrun2 sqshrn …
  [0x9fe0fc00, 0x0f20e400, ""], // scvtf ucvtf
  [0x9fe0fc00, 0x0f20fc00, ""], // fcvtzs fcvtzu
  [0xbfc0a400, 0x0f402000, ""], // smlal smlal2 smlsl smlsl2 sqdmlal …
  [0xbfc0b400, 0x0f408000, ""], // mul sqdmulh
  [0xbfc0e400, 0x0f40a000, ""], // smull smull2 sqdmull sqdmull2
  [0xafc0e400, 0x0f40c000, ""], // sqrdmulh sqdmulh
  [0xbfc0b400, 0x0f801000, ""], // fmla fmls
  [0xbfc0a400, 0x0f802000, ""], // smlal smlal2 smlsl smlsl2 sqdmlal …
  [0xbfc0a400, 0x0f808000, ""], // mul sqdmulh fmul sqrdmulh
  [0xbfc0e400, 0x0f80a000, ""], // smull smull2 sqdmull sqdmull2
  [0x1f000000, 0x10000000, ""], // adr adrp
  [0x1f800000, 0x11000000, ""], // add adds sub subs
  [0xbf400000, 0x12000000, ""], // and movn eor movz
  [0xdfe08000, 0x13000000, ""], // sbfm bfm
  [0xffe08000, 0x13800000, ""], // extr
  [0x5c000000, 0x14000000, ""], // b bl cbz cbnz tbz tbnz
  [0x7b000000, 0x18000000, ""], // ldr ldrsw
  [0x1fe0fc00, 0x1a000000, ""], // adc sbc adcs sbcs
  [0x3fe00800, 0x1a800000, ""], // csel csinv csinc csneg
  [0x7fe0d800, 0x1ac00800, ""], // udiv asr sdiv ror
  [0x7fe0f800, 0x1ac02000, ""], // lsl lsr
  [0xffe00000, 0x1b000000, ""], // madd msub
  [0xffbe8000, 0x1e028000, ""], // scvtf ucvtf
  [0xffbe8000, 0x1e188000, ""], // fcvtzs fcvtzu
  [0x7fa6fc00, 0x1e200000, ""], // fcvtns fcvtnu fcvtps fcvtpu fcvtms …
  [0xffa00400, 0x1e200400, ""], // fccmp fccmpe fcsel
  [0xffa08c00, 0x1e200800, ""], // fmul fadd fdiv fsub fmax …
  [0xffa01fe0, 0x1e201000, ""], // fmov
  [0xffa0fc07, 0x1e202000, ""], // fcmp fcmpe
  [0xffba7c00, 0x1e204000, ""], // fmov fneg fabs fsqrt frintn …
  [0xffa0fc00, 0x1e208800, ""], // fnmul
  [0x7fbefc00, 0x1e220000, ""], // scvtf ucvtf
  [0xfffffc00, 0x1e22c000, ""], // fcvt
  [0xffbbfc00, 0x1e23c000, ""], // fcvt frinti
  [0x7fbefc00, 0x1e240000, ""], // fcvtas fcvtau
  [0xfffefc00, 0x1e260000, ""], // fmov
  [0xffbefc00, 0x1e264000, ""], // frinta frintx
  [0xff7ffc00, 0x1e624000, ""], // fcvt
  [0xfffffc00, 0x1ee2c000, ""], // fcvt
  [0xff800000, 0x1f000000, ""], // fmadd fmsub fnmadd fnmsub
  [0x7a000000, 0x28000000, ""], // stnp stp ldnp ldp
  [0xffe0c400, 0x2e000000, ""], // ext
  [0xbfbfdc00, 0x2e205800, ""], // not rbit sqneg
  [0xbfe09c00, 0x2e208400, ""], // sub umaxp fmaxnmp fcmge
  [0xbfbffc00, 0x2e208800, ""], // cmge
  [0xbfbfdc00, 0x2e209800, ""], // cmle neg
  [0xbf60fc00, 0x2e20ec00, ""], // facge facgt
  [0xbfbffc00, 0x2e213800, ""], // shll shll2
  [0xbfbffc00, 0x2e214800, ""], // uqxtn uqxtn2
  [0xffffcc00, 0x2e218800, ""], // frinta fcvtnu frintx fcvtmu
  [0xbfe0d400, 0x2e608400, ""], // sub umaxp cmeq uminp
  [0xbfe0dc00, 0x2e609400, ""], // mls sqrdmulh
  [0xbffffc00, 0x2e616800, ""], // fcvtxn fcvtxn2
  [0xbfffdc00, 0x2ea04800, ""], // clz uadalp
  [0xbfe08c00, 0x2ea08400, ""], // sub umaxp fminnmp fcmgt mls …
  [0xffffbc00, 0x2ea08800, ""], // cmge fcmge
  [0xfffe9c00, 0x2ea09800, ""], // cmle neg fcmle fneg frinti …
  [0xbfffec00, 0x2ea12800, ""], // sqxtun sqxtun2 shll shll2
  [0xbfc08c00, 0x2f000400, ""], // sri sqshlu ushr urshr usra …
  [0xbfc09400, 0x2f400000, ""], // mla mls umlal umlal2 umlsl umlsl2
  [0xbfc0f400, 0x2f40a000, ""], // umull umull2
  [0xbfc09400, 0x2f800000, ""], // mla mls umlal umlal2 umlsl umlsl2
  [0xbfc0f400, 0x2f809000, ""], // fmulx
  [0xbfc0f400, 0x2f80a000, ""], // umull umull2
  [0xffc00000, 0x32000000, ""], // orr
  [0xbf200000, 0x38000000, ""], // sturb sturh strb strh ldurb …
  [0x3ba04c00, 0x38204800, ""], // strb ldrb str ldr strh ldrh
  [0xfba04c00, 0x38a04800, ""], // ldrsb str ldr
  [0xfb000000, 0x39000000, ""], // strb ldrsb ldrb str ldr
  [0x3b800000, 0x39000000, ""], // str ldr
  [0x3fe00410, 0x3a400000, ""], // ccmn ccmp
  [0x3fa00800, 0x3c000000, ""], // stur str ldur ldr
  [0x3fa00c00, 0x3c000c00, ""], // str ldr
  [0xffa00800, 0x3c800000, ""], // stur ldur str ldr
  [0xffa00c00, 0x3c800c00, ""], // str ldr
  [0xffbfbc00, 0x4c000c00, ""], // st4 ld4 st3 ld3
  [0xffbffc00, 0x4c008c00, ""], // st2 ld2
  [0xffa0bc00, 0x4c800c00, ""], // st4 ld4 st3 ld3
  [0xffa0fc00, 0x4c808c00, ""], // st2 ld2
  [0xffe1fc00, 0x4e011c00, ""], // ins
  [0xffe3fc00, 0x4e021c00, ""], // ins
  [0xffe7fc00, 0x4e041c00, ""], // ins
  [0xffe7fc00, 0x4e042c00, ""], // smov
  [0xffeff400, 0x4e080400, ""], // dup
  [0xffefdc00, 0x4e081c00, ""], // ins umov
  [0xcf20dc00, 0x4e200c00, ""], // sqadd uqadd sqsub uqsub
  [0xcf3fbc00, 0x4e203800, ""], // suqadd usqadd sqabs sqneg
  [0xcf20ec00, 0x4e204c00, ""], // sqshl uqshl sqrshl uqrshl
  [0xdfbfec00, 0x4e218800, ""], // frintn frinta frintm frintx
  [0xcf3fec00, 0x4e21a800, ""], // fcvtns fcvtnu fcvtms fcvtmu fcvtps …
  [0xcfbfec00, 0x4e21c800, ""], // fcvtas fcvtau scvtf ucvtf
  [0xdf60ec00, 0x4e60c400, ""], // fmaxnm fmaxnmp fadd faddp fminnm …
  [0xff60fc00, 0x4e60cc00, ""], // fmla fmls
  [0xdfe0dc00, 0x4e60dc00, ""], // fmulx fmul frecps fdiv
  [0xdfe0ec00, 0x4e60e400, ""], // fcmeq fcmge fmax fmaxp
  [0xdfbfec00, 0x4ea08800, ""], // cmgt cmge cmeq cmle
  [0xffbfbc00, 0x4ea0a800, ""], // cmlt fcmlt
  [0xdfbfbc00, 0x4ea0b800, ""], // abs neg fabs fneg
  [0xcfbfec00, 0x4ea0c800, ""], // fcmgt fcmge fcmeq fcmle
  [0xffbffc00, 0x4ea18800, ""], // frintp
  [0xdfbffc00, 0x4ea19800, ""], // frintz frinti
  [0xcfbffc00, 0x4ea1d800, ""], // frecpe frsqrte
  [0xdffffc00, 0x4eb03800, ""], // saddlv uaddlv
  [0xdffefc00, 0x4eb0a800, ""], // smaxv umaxv sminv uminv
  [0xfffffc00, 0x4eb1b800, ""], // addv
  [0xffe09c00, 0x4ec01800, ""], // uzp1 zip1 uzp2 zip2
  [0xffe0bc00, 0x4ec02800, ""], // trn1 trn2
  [0xcfe0ec00, 0x4ee02c00, ""], // sqsub uqsub cmge cmhs
  [0xcfe0fc00, 0x4ee03400, ""], // cmgt cmhi
  [0xcfe0ec00, 0x4ee04400, ""], // sshl ushl srshl urshl
  [0xcfe0f400, 0x4ee08400, ""], // add sub cmtst cmeq
  [0xffe0bc00, 0x4ee0bc00, ""], // addp frsqrts
  [0xdfe0fc00, 0x4ee0f400, ""], // fmin fminp
  [0xdff8fc00, 0x4f00f400, ""], // fmov
  [0xcfc0cc00, 0x4f400400, ""], // sshr ushr srshr urshr ssra …
  [0xcfc0dc00, 0x4f405400, ""], // shl sli sqshl uqshl
  [0xcfc0fc00, 0x4f40e400, ""], // scvtf ucvtf
  [0xcfc0fc00, 0x4f40fc00, ""], // fcvtzs fcvtzu
  [0xefe0b400, 0x4fc01000, ""], // fmla fmls
  [0xcfe0f400, 0x4fc09000, ""], // fmul fmulx
  [0xffe08000, 0x53000000, ""], // ubfm
  [0xff000010, 0x54000000, ""], // b.$cond
  [0x7f000000, 0x58000000, ""], // ldr prfm
  [0x7fffe800, 0x5ac00000, ""], // rbit rev16 clz cls
  [0xfffffc00, 0x5ac00800, ""], // rev
  [0xff000000, 0x5c000000, ""], // ldr
  [0xffe1fc00, 0x5e010400, ""], // mov
  [0xffe3fc00, 0x5e020400, ""], // mov
  [0xffe7fc00, 0x5e040400, ""], // mov
  [0xffeffc00, 0x5e080400, ""], // mov
  [0xffa0dc00, 0x5e20dc00, ""], // fmulx frecps
  [0xdea0fc00, 0x5e20e400, ""], // fcmeq fcmge scvtf ucvtf
  [0xdfbffc00, 0x5e214800, ""], // sqxtn uqxtn
  [0xffe0dc00, 0x5e609000, ""], // sqdmlal sqdmlsl
  [0xdfe0fc00, 0x5e60b400, ""], // sqdmulh sqrdmulh
  [0xffe0fc00, 0x5e60d000, ""], // sqdmull
  [0xffe0dc00, 0x5ea09000, ""], // sqdmlal sqdmlsl
  [0xdfe0fc00, 0x5ea0b400, ""], // sqdmulh sqrdmulh
  [0xffe0fc00, 0x5ea0d000, ""], // sqdmull
  [0xffbffc00, 0x5ea0e800, ""], // fcmlt
  [0xffa0fc00, 0x5ea0fc00, ""], // frsqrts
  [0xdffffc00, 0x5ea14800, ""], // sqxtn uqxtn
  [0xffbffc00, 0x5ea1f800, ""], // frecpx
  [0xffffcc00, 0x5ee08800, ""], // cmgt cmlt cmeq abs
  [0xfffffc00, 0x5ef1b800, ""], // addp
  [0xdff8fc00, 0x5f087400, ""], // sqshl uqshl
  [0xdff8f400, 0x5f089400, ""], // sqshrn uqshrn sqrshrn uqrshrn
  [0xdff0fc00, 0x5f107400, ""], // sqshl uqshl
  [0xdff0f400, 0x5f109400, ""], // sqshrn uqshrn sqrshrn uqrshrn
  [0xdfe0fc00, 0x5f207400, ""], // sqshl uqshl
  [0xdfe0f400, 0x5f209400, ""], // sqshrn uqshrn sqrshrn uqrshrn
  [0xdfe0fc00, 0x5f20fc00, ""], // fcvtzs fcvtzu
  [0xffc0b400, 0x5f403000, ""], // sqdmlal sqdmlsl
  [0xffc0f400, 0x5f40b000, ""], // sqdmull
  [0xffc09400, 0x5f801000, ""], // fmla fmls sqdmlal sqdmlsl
  [0xffc0b400, 0x5f809000, ""], // fmul sqrdmulh
  [0xffc0f400, 0x5f80b000, ""], // sqdmull
  [0xffc0f400, 0x5f80c000, ""], // sqdmulh
  [0xffc00000, 0x68c00000, ""], // ldpsw
  [0xff400000, 0x69400000, ""], // ldpsw
  [0xfe000000, 0x6c000000, ""], // stnp stp ldnp ldp
  [0xffe08400, 0x6e000000, ""], // ext
  [0xffe18400, 0x6e010400, ""], // ins
  [0xffe38400, 0x6e020400, ""], // ins
  [0xffe78400, 0x6e040400, ""], // ins
  [0xffef8400, 0x6e080400, ""], // ins
  [0xef20f400, 0x6e20e400, ""], // facge facgt fcmgt
  [0xff7ffc00, 0x6e30c800, ""], // fmaxnmv fminnmv
  [0xff7ffc00, 0x6e30f800, ""], // fmaxv fminv
  [0xffbffc00, 0x6ea1f800, ""], // fsqrt
  [0xefc0dc00, 0x6f404400, ""], // sri sqshlu
  [0xff400000, 0x72000000, ""], // ands movk
  [0xffa04c00, 0x78a04800, ""], // ldrsh
  [0xff000000, 0x79000000, ""], // strh ldrsh ldrh
  [0xffbffc00, 0x7e212800, ""], // sqxtun
  [0xff3ffc00, 0x7e30c800, ""], // fmaxnmp fminnmp
  [0xffbffc00, 0x7e30d800, ""], // faddp
  [0xff3ffc00, 0x7e30f800, ""], // fmaxp fminp
  [0xfffffc00, 0x7e616800, ""], // fcvtxn
  [0xffa0fc00, 0x7ea0d400, ""], // fabd
  [0xfffffc00, 0x7ea12800, ""], // sqxtun
  [0xfffffc00, 0x7ee08800, ""], // cmge
  [0xffffdc00, 0x7ee09800, ""], // cmle neg
  [0xfff8fc00, 0x7f086400, ""], // sqshlu
  [0xfff8f400, 0x7f088400, ""], // sqshrun sqrshrun
  [0xfff0fc00, 0x7f106400, ""], // sqshlu
  [0xfff0f400, 0x7f108400, ""], // sqshrun sqrshrun
  [0xffe0fc00, 0x7f206400, ""], // sqshlu
  [0xffe0f400, 0x7f208400, ""], // sqshrun sqrshrun
  [0xffc0f400, 0x7f809000, ""], // fmulx
  [0xbfe00000, 0x88200000, ""], // stxp stlxp
  [0xbfff0000, 0x887f0000, ""], // ldxp ldaxp
  [0x9f000000, 0x8a000000, ""], // and bic orr orn eor …
  [0x9fa00000, 0x8b000000, ""], // add adds sub subs
  [0x9fe00000, 0x8b800000, ""], // add adds sub subs
  [0x9f800000, 0x92000000, ""], // and orr eor ands
  [0xff800000, 0x92800000, ""], // movn
  [0xbfc00000, 0x93400000, ""], // sbfm ubfm
  [0xffe00000, 0x93c00000, ""], // extr
  [0xffc00000, 0x9b000000, ""], // madd msub smaddl smsubl
  [0xff60fc00, 0x9b407c00, ""], // smulh umulh
  [0xffe00000, 0x9ba00000, ""], // umaddl umsubl
  [0xffbe0000, 0x9e020000, ""], // scvtf ucvtf
  [0xffbe0000, 0x9e180000, ""], // fcvtzs fcvtzu
  [0xfffefc00, 0x9e660000, ""], // fmov
  [0xfffefc00, 0x9eae0000, ""], // fmov
  [0xffc00000, 0xb3400000, ""], // bfm
  [0xbfa00000, 0xb8000000, ""], // stur str ldur ldr sttr ldtr
  [0xbfe00c00, 0xb8800000, ""], // ldursw prfum
  [0xffe00000, 0xb8800000, ""], // ldrsw ldtrsw
  [0xbfe04c00, 0xb8a04800, ""], // ldrsw prfm rprfm
  [0xbf400000, 0xb9000000, ""], // str ldrsw prfm
  [0xdf800000, 0xd2800000, ""], // movz movk
  [0xffe0001f, 0xd4000001, ""], // svc
  [0xffe0001e, 0xd4000002, ""], // hvc smc
  [0xffe0001f, 0xd4200000, ""], // brk
  [0xffe0001f, 0xd4400000, ""], // hlt
  [0xffe0001f, 0xd4a00001, ""], // dcps1
  [0xffe0001e, 0xd4a00002, ""], // dcps2 dcps3
  [0xfffff01f, 0xd503201f, ""], // hint
  [0xfffff07f, 0xd503305f, ""], // clrex isb
  [0xfffff0df, 0xd503309f, ""], // dsb dmb
  [0xffdffc1f, 0xd61f0000, ""], // br blr
  [0xfffffc1f, 0xd65f0000, ""], // ret
  [0xffdfffff, 0xd69f03e0, ""], // eret drps
  [0xfffff800, 0xdac00800, ""], // rev32 rev
];
