/**
 * AArch64 instructions of SVE and its extensions.
 * `[mask, value, features]`, written by scripts/arm64-table.mjs from LLVM 19.1 (Apache-2.0 WITH LLVM-exception),
 * `llvm/lib/Target/AArch64/*.td`, behind each row the first of its instructions. They are described in Arm's DDI 0487, C6 to C9.
 */

import type { Arm64Row } from "./arm64-row.ts";

// biome-ignore format: one row per line
export const arm64SveRows: readonly Arm64Row[] = [
  [0xfffee000, 0x04c40000, "cpa sve"], // addpt subpt
  [0xffe0f800, 0x04e00800, "cpa sve"], // addpt subpt
  [0xffe0f400, 0x44c0d000, "cpa sve"], // mlapt madpt
  [0xfffef000, 0x65083000, "f8cvt sve2"], // f1cvt f2cvt bf1cvt bf2cvt f1cvtlt …
  [0xfffff020, 0x650a3000, "f8cvt sve2"], // fcvtn fcvtnb bfcvtn fcvtnt
  [0xfffee000, 0x654e8000, "faminmax sve2"], // famax famin
  [0xffbee000, 0x658e8000, "faminmax sve2"], // famax famin
  [0xff20ec00, 0x4520a800, "lut sve2"], // luti2
  [0xff20f000, 0x4520b000, "lut sve2"], // luti2 luti4
  [0xff60fc00, 0x4560a400, "lut sve2"], // luti4
  [0xff3ee000, 0x04000000, "sve"], // add sub
  [0xffbee000, 0x04002000, "sve"], // saddv uaddv
  [0xff204000, 0x04004000, "sve"], // mla mls mad msb
  [0xfffee300, 0x04008100, "sve"], // asr lsr
  [0xfffee200, 0x04008200, "sve"], // asr lsr
  [0xff3fe000, 0x04030000, "sve"], // subr
  [0xffffe300, 0x04038100, "sve"], // lsl
  [0xffffe200, 0x04038200, "sve"], // lsl
  [0xffffe300, 0x04048100, "sve"], // asrd
  [0xffffe200, 0x04048200, "sve"], // asrd
  [0xff3cc000, 0x04080000, "sve"], // smax umax smin umin smaxv …
  [0xff3ee000, 0x040c0000, "sve"], // sabd uabd
  [0xff3fe000, 0x04100000, "sve"], // mul
  [0xff36e000, 0x04102000, "sve"], // movprfx orv eorv
  [0xff3ae000, 0x04108000, "sve"], // asr lsr asrr lsrr
  [0xff3ee000, 0x04120000, "sve"], // smulh umulh
  [0xff3be000, 0x04138000, "sve"], // lsl lslr
  [0xff3ee000, 0x0416a000, "sve"], // abs neg
  [0xff3ce000, 0x04180000, "sve"], // orr eor and bic
  [0xffbee000, 0x04188000, "sve"], // asr lsr
  [0xff3ce000, 0x0418a000, "sve"], // cls clz cnt cnot
  [0xff3fe000, 0x041a2000, "sve"], // andv
  [0xffbfe000, 0x041b8000, "sve"], // lsl
  [0xff3fe000, 0x041ea000, "sve"], // not
  [0xff20f800, 0x04200000, "sve"], // add sub
  [0xff20f000, 0x04201000, "sve"], // sqadd uqadd sqsub uqsub
  [0xfe20fc00, 0x04203000, "sve"], // and orr eor bic tbl
  [0xff20f000, 0x04204000, "sve"], // index
  [0xffa0f800, 0x04205000, "sve"], // addvl addpl
  [0xffa0f800, 0x04208000, "sve"], // asr lsr
  [0xffa0fc00, 0x04208c00, "sve"], // lsl
  [0xff20f000, 0x0420a000, "sve"], // adr
  [0xfffffc00, 0x0420bc00, "sve"], // movprfx
  [0xff30fc00, 0x0420e000, "sve"], // cntb cnth cntw cntd
  [0xff20f000, 0x0420f000, "sve"], // sqincb uqincb sqinch uqinch sqdecb …
  [0xfff8f800, 0x04289000, "sve"], // asr lsr
  [0xfff8fc00, 0x04289c00, "sve"], // lsl
  [0xfff0f800, 0x04309000, "sve"], // asr lsr
  [0xfff0fc00, 0x04309c00, "sve"], // lsl
  [0xffb0f800, 0x0430e000, "sve"], // incb decb inch dech
  [0xfffee000, 0x04408000, "sve"], // asr lsr
  [0xffffe000, 0x04438000, "sve"], // lsl
  [0xffffe000, 0x04448000, "sve"], // asrd
  [0xfffee000, 0x0450a000, "sve"], // sxtb uxtb
  [0xfffee000, 0x045ca000, "sve"], // fabs fneg
  [0xffe0f800, 0x04609000, "sve"], // asr lsr
  [0xffe0fc00, 0x04609c00, "sve"], // lsl
  [0xffe0fc00, 0x0460b000, "sve"], // ftssel
  [0xfffffc00, 0x0460b800, "sve"], // fexpa
  [0xfff0f000, 0x0460c000, "sve"], // sqinch uqinch sqdech uqdech
  [0xfff0f800, 0x0470c000, "sve"], // inch dech
  [0xfffee000, 0x04802000, "sve"], // saddv uaddv
  [0xffbee000, 0x04808000, "sve"], // asr lsr
  [0xffbfe000, 0x04838000, "sve"], // lsl
  [0xffbfe000, 0x04848000, "sve"], // asrd
  [0xffbce000, 0x0490a000, "sve"], // sxtb uxtb sxth uxth
  [0xffbce000, 0x04940000, "sve"], // sdiv udiv sdivr udivr
  [0xfffee000, 0x04988000, "sve"], // asr lsr
  [0xffffe000, 0x049b8000, "sve"], // lsl
  [0xffbee000, 0x049ca000, "sve"], // fabs fneg
  [0xffe0f800, 0x04a08000, "sve"], // asr lsr
  [0xffe0fc00, 0x04a08c00, "sve"], // lsl
  [0xffa0f800, 0x04a09000, "sve"], // asr lsr
  [0xffa0fc00, 0x04a09c00, "sve"], // lsl
  [0xffa0fc00, 0x04a0b000, "sve"], // ftssel
  [0xffbffc00, 0x04a0b800, "sve"], // fexpa
  [0xffb0f000, 0x04a0c000, "sve"], // sqincw uqincw sqincd uqincd sqdecw …
  [0xffb0d800, 0x04b0c000, "sve"], // incw decw incd decd
  [0xfffff800, 0x04bf5000, "sve"], // rdvl
  [0xffffe000, 0x04c12000, "sve"], // uaddv
  [0xfffee000, 0x04d4a000, "sve"], // sxtw uxtw
  [0xff3c0000, 0x05000000, "sve"], // orr eor and dupm
  [0xff308000, 0x05100000, "sve"], // cpy
  [0xffe0e000, 0x05200000, "sve"], // ext
  [0xff3bfc00, 0x05203800, "sve"], // dup insr
  [0xff30f210, 0x05204000, "sve"], // zip1 zip2 uzp1 uzp2
  [0xff30fa10, 0x05205000, "sve"], // trn1 trn2
  [0xff20f000, 0x05206000, "sve"], // zip1 zip2 uzp1 uzp2
  [0xff20f800, 0x05207000, "sve"], // trn1 trn2
  [0xff37c000, 0x05208000, "sve"], // cpy
  [0xff2ee000, 0x0520a000, "sve"], // lasta lastb clasta clastb
  [0xff20c000, 0x0520c000, "sve"], // sel
  [0xff21fc00, 0x05212000, "sve"], // dup
  [0xff23fc00, 0x05222000, "sve"], // dup
  [0xff3ee000, 0x05228000, "sve"], // lasta lastb
  [0xff27fc00, 0x05242000, "sve"], // dup
  [0xff3fe000, 0x05278000, "sve"], // rbit
  [0xff2ffc00, 0x05282000, "sve"], // dup
  [0xff3ce000, 0x05288000, "sve"], // clasta clastb
  [0xff3fe000, 0x052c8000, "sve"], // splice
  [0xff3ffc00, 0x05302000, "sve"], // dup
  [0xfffefe10, 0x05304000, "sve"], // punpklo punpkhi
  [0xff3ffc00, 0x05343800, "sve"], // insr
  [0xff3ffe10, 0x05344000, "sve"], // rev
  [0xff3ffc00, 0x05383800, "sve"], // rev
  [0xff70e000, 0x0550c000, "sve"], // fcpy
  [0xffffe000, 0x05648000, "sve"], // revb
  [0xfffcfc00, 0x05703800, "sve"], // sunpklo sunpkhi uunpklo uunpkhi
  [0xfff0e000, 0x0590c000, "sve"], // fcpy
  [0xffbae000, 0x05a08000, "sve"], // cpy compact revb revh
  [0xffbcfc00, 0x05b03800, "sve"], // sunpklo sunpkhi uunpklo uunpkhi
  [0xfffee000, 0x05e68000, "sve"], // revw rbit
  [0xffa00000, 0x24000000, "sve"], // cmphs cmpeq cmphi cmpne cmpge …
  [0xfe206000, 0x24000000, "sve"], // cmphs cmphi cmpeq cmpne
  [0x7e708000, 0x24000000, "sve"], // eor sel ld1rqb ld1rqh ld1rqw ld1rqd
  [0xff200000, 0x24200000, "sve"], // cmphs cmphi cmplo cmpls
  [0xffe00000, 0x24800000, "sve"], // cmphs cmpeq cmphi cmpne cmpge …
  [0xffa0c000, 0x24808000, "sve"], // cmpge cmpeq cmpgt cmpne
  [0xff20c000, 0x25000000, "sve"], // cmpge cmplt cmpgt cmple
  [0xffb04200, 0x25004000, "sve"], // and bic ands bics brkpa …
  [0xffb7c210, 0x25104000, "sve"], // brka brkas brkn brkns
  [0xff7fc210, 0x25104010, "sve"], // brka brkb
  [0xff3efc10, 0x2518e000, "sve"], // ptrue ptrues
  [0xfffffff0, 0x2518e400, "sve"], // pfalse
  [0xffbffe10, 0x2518f000, "sve"], // rdffr rdffrs
  [0xff3ffe10, 0x2519c400, "sve"], // pnext
  [0xfffffff0, 0x2519f000, "sve"], // rdffr
  [0xff20e400, 0x25200400, "sve"], // whilelt whilele whilelo whilels
  [0xff3fc200, 0x25208000, "sve"], // cntp
  [0xff3ec000, 0x2520c000, "sve"], // add sub
  [0xff3fc000, 0x2523c000, "sve"], // subr
  [0xff3cc000, 0x2524c000, "sve"], // sqadd uqadd sqsub uqsub
  [0xff3cfa00, 0x25288800, "sve"], // sqincp uqincp sqdecp uqdecp
  [0xfffffe1f, 0x25289000, "sve"], // wrffr
  [0xff3ce000, 0x2528c000, "sve"], // smax umax smin umin
  [0xffbefe00, 0x252c8800, "sve"], // incp decp
  [0xffffffff, 0x252c9000, "sve"], // setffr
  [0xff3fe000, 0x2530c000, "sve"], // mul
  [0xff3fc000, 0x2538c000, "sve"], // dup
  [0xfff0c210, 0x25404200, "sve"], // eors
  [0xffffc21f, 0x2550c000, "sve"], // ptest
  [0xfffffe10, 0x2558c000, "sve"], // pfirst
  [0xfffcfe00, 0x25688000, "sve"], // sqincp uqincp sqdecp uqdecp
  [0xfffefe00, 0x256c8000, "sve"], // incp decp
  [0xffffe000, 0x2579c000, "sve"], // fdup
  [0xffb0c000, 0x25804000, "sve"], // orr orn orrs orns nor …
  [0xffbfc210, 0x25904000, "sve"], // brkb brkbs
  [0xffa0fc0f, 0x25a02000, "sve"], // ctermeq ctermne
  [0xffbcfe00, 0x25a88000, "sve"], // sqincp uqincp sqdecp uqdecp
  [0xffbef600, 0x25ac8000, "sve"], // incp decp
  [0xffbfe000, 0x25b9c000, "sve"], // fdup
  [0xff80f800, 0x44800000, "sve"], // sdot udot
  [0xff20f800, 0x64200000, "sve"], // fmla fmls
  [0xff20fc00, 0x64202000, "sve"], // fmul
  [0xffe08000, 0x64400000, "sve"], // fcmla
  [0xfffee000, 0x64408000, "sve"], // fcadd
  [0xffa08000, 0x64800000, "sve"], // fcmla
  [0xffbee000, 0x64808000, "sve"], // fcadd
  [0xffa0f000, 0x64a01000, "sve"], // fcmla
  [0xffe0f000, 0x65400000, "sve"], // fadd fsub fmul ftsmul
  [0xffe0f800, 0x65401800, "sve"], // frecps frsqrts
  [0xfffb6000, 0x65402000, "sve"], // faddv frinta
  [0x7fc0c000, 0x65404000, "sve"], // fcmge fcmeq fcmgt fcmne st1w …
  [0xfff2e000, 0x65408000, "sve"], // fadd fsub fabd fscale fmaxnm …
  [0xfffee000, 0x6540a000, "sve"], // frintn frintp
  [0xff60e010, 0x6540c000, "sve"], // fcmuo
  [0xffe0c010, 0x6540c010, "sve"], // facge facgt
  [0xfffac000, 0x65428000, "sve"], // fmul fsubr frintm frintz fmax …
  [0xfffce000, 0x65442000, "sve"], // fmaxnmv fminnmv fmaxv fminv
  [0xffffe000, 0x654a8000, "sve"], // fmulx
  [0xfffee000, 0x654ca000, "sve"], // frecpx fsqrt
  [0xfffefc00, 0x654e3000, "sve"], // frecpe frsqrte
  [0xfffee000, 0x65502000, "sve"], // fcmge fcmlt fcmgt fcmle
  [0xfff8fc00, 0x65508000, "sve"], // ftmad
  [0xfffee010, 0x65522000, "sve"], // fcmeq fcmne
  [0xfff2e000, 0x6552a000, "sve"], // scvtf ucvtf fcvtzs fcvtzu
  [0xff74e000, 0x6554a000, "sve"], // scvtf ucvtf fcvtzs fcvtzu
  [0xffffe000, 0x65582000, "sve"], // fadda
  [0xfff8e3c0, 0x65588000, "sve"], // fadd fsub fmul fsubr fmaxnm …
  [0xffe00000, 0x65600000, "sve"], // fmla fmls fnmla fnmls fmad …
  [0xffa0f000, 0x65800000, "sve"], // fadd fsub fmul ftsmul
  [0xffa0f800, 0x65801800, "sve"], // frecps frsqrts
  [0xffbb6000, 0x65802000, "sve"], // faddv frinta
  [0xffa0c000, 0x65804000, "sve"], // fcmge fcmeq fcmgt fcmne
  [0x7fc06000, 0x65804000, "sve"], // fcmuo str
  [0xffbcc000, 0x65808000, "sve"], // fadd fsub fmul fsubr frintn …
  [0xffa0c010, 0x6580c010, "sve"], // facge facgt
  [0xffbce000, 0x65842000, "sve"], // fmaxnmv fminnmv fmaxv fminv
  [0xffbce000, 0x65848000, "sve"], // fmaxnm fminnm fmax fmin
  [0xffbee000, 0x6586a000, "sve"], // frintx frinti
  [0xffbac000, 0x65888000, "sve"], // fabd fscale fdivr fdiv fcvt …
  [0xffbfe000, 0x658a8000, "sve"], // fmulx
  [0xffbefc00, 0x658e3000, "sve"], // frecpe frsqrte
  [0xffbee000, 0x65902000, "sve"], // fcmge fcmlt fcmgt fcmle
  [0xffb8fc00, 0x65908000, "sve"], // ftmad
  [0xffbee010, 0x65922000, "sve"], // fcmeq fcmne
  [0xffb6e000, 0x6594a000, "sve"], // scvtf ucvtf fcvtzs fcvtzu
  [0xffbfe000, 0x65982000, "sve"], // fadda
  [0xffb8e3c0, 0x65988000, "sve"], // fadd fsub fmul fsubr fmaxnm …
  [0xffa00000, 0x65a00000, "sve"], // fmla fmls fnmla fnmls fmad …
  [0xfffee000, 0x65caa000, "sve"], // fcvt
  [0xfff6e000, 0x65d0a000, "sve"], // scvtf ucvtf fcvtzs fcvtzu
  [0xbfa08000, 0x84000000, "sve"], // ld1sb ldff1sb ld1b ldff1b
  [0xfe60c010, 0x8400c000, "sve"], // prfb prfh prfw prfd
  [0xbfa00010, 0x84200000, "sve"], // prfb prfh prfw prfd
  [0xbf608000, 0x84208000, "sve"], // ld1sb ldff1sb ld1b ldff1b ld1sh …
  [0xfe408000, 0x84408000, "sve"], // ld1rb ld1rsw ld1rh ld1rsh ld1rw …
  [0xbf808000, 0x84800000, "sve"], // ld1sh ldff1sh ld1h ldff1h
  [0xbf80c000, 0x85004000, "sve"], // ld1w ldff1w
  [0xffe0c000, 0x8520c000, "sve"], // ld1w ldff1w
  [0xffc0e010, 0x85800000, "sve"], // ldr
  [0xffc0e000, 0x85804000, "sve"], // ldr
  [0xffc08010, 0x85c00000, "sve"], // prfb prfh prfw prfd
  [0xfe60e000, 0xa4000000, "sve"], // ld1rqb ld1rqh ld1rqw ld1rqd
  [0xbf80c000, 0xa4004000, "sve"], // ld1b ldff1b st1b stnt1b st3b …
  [0xfe00c000, 0xa4004000, "sve"], // ld1sw ldff1sw ld1h ldff1h ld1sh …
  [0xfe10a000, 0xa400a000, "sve"], // ld1b ld1sw ld1sh ld1sb ld1h …
  [0xfe00e000, 0xa400c000, "sve"], // ldnt1b ldnt1h ld2b ld2h ld3b …
  [0xfe10e000, 0xa410a000, "sve"], // ldnf1b ldnf1sw ldnf1sh ldnf1sb ldnf1h …
  [0xfe60e010, 0xc400e000, "sve"], // prfb prfh prfw prfd
  [0xdf608000, 0xc4408000, "sve"], // ld1sb ldff1sb ld1b ldff1b ld1sh …
  [0xdfa08000, 0xc4a08000, "sve"], // ld1sh ldff1sh ld1h ldff1h st1h
  [0xff80c000, 0xc5000000, "sve"], // ld1sw ldff1sw
  [0xffa08000, 0xc5208000, "sve"], // ld1sw ldff1sw ld1w ldff1w
  [0xdfc08000, 0xc5408000, "sve"], // ld1sw ldff1sw ld1w ldff1w st1w
  [0xff80c000, 0xc5804000, "sve"], // ld1d ldff1d
  [0xffa0c000, 0xc5a0c000, "sve"], // ld1d ldff1d
  [0xffe0c000, 0xc5c0c000, "sve"], // ld1d ldff1d
  [0xfe00e000, 0xe4006000, "sve"], // stnt1h stnt1w stnt1d st2w st2d st3d
  [0xffa08000, 0xe4008000, "sve"], // st1b
  [0xff20e000, 0xe400c000, "sve"], // st1b st1h
  [0xfe10e000, 0xe410e000, "sve"], // stnt1b stnt1h stnt1w stnt1d st2b …
  [0xff70e000, 0xe420e000, "sve"], // st1b st1h
  [0xffe0e000, 0xe460a000, "sve"], // st1b
  [0xfe70e000, 0xe460e000, "sve"], // st1b st1h st1w st1d
  [0xff80c000, 0xe4808000, "sve"], // st1h
  [0xfea0c000, 0xe4a04000, "sve"], // st1h st2h st4h st1d st4d
  [0xffe0c000, 0xe4c04000, "sve"], // st1h st3h
  [0xff80c000, 0xe5008000, "sve"], // st1w
  [0xff40e000, 0xe500c000, "sve"], // st1w st1d
  [0xffc0e010, 0xe5800000, "sve"], // str
  [0xffc0c000, 0xe5808000, "sve"], // st1d
  [0xffe0e000, 0xe5c0a000, "sve"], // st1d
  [0xfffee300, 0x04068100, "sve2"], // sqshl uqshl
  [0xfffee200, 0x04068200, "sve2"], // sqshl uqshl
  [0xfffee300, 0x040c8100, "sve2"], // srshr urshr
  [0xfffee200, 0x040c8200, "sve2"], // srshr urshr
  [0xffffe300, 0x040f8100, "sve2"], // sqshlu
  [0xffffe200, 0x040f8200, "sve2"], // sqshlu
  [0xffa0f800, 0x04203800, "sve2"], // eor3 bsl bcax bsl1n
  [0xffe0f000, 0x04206000, "sve2"], // mul pmul smulh umulh
  [0xff20fc00, 0x04206000, "sve2"], // mul
  [0xff20f800, 0x04206800, "sve2"], // smulh umulh
  [0xff20f800, 0x04207000, "sve2"], // sqdmulh sqrdmulh
  [0xfff8fc00, 0x04283400, "sve2"], // xar
  [0xfff0fc00, 0x04303400, "sve2"], // xar
  [0xfffee000, 0x04468000, "sve2"], // sqshl uqshl
  [0xfffee000, 0x044c8000, "sve2"], // srshr urshr
  [0xffffe000, 0x044f8000, "sve2"], // sqshlu
  [0xffe0fc00, 0x04603400, "sve2"], // xar
  [0xffbee000, 0x04868000, "sve2"], // sqshl uqshl
  [0xffbee000, 0x048c8000, "sve2"], // srshr urshr
  [0xffbfe000, 0x048f8000, "sve2"], // sqshlu
  [0xffa0f400, 0x04a03400, "sve2"], // xar bsl2n nbsl
  [0xff20f800, 0x05202800, "sve2"], // tbl tbx
  [0xff3fe000, 0x052d8000, "sve2"], // splice
  [0xffe0e000, 0x05600000, "sve2"], // ext
  [0xff20e400, 0x25200000, "sve2"], // whilege whilegt whilehs whilehi
  [0xff20fc00, 0x25203000, "sve2"], // whilewr whilerw
  [0xff20e000, 0x44002000, "sve2"], // cmla sqrdcmlah
  [0xff20f800, 0x44007000, "sve2"], // sqrdmlah sqrdmlsh
  [0xff3ae000, 0x44028000, "sve2"], // srshl urshl srshlr urshlr
  [0xff38e000, 0x44088000, "sve2"], // sqshl uqshl sqrshl uqrshl sqshlr …
  [0xff3ee000, 0x4408a000, "sve2"], // sqabs sqneg
  [0xff30e000, 0x44108000, "sve2"], // shadd uhadd shsub uhsub srhadd …
  [0xff3fe000, 0x4411a000, "sve2"], // addp
  [0xff3ce000, 0x4414a000, "sve2"], // smaxp umaxp sminp uminp
  [0xff20f800, 0x44200800, "sve2"], // mla mls
  [0xff20f800, 0x44201000, "sve2"], // sqrdmlah sqrdmlsh
  [0xff20f800, 0x4420f000, "sve2"], // sqdmulh sqrdmulh
  [0xff20fc00, 0x4420f800, "sve2"], // mul
  [0xffe0f800, 0x44400800, "sve2"], // sqdmlalbt sqdmlslbt
  [0xff60e000, 0x44404000, "sve2"], // smlalb smlalt umlalb umlalt smlslb …
  [0xffe0f000, 0x44406000, "sve2"], // sqdmlalb sqdmlalt sqdmlslb sqdmlslt
  [0xfffee000, 0x4444a000, "sve2"], // sadalp uadalp
  [0xffa0f800, 0x44800800, "sve2"], // sqdmlalbt sqdmlslbt
  [0xfea0d000, 0x44801000, "sve2"], // cdot sabdlb sabdlt uabdlb uabdlt
  [0xffe0e000, 0x44804000, "sve2"], // smlalb smlalt umlalb umlalt smlslb …
  [0xff80d000, 0x44804000, "sve2"], // sqdmlalb sqdmlalt sqdmlslb sqdmlslt cdot
  [0xfffee000, 0x4480a000, "sve2"], // urecpe ursqrte
  [0xffbee000, 0x4484a000, "sve2"], // sadalp uadalp
  [0xffa0a000, 0x44a02000, "sve2"], // sqdmlalb sqdmlalt sqdmlslb sqdmlslt cmla sqrdcmlah
  [0xffa0a000, 0x44a08000, "sve2"], // smlalb smlalt umlalb umlalt smullb …
  [0xffa0e000, 0x44a0a000, "sve2"], // smlslb smlslt umlslb umlslt
  [0xffa0f000, 0x44a0e000, "sve2"], // sqdmullb sqdmullt
  [0xff20b800, 0x45009000, "sve2"], // eorbt eortb adclb adclt sbclb sbclt
  [0xff3ef800, 0x4500d800, "sve2"], // cadd sqcadd
  [0xffe0f800, 0x4500f800, "sve2"], // saba uaba
  [0xfff8b000, 0x4508a000, "sve2"], // sshllb sshllt ushllb ushllt ssra …
  [0xfff8f800, 0x4508f000, "sve2"], // sri sli
  [0xfff0b000, 0x4510a000, "sve2"], // sshllb sshllt ushllb ushllt ssra …
  [0xfff0f800, 0x4510f000, "sve2"], // sri sli
  [0xffa0e000, 0x45208000, "sve2"], // match nmatch
  [0xffe0fc00, 0x4520a000, "sve2"], // histseg
  [0xfff8c000, 0x45280000, "sve2"], // sqshrunb sqshrunt sqrshrunb sqrshrunt shrnb …
  [0xfffff000, 0x45284000, "sve2"], // sqxtnb sqxtnt uqxtnb uqxtnt
  [0xfffff800, 0x45285000, "sve2"], // sqxtunb sqxtunt
  [0xfff0c000, 0x45300000, "sve2"], // sqshrunb sqshrunt sqrshrunb sqrshrunt shrnb …
  [0xfffff000, 0x45304000, "sve2"], // sqxtnb sqxtnt uqxtnb uqxtnt
  [0xfffff800, 0x45305000, "sve2"], // sqxtunb sqxtunt
  [0xff60e000, 0x45400000, "sve2"], // saddlb saddlt uaddlb uaddlt ssublb …
  [0xffe0f000, 0x45403000, "sve2"], // sabdlb sabdlt uabdlb uabdlt
  [0xff60c000, 0x45404000, "sve2"], // saddwb saddwt uaddwb uaddwt ssubwb …
  [0xffe0fc00, 0x45408000, "sve2"], // saddlbt
  [0xffe0f800, 0x45408800, "sve2"], // ssublbt ssubltb
  [0xffe0f000, 0x4540a000, "sve2"], // sshllb sshllt ushllb ushllt
  [0xffe0f000, 0x4540c000, "sve2"], // sabalb sabalt uabalb uabalt
  [0xffe0e000, 0x4540e000, "sve2"], // ssra usra srsra ursra sri …
  [0xffe0c000, 0x45600000, "sve2"], // sqshrunb sqshrunt sqrshrunb sqrshrunt shrnb …
  [0xfffff000, 0x45604000, "sve2"], // sqxtnb sqxtnt uqxtnb uqxtnt
  [0xfffff800, 0x45605000, "sve2"], // sqxtunb sqxtunt
  [0xff60e000, 0x45606000, "sve2"], // addhnb addhnt raddhnb raddhnt subhnb …
  [0xffe0a000, 0x45800000, "sve2"], // saddlb saddlt uaddlb uaddlt ssublb …
  [0xffe0f800, 0x45806000, "sve2"], // sqdmullb sqdmullt
  [0xffe0f000, 0x45807000, "sve2"], // smullb smullt umullb umullt
  [0xffa0fc00, 0x45808000, "sve2"], // saddlbt
  [0xffa0f800, 0x45808800, "sve2"], // ssublbt ssubltb
  [0xffa0f000, 0x4580c000, "sve2"], // sabalb sabalt uabalb uabalt
  [0xffa0e000, 0x4580e000, "sve2"], // ssra usra srsra ursra sri …
  [0xffe0e000, 0x45a06000, "sve2"], // addhnb addhnt raddhnb raddhnt subhnb …
  [0xffa0e000, 0x45a0c000, "sve2"], // histcnt
  [0xffffe000, 0x640aa000, "sve2"], // fcvtxnt
  [0xffffe000, 0x64508000, "sve2"], // faddp
  [0xfffce000, 0x64548000, "sve2"], // fmaxnmp fminnmp fmaxp fminp
  [0xfffee000, 0x6488a000, "sve2"], // fcvtnt fcvtlt
  [0xffbfe000, 0x64908000, "sve2"], // faddp
  [0xffbce000, 0x64948000, "sve2"], // fmaxnmp fminnmp fmaxp fminp
  [0xffe0d000, 0x64a04000, "sve2"], // fmlalb fmlalt fmlslb fmlslt
  [0xffe0d800, 0x64a08000, "sve2"], // fmlalb fmlalt fmlslb fmlslt
  [0xfffee000, 0x64caa000, "sve2"], // fcvtnt fcvtlt
  [0xffefe000, 0x650aa000, "sve2"], // fcvtx flogb
  [0xfffde000, 0x651ca000, "sve2"], // flogb
  [0xff60c000, 0x84008000, "sve2"], // ldnt1sb ldnt1sh ldnt1b ldnt1h
  [0xffe0e000, 0x8500a000, "sve2"], // ldnt1w
  [0xff60e000, 0xc4008000, "sve2"], // ldnt1sb ldnt1sh
  [0xfe60e000, 0xc400c000, "sve2"], // ldnt1b ldnt1h ldnt1w ldnt1d
  [0xffe0e000, 0xc5008000, "sve2"], // ldnt1sw
  [0xfe60e000, 0xe4002000, "sve2"], // stnt1b stnt1h stnt1w stnt1d
  [0xff60e000, 0xe4402000, "sve2"], // stnt1b stnt1h
  [0xffe0e000, 0xe5402000, "sve2"], // stnt1w
  [0xff3fe000, 0x04052000, "sve2p1"], // addqv
  [0xff3ce000, 0x040c2000, "sve2p1"], // smaxqv umaxqv sminqv uminqv
  [0xff3ee000, 0x041c2000, "sve2p1"], // orqv eorqv
  [0xff3fe000, 0x041e2000, "sve2p1"], // andqv
  [0xff20fc00, 0x05203400, "sve2p1"], // tbxq
  [0xffe1fc00, 0x05212400, "sve2p1"], // dupq
  [0xffe3fc00, 0x05222400, "sve2p1"], // dupq
  [0xffe7fc00, 0x05242400, "sve2p1"], // dupq
  [0xffeffc00, 0x05282400, "sve2p1"], // dupq
  [0xfffffc10, 0x052a3800, "sve2p1"], // pmov
  [0xfffffe00, 0x052b3800, "sve2p1"], // pmov
  [0xfffdfc10, 0x052c3800, "sve2p1"], // pmov
  [0xfffdfe00, 0x052d3800, "sve2p1"], // pmov
  [0xffffe000, 0x052e8000, "sve2p1"], // revd
  [0xfff0fc00, 0x05602400, "sve2p1"], // extq
  [0xfff9fc10, 0x05683800, "sve2p1"], // pmov
  [0xfff9fe00, 0x05693800, "sve2p1"], // pmov
  [0xffb9fc10, 0x05a83800, "sve2p1"], // pmov
  [0xffb9fe00, 0x05a93800, "sve2p1"], // pmov
  [0xff20d010, 0x25204010, "sve2p1"], // whilege whilegt whilelt whilele whilehs …
  [0xff20f010, 0x25205010, "sve2p1"], // whilege whilegt whilelt whilele whilehs …
  [0xff3ffc10, 0x25207010, "sve2p1"], // pext
  [0xff3ffe10, 0x25207410, "sve2p1"], // pext
  [0xff3ffff8, 0x25207810, "sve2p1"], // ptrue
  [0xff3ffa00, 0x25208200, "sve2p1"], // cntp
  [0xff24c210, 0x25244000, "sve2p1"], // psel
  [0xff2cc210, 0x25284000, "sve2p1"], // psel
  [0xff3cc210, 0x25304000, "sve2p1"], // psel
  [0xff7cc210, 0x25604000, "sve2p1"], // psel
  [0xff20f800, 0x4400c000, "sve2p1"], // sclamp uclamp
  [0xff60f800, 0x4400c800, "sve2p1"], // sdot udot
  [0xff20f000, 0x4400e000, "sve2p1"], // zipq1 zipq2 uzpq1 uzpq2
  [0xff20fc00, 0x4400f800, "sve2p1"], // tblq
  [0xfffff420, 0x45314000, "sve2p1"], // sqcvtn uqcvtn
  [0xfffffc20, 0x45315000, "sve2p1"], // sqcvtun
  [0xfff0fc20, 0x45b00800, "sve2p1"], // sqrshrun
  [0xfff0ec20, 0x45b02800, "sve2p1"], // sqrshrn uqrshrn
  [0xffe0fc00, 0x64204000, "sve2p1"], // fdot
  [0xffe0fc00, 0x64208000, "sve2p1"], // fdot
  [0xffffe000, 0x6450a000, "sve2p1"], // faddqv
  [0xfffce000, 0x6454a000, "sve2p1"], // fmaxnmqv fminnmqv fmaxqv fminqv
  [0xff60fc00, 0x64602400, "sve2p1"], // fclamp
  [0xffbfe000, 0x6490a000, "sve2p1"], // faddqv
  [0xffbce000, 0x6494a000, "sve2p1"], // fmaxnmqv fminnmqv fmaxqv fminqv
  [0xffe0fc00, 0x64a02400, "sve2p1"], // fclamp
  [0xffe0f000, 0x64e06000, "sve2p1"], // bfmlslb bfmlslt
  [0xffe0f800, 0x64e0a000, "sve2p1"], // bfmlslb bfmlslt
  [0xfff0e000, 0xa490e000, "sve2p1"], // ld2q
  [0xffe0e000, 0xa4a08000, "sve2p1"], // ld2q
  [0xff40e000, 0xa5008000, "sve2p1"], // ld1w ld1d ld3q ld4q
  [0xff70e000, 0xa5102000, "sve2p1"], // ld1w ld1d
  [0xff70e000, 0xa510e000, "sve2p1"], // ld3q ld4q
  [0xffe0e000, 0xc400a000, "sve2p1"], // ld1q
  [0xffe0e000, 0xe4202000, "sve2p1"], // st1q
  [0xff70e000, 0xe4400000, "sve2p1"], // st2q st4q
  [0xff60e000, 0xe4600000, "sve2p1"], // st2q st4q
  [0xfff0e000, 0xe4800000, "sve2p1"], // st3q
  [0xffe0e000, 0xe4a00000, "sve2p1"], // st3q
  [0xffe0e000, 0xe5004000, "sve2p1"], // st1w
  [0xfff0e000, 0xe500e000, "sve2p1"], // st1w
  [0xffe0e000, 0xe5c04000, "sve2p1"], // st1d
  [0xfff0e000, 0xe5c0e000, "sve2p1"], // st1d
  [0xfffffbe0, 0x4520e000, "sveaes"], // aesmc aesimc
  [0xfffff800, 0x4522e000, "sveaes"], // aese aesd
  [0xffa0f800, 0x64200800, "sveb16b16"], // bfmla bfmls
  [0xffe0fc00, 0x64202400, "sveb16b16"], // bfclamp
  [0xffa0fc00, 0x64202800, "sveb16b16"], // bfmul
  [0xffe0f800, 0x65000000, "sveb16b16"], // bfadd bfsub
  [0xffe0fc00, 0x65000800, "sveb16b16"], // bfmul
  [0xfffee000, 0x65008000, "sveb16b16"], // bfadd bfsub
  [0xffffe000, 0x65028000, "sveb16b16"], // bfmul
  [0xfffce000, 0x65048000, "sveb16b16"], // bfmaxnm bfminnm bfmax bfmin
  [0xffe0c000, 0x65200000, "sveb16b16"], // bfmla bfmls
  [0xffe0fc00, 0x64604000, "svebf16"], // bfdot
  [0xffe0fc00, 0x64608000, "svebf16"], // bfdot
  [0xffe0fc00, 0x6460e400, "svebf16"], // bfmmla
  [0xfeffe000, 0x648aa000, "svebf16"], // bfcvtnt bfcvt
  [0xffe0f000, 0x64e04000, "svebf16"], // bfmlalb bfmlalt
  [0xffe0f800, 0x64e08000, "svebf16"], // bfmlalb bfmlalt
  [0xff20f800, 0x4500b000, "svebitperm"], // bext bdep
  [0xff20fc00, 0x4500b800, "svebitperm"], // bgrp
  [0xffe0fc00, 0x64a0e400, "svef32mm"], // fmmla
  [0xffe0f000, 0x05a00000, "svef64mm"], // zip1 zip2 uzp1 uzp2
  [0xffe0f800, 0x05a01800, "svef64mm"], // trn1 trn2
  [0xffe0fc00, 0x64e0e400, "svef64mm"], // fmmla
  [0xfe60e000, 0xa4200000, "svef64mm"], // ld1rob ld1roh ld1row ld1rod
  [0xfe70e000, 0xa4202000, "svef64mm"], // ld1rob ld1roh ld1row ld1rod
  [0xffe0fc00, 0x44807800, "svei8mm"], // usdot
  [0xffe0f800, 0x44a01800, "svei8mm"], // usdot sudot
  [0xffe0fc00, 0x45009800, "svei8mm"], // smmla
  [0xffa0fc00, 0x45809800, "svei8mm"], // usmmla ummla
  [0xffe0f800, 0x45006800, "svepmull"], // pmullb pmullt
  [0xffe0fc00, 0x4520f400, "svesha3"], // rax1
  [0xffe0fc00, 0x4520f000, "svesm4"], // sm4ekey
  [0xfffffc00, 0x4523e000, "svesm4"], // sm4e
];
