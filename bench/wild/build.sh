#!/usr/bin/env bash
# Builds a program of the corpus in a folder. Arguments: the folder, what, its compiler and options.
set -euo pipefail
folder=$1 what=$2
shift 2
cd "$folder"
tools=${TMPDIR:-/tmp}

# Prints the folder of a Go module.
module() { go mod download -json "$1" | sed -nE 's/^\s*"Dir": "(.*)",$/\1/p'; }

# Runs a compiler. zig comes from PyPI, and gcc 11 from Debian beside its gcc 12.
compile() {
  local compiler=$1
  shift
  case $compiler in
    zig)
      [ -d "$tools/zig-0.14.1" ] || pip3 install -q --no-deps --target "$tools/zig-0.14.1" ziglang==0.14.1
      "$tools/zig-0.14.1/ziglang/zig" cc "$@"
      ;;
    gcc-11 | g++-11)
      if [ ! -d "$tools/gcc-11" ]; then
        mkdir -p "$tools/gcc-11.part"
        (cd "$tools/gcc-11.part" && apt-get -qq download gcc-11 cpp-11 g++-11 libgcc-11-dev libstdc++-11-dev)
        for each in "$tools"/gcc-11.part/*.deb; do dpkg-deb -x "$each" "$tools/gcc-11.part"; done
        mv "$tools/gcc-11.part" "$tools/gcc-11"
      fi
      "$tools/gcc-11/usr/bin/$compiler" "$@"
      ;;
    *) "$compiler" "$@" ;;
  esac
}

case $what in
  # SQLite's amalgamation, as a module of Go carries it, and a query. The program may ask the CPU, refuse, or query in a thread.
  sqlite)
    source=$(module github.com/mattn/go-sqlite3@v1.14.32)
    cat >main.c <<'C'
#include "sqlite3-binding.h"
#include <pthread.h>
#include <stdio.h>
#if defined CLONES
__attribute__((target_clones("avx2", "default")))
#elif defined ASK
__attribute__((target("avx2")))
#endif
static double sum(const double *a, int n) { double s = 0; while (n--) s += a[n] * 3; return s; }
static int row(void *x, int n, char **v, char **names) { return puts(v[0]) < 0; }
static void *query(void *argc) {
  sqlite3 *db;
  return (void *)(long)(sqlite3_open(":memory:", &db) ||
         sqlite3_exec(db, "with recursive c(x) as (select 1 union all select x + 1 from c limit 999) select sum(x * 1.5), avg(x), max(round(x / 7.0, 2)) from c", row, 0, 0));
}
int main(int argc, char **argv) {
  double a[64] = {argc};
#if defined CLONES
  printf("%f\n", sum(a, 64));
#elif defined ASK
  printf("%f\n", __builtin_cpu_supports("avx2") ? sum(a, 64) : 0);
#elif defined REFUSE
  if (!__builtin_cpu_supports("avx2")) return fputs("needs AVX2\n", stderr), 1;
#elif defined THREAD
  pthread_t thread;
  void *result;
  return pthread_create(&thread, 0, query, 0) || pthread_join(thread, &result) || result;
#endif
  return query(a) != 0;
}
C
    compile "$1" -O2 -w "${@:2}" -I"$source" main.c "$source/sqlite3-binding.c" -o sqlite -lm -lpthread -ldl
    rm main.c
    ;;
  # Work that main hands to a thread or to qsort, beside a file for every CPU that asks. -DCHOOSE takes the work where the CPU has AVX2,
  # -DREFUSE ends in a constructor where it has not.
  hands)
    cat >ask.c <<'C'
int question(void) {
#if defined __x86_64__
  int a = 7, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b;
#else
  return 0;
#endif
}
C
    cat >work.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
int question(void);
#if defined CHOOSE
__attribute__((target("avx2")))
#endif
static float sum(int n) {
  static float all[256];
  float found = 0;
  for (int i = 0; i < 256; i++) all[i] = all[i] * n + 1.5f;
  for (int i = 0; i < 256; i++) found += all[i] * (i >> (n & 3)) + __builtin_popcountll(n * 0x9e3779b97f4a7c15 >> (n & 31));
  return found;
}
#if defined REFUSE
__attribute__((constructor)) static void check(void) {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2")) fputs("needs AVX2\n", stderr), exit(1);
}
#endif
#if defined CHOOSE
static int each(int n) { return __builtin_cpu_supports("avx2") ? sum(n) : n; }
#else
static int each(int n) { return sum(n); }
#endif
static void *work(void *n) { return (void *)(long)each(*(int *)n); }
static int compare(const void *a, const void *b) { return each(*(const int *)a) - each(*(const int *)b); }
int main(int argc, char **argv) {
  int all[9] = {argc, 4, 2};
#if defined SORT
  qsort(all, 9, sizeof *all, compare);
#else
  pthread_t thread;
  void *result;
  if (pthread_create(&thread, 0, work, all) || pthread_join(thread, &result)) return 1;
  all[3] = (int)(long)result;
#endif
  printf("%d %d\n", all[3], argc > 3 ? question() : 0);
  return 0;
}
C
    own=() linked=()
    for each in "${@:2}"; do case $each in -static | -s) linked+=("$each") ;; *) own+=("$each") ;; esac; done
    compile "$1" -O2 -c ask.c
    compile "$1" -O3 -w -c "${own[@]}" work.c
    compile "$1" -O2 "${linked[@]}" ask.o work.o -o hands -lpthread
    rm ask.[co] work.[co]
    ;;
  # Work behind virtual functions of objects that a deeper function makes, beside a file for every CPU that asks.
  virtual)
    cat >ask.c <<'C'
int question(void) {
  int a = 7, b, c = 0, d;
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return b;
}
C
    cat >main.cc <<'C'
#include <cstdio>
#include <memory>
#include <vector>
extern "C" int question(void);
struct Work { virtual float run(int n) = 0; virtual ~Work() {} };
struct Sum : Work {
  float run(int n) override {
    static float all[256];
    float f = 0;
    for (int i = 0; i < 256; i++) all[i] = all[i] * n + 1.5f;
    for (int i = 0; i < 256; i++) f += all[i] * (i >> (n & 3)) + __builtin_popcountll(n * 0x9e3779b97f4a7c15 >> (n & 31));
    return f;
  }
};
struct Product : Work {
  float run(int n) override {
    static float all[256];
    float f = 1;
    for (int i = 0; i < 256; i++) all[i] = all[i] * n + 2.5f;
    for (int i = 0; i < 256; i++) f += all[i] * (i << (n & 3));
    return f;
  }
};
__attribute__((noinline)) std::unique_ptr<Work> make(int kind) {
  if (kind & 1) return std::make_unique<Sum>();
  return std::make_unique<Product>();
}
__attribute__((noinline)) std::vector<std::unique_ptr<Work>> all(int n) {
  std::vector<std::unique_ptr<Work>> v;
  for (int i = 0; i < 4; i++) v.push_back(make(n + i));
  return v;
}
int main(int argc, char **argv) {
  float t = 0;
  for (auto &w : all(argc)) t += w->run(argc);
  std::printf("%f %d\n", t, argc > 3 ? question() : 0);
}
C
    own=() linked=()
    for each in "${@:2}"; do case $each in -static* | -s) linked+=("$each") ;; *) own+=("$each") ;; esac; done
    gcc -O2 -c ask.c
    compile "$1" -std=c++17 -O3 -w -c "${own[@]}" main.cc
    compile "$1" "${linked[@]}" ask.o main.o -o virtual
    rm ask.[co] main.cc main.o
    ;;
  # A program that asks for a feature and ends with an error without it: the compiler, the feature, options. -DKEEP keeps the answer of a constructor,
  # -DREGISTER=BIT reads a register of AArch64.
  # Of Go: the answer, and the architecture.
  refuse)
    case $1 in
      go)
        mkdir main.source
        cat >main.source/main.go <<GO
package main

import (
	"os"

	"golang.org/x/sys/cpu"
	"github.com/klauspost/cpuid/v2"
)

var able = $2

func main() {
	if !able {
		println("needs $2")
		os.Exit(1)
	}
	println(len(os.Args))
}

var _ = cpu.Initialized && cpuid.CPU.Family == 0
GO
        cd main.source
        { go mod init refuse && go get golang.org/x/sys@v0.49.0 github.com/klauspost/cpuid/v2@v2.3.0; } 2>/dev/null
        env CGO_ENABLED=0 "GOARCH=$3" go build -trimpath -ldflags "-s -w" -o "$folder/refuse" .
        cd .. && rm -r main.source
        ;;
      rustc)
        cat >main.rs <<RUST
fn main() {
    if !std::is_x86_feature_detected!("$2") { eprintln!("needs $2"); std::process::exit(1); }
    println!("{}", std::env::args().map(|each| each.len() as f64 * 1.5).sum::<f64>());
}
RUST
        case "$*" in *aarch64*) sed -i 's/is_x86_feature_detected/arch::is_aarch64_feature_detected/' main.rs ;; esac
        rustc -O "${@:3}" main.rs -o refuse
        ;;
      *)
        cat >main.c <<C
#include <stdio.h>
#include <sys/auxv.h>
#if defined KEEP
static unsigned long kept;
__attribute__((constructor)) static void keep(void) { kept = getauxval(AT_HWCAP); }
#endif
int main(int argc, char **argv) {
#if defined KEEP
  if (!(kept & $2)) return fputs("needs $2\\n", stderr), 1;
#elif defined REGISTER
  unsigned long all;
  __asm__("mrs %0, $2" : "=r"(all));
  if (((all >> REGISTER) & 15) == 0) return fputs("needs $2\\n", stderr), 1;
#elif defined __aarch64__
  if (!(getauxval(AT_HWCAP) & $2)) return fputs("needs $2\\n", stderr), 1;
#else
  if (!__builtin_cpu_supports("$2")) return fputs("needs $2\\n", stderr), 1;
#endif
  return printf("%d\\n", argc) < 0;
}
C
        compile "$1" -O2 "${@:3}" main.c -o refuse
        ;;
    esac
    rm -f main.*
    ;;
  # zstd, which asks for BMI2, as a module of Go carries it.
  zstd)
    source=$(module github.com/DataDog/zstd@v1.5.7)
    cat >main.c <<'C'
#include "zstd.h"
#include <stdio.h>
static char a[1 << 20], b[1 << 21];
int main(void) {
  for (int i = 0; i < 1 << 20; i++) a[i] = i * i >> 9;
  size_t n = ZSTD_compress(b, sizeof b, a, sizeof a, 9);
  printf("%zu %zu\n", n, ZSTD_decompress(a, sizeof a, b, n));
  return ZSTD_isError(n);
}
C
    compile "$1" -O2 -w "${@:2}" -I"$source" main.c "$source"/*.c "$source"/*.S -o zstd -lpthread
    rm main.c
    ;;
  # C++ that works in threads: containers, text, and floating point behind virtual calls.
  threads)
    cat >main.cc <<'C'
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>
struct Shape { virtual double area() const = 0; virtual ~Shape() {} };
struct Disc : Shape { double r; explicit Disc(double r) : r(r) {} double area() const override { return r * r * 3.14159 + std::floor(r); } };
struct Box : Shape { double a, b; Box(double a, double b) : a(a), b(b) {} double area() const override { return a * b + std::sqrt(a); } };
static double work(unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<std::unique_ptr<Shape>> shapes;
  for (int i = 0; i < 999; i++)
    if (random() % 2) shapes.emplace_back(new Disc(random() % 9)); else shapes.emplace_back(new Box(random() % 7, i));
  std::sort(shapes.begin(), shapes.end(), [](auto &a, auto &b) { return a->area() < b->area(); });
  std::map<std::string, double> sums;
  for (auto &shape : shapes) { std::ostringstream key; key << std::lround(shape->area()) % 97; sums[key.str()] += shape->area(); }
  double all = 0;
  for (auto &[key, sum] : sums) if (std::regex_search(key, std::regex("[1-7]$"))) all += sum;
  return all;
}
int main() {
  std::vector<double> results(4);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; i++) threads.emplace_back([&results, i] { results[i] = work(i); });
  for (auto &thread : threads) thread.join();
  for (double each : results) std::printf("%.3f\n", each);
}
C
    compile "$1" -std=c++17 -O2 -w "${@:2}" main.cc -o threads -pthread
    rm main.cc
    ;;
  # A march, with options of rustc and a target of cargo behind.
  ripgrep | hexyl)
    version=15.1.0
    [ "$what" = ripgrep ] || version=0.16.0
    flags="-C target-cpu=$1" target=()
    for each in "${@:2}"; do case $each in --target=*) target=("$each") ;; *) flags="$flags $each" ;; esac; done
    RUSTFLAGS=$flags cargo install -q --locked "${target[@]}" --root . --target-dir "$tools/$what-build" "$what" --version "$version"
    mv bin/* . && rm -r bin .crates* "$tools/$what-build"
    ;;
  gofmt) cd "$(go env GOROOT)/src/cmd/gofmt" && env CGO_ENABLED=0 "GOARCH=$1" "GO${1^^}=$2" go build "${@:3}" -trimpath -ldflags "-s -w" -o "$folder/gofmt" . ;;
  # A checksum that asks for PMULL on AArch64, and uses SHA3 then.
  crc64nvme)
    mkdir source
    cat >source/main.go <<'GO'
package main

import "github.com/minio/crc64nvme"

func main() { println(crc64nvme.Checksum(make([]byte, 9999))) }
GO
    cd source
    go mod init crc 2>/dev/null && go get -u=patch github.com/minio/crc64nvme@v1.0.1 2>/dev/null
    env CGO_ENABLED=0 "GOARCH=$1" "GO${1^^}=$2" go build -trimpath -ldflags "-s -w" -o "$folder/crc64nvme" .
    cd .. && rm -r source
    ;;
esac
