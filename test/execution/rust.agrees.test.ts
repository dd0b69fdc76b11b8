/**
 * Programs by rustc for several CPUs, as `cargo install` builds them, on emulated CPUs: none that dies is told to run, and one for every CPU
 * runs. Needs rustc and qemu-x86_64 (Debian: rustc, qemu-user).
 */

import { execFileSync, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { openWild, imageVerdicts } from "../../bench/wild/compare.ts";
import { makeFolder } from "../support/folders.ts";
import { needs } from "../support/needs.ts";
import { whyNoEmulator, whyNoVersion } from "../support/programs.ts";

const whyNoX86 = process.arch === "x64" ? null : "no x86-64 CPU";
const missing = whyNoX86 ?? whyNoVersion("rustc", "apt-get install rustc") ?? whyNoEmulator("x86_64");

const models = ["qemu64", "Nehalem", "SandyBridge", "Haswell"];

const threads = `
use std::thread;
fn work(n: u64) -> f64 { (0..n).map(|i| (i as f64).sqrt() * 1.5 + (i >> (i % 9)) as f64).sum() }
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n: u64 = std::env::args().nth(1).map(|a| a.parse()).transpose()?.unwrap_or(100);
    let all: Vec<_> = (0..3).map(|i| thread::spawn(move || work(n + i))).collect();
    println!("{}", all.into_iter().map(|each| each.join().unwrap()).sum::<f64>());
    Ok(())
}
`;
const asking = `
#[target_feature(enable = "avx2,bmi2")]
unsafe fn fast(a: &[f32]) -> f32 { a.iter().map(|x| x * x).sum() }
fn slow(a: &[f32]) -> f32 { a.iter().map(|x| x * 3.5).sum() }
fn pick(a: &[f32]) -> f32 {
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi2") { unsafe { fast(a) } } else { slow(a) }
}
fn main() {
    let all: Vec<f32> = (0..std::env::args().count() * 64).map(|i| i as f32).collect();
    println!("{} {:?}", pick(&all), all.first());
}
`;
const ways = [
  ["-Copt-level=0"],
  ["-Copt-level=3"],
  ["-Copt-level=s", "-Clto", "-Cpanic=abort", "-Cstrip=symbols"],
];

describe("a program by rustc", { ...needs(missing), timeout: 300_000 }, () => {
  it.each([
    ["threads", threads],
    ["a question", asking],
  ])("runs where it is told to: with %s", async (_, source) => {
    let dead = 0;
    for (const march of ["x86-64", "x86-64-v3", "znver3"])
      for (const options of ways) {
        const root = makeFolder({ "a.rs": source });
        const build = [`-Ctarget-cpu=${march}`, ...options, "-o", "a", "a.rs"];
        execFileSync("rustc", build, { cwd: root, stdio: "ignore" });
        const ran = (model: string) => spawnSync("qemu-x86_64", ["-cpu", model, `${root}/a`]).status === 0;
        const outcomes = Object.fromEntries(
          models.map((model) => [model, ran(model) ? "ran" : "died"] as const),
        );
        dead += Object.values(outcomes).filter((outcome) => outcome === "died").length;
        for (const { model, outcome, fits } of imageVerdicts(await openWild(root), "linux/amd64", outcomes)) {
          const what = `${march} ${options.join(" ")} on ${model}`;
          if (outcome === "died") expect(fits, what).not.toBe(true);
          if (outcome === "ran" && march === "x86-64") expect(fits, what).toBe(true);
        }
      }
    // Of 24 programs for newer CPUs on older ones.
    expect(dead).toBeGreaterThan(10);
  });
});
