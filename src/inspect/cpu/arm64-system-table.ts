/**
 * AArch64's system registers and system instructions, of which one encoding holds all (DDI 0487, C5.2, C5.3 and D24): what programs
 * may use, by feature. Whatever is not here and is of the kernel raises an exception in every program, or Linux answers for it
 * (`Documentation/arch/arm64/cpu-feature-registers.rst`): it is passed over. What is not here and is of programs is unknown.
 */

import type { Arm64Row } from "./arm64-rows.ts";

/** Read and written by programs: `op0_op1_CRn_CRm_op2`, as assemblers name what they do not know. */
const registers = [
  ["3_3_0_0_1", ""], // CTR_EL0
  ["3_3_0_0_7", ""], // DCZID_EL0
  ["3_3_2_4_0", "rng"], // RNDR
  ["3_3_2_4_1", "rng"], // RNDRRS
  ["3_3_2_5_1", "gcs"], // GCSPR_EL0
  ["3_3_4_2_0", ""], // NZCV
  ["3_3_4_2_1", ""], // DAIF
  ["3_3_4_2_2", "sme"], // SVCR
  ["3_3_4_2_5", "dit"], // DIT
  ["3_3_4_2_6", "ssbs"], // SSBS
  ["3_3_4_2_7", "mte"], // TCO
  ["3_3_4_4_0", ""], // FPCR
  ["3_3_4_4_1", ""], // FPSR
  ["3_3_4_4_2", "fpmr"], // FPMR
  ["3_3_10_2_4", "poe"], // POR_EL0
  ["3_3_13_0_2", ""], // TPIDR_EL0
  ["3_3_13_0_3", ""], // TPIDRRO_EL0
  ["3_3_13_0_5", "sme"], // TPIDR2_EL0
  ["3_3_13_0_7", ""], // SCXTNUM_EL0
  ["3_3_14_0_0", ""], // CNTFRQ_EL0
  ["3_3_14_0_1", ""], // CNTPCT_EL0
  ["3_3_14_0_2", ""], // CNTVCT_EL0
  ["3_3_14_0_5", "ecv"], // CNTPCTSS_EL0
  ["3_3_14_0_6", "ecv"], // CNTVCTSS_EL0
  // Instructions for caches and predictions, and of the guarded control stack.
  ["1_3_7_3_4", "specres"], // CFP RCTX
  ["1_3_7_3_5", "specres"], // DVP RCTX
  ["1_3_7_3_6", "specres"], // COSP RCTX
  ["1_3_7_3_7", "specres"], // CPP RCTX
  ["1_3_7_4_1", ""], // DC ZVA
  ["1_3_7_4_3", "mte"], // DC GVA
  ["1_3_7_4_4", "mte"], // DC GZVA
  ["1_3_7_5_1", ""], // IC IVAU
  ["1_3_7_7_0", "gcs"], // GCSPUSHM
  ["1_3_7_7_1", "gcs"], // GCSPOPM
  ["1_3_7_7_2", "gcs"], // GCSSS1
  ["1_3_7_7_3", "gcs"], // GCSSS2
  ["1_3_7_10_1", ""], // DC CVAC
  ["1_3_7_10_3", "mte"], // DC CGVAC
  ["1_3_7_10_5", "mte"], // DC CGDVAC
  ["1_3_7_11_1", ""], // DC CVAU
  ["1_3_7_12_1", "dcpop"], // DC CVAP
  ["1_3_7_12_3", "mte"], // DC CGVAP
  ["1_3_7_12_5", "mte"], // DC CGDVAP
  ["1_3_7_13_1", "dcpodp"], // DC CVADP
  ["1_3_7_13_3", "mte"], // DC CGVADP
  ["1_3_7_13_5", "mte"], // DC CGDVADP
  ["1_3_7_14_1", ""], // DC CIVAC
  ["1_3_7_14_3", "mte"], // DC CIGVAC
  ["1_3_7_14_5", "mte"], // DC CIGDVAC
] as const;

/** To or from a general register, whichever it is: bit 21 is the direction. */
function registerRow(name: string, features: string): Arm64Row {
  const [op0 = 0, op1 = 0, n = 0, m = 0, op2 = 0] = name.split("_").map(Number);
  const value = 0xd5000000 + op0 * 2 ** 19 + op1 * 2 ** 16 + n * 2 ** 12 + m * 2 ** 8 + op2 * 2 ** 5;
  return [0xffdfffe0, value, features];
}

export const arm64SystemRows: readonly Arm64Row[] = [
  ...registers.map(([name, features]) => registerRow(name, features)),
  // Performance and activity counters, timers: Armv8.0-A, or as many as the CPU has.
  [0xffdfc000, 0xd51b8000, ""], // CRn 8 to 11, of which programs have 9: PMCCNTR_EL0, …
  [0xffdff000, 0xd51bd000, ""], // AMEVCNTR0n_EL0, …
  [0xffdff000, 0xd51be000, ""], // CNTP_…, CNTV_…, PMEVCNTRn_EL0
  [0xffdf0000, 0xd5130000, ""], // registers of debuggers
  // MSR with an immediate (C5.6: PSTATE fields).
  [0xfffff0ff, 0xd503403f, "ssbs"],
  [0xfffff0ff, 0xd503405f, "dit"],
  [0xfffff0ff, 0xd503409f, "mte"],
  [0xfffff0ff, 0xd503407f, "sme"], // SMSTART, SMSTOP
  [0xfffff0ff, 0xd50340df, ""], // DAIFSet
  [0xfffff0ff, 0xd50340ff, ""], // DAIFClr
  // Of the kernel: UAO, PAN, SPSel, ALLINT, and every register whose op1 is not 3. Linux answers for those that identify the CPU.
  [0xffffffff, 0xd500401f, "flagm"], // CFINV
  [0xffffffff, 0xd500403f, "flagm2"], // XAFLAG
  [0xffffffff, 0xd500405f, "flagm2"], // AXFLAG
  [0xfff8f01f, 0xd500401f, ""],
  [0xfffff000, 0xd5380000, "", "asks"], // MRS ID_…
  [0xffdc0000, 0xd50c0000, ""],
  [0xffde0000, 0xd5080000, ""],
  [0xffdf0000, 0xd50a0000, ""],
  [0xffd40000, 0xd5140000, ""],
  [0xffd60000, 0xd5100000, ""],
  [0xffd70000, 0xd5120000, ""],
];
