#!/usr/bin/env bash
# Builds a program of the corpus in a folder. Arguments: the folder, what, its compiler and options.
set -euo pipefail
folder=$1 what=$2
shift 2
cd "$folder"
case $what in
  # SQLite's amalgamation, as a module of Go carries it, and a query.
  sqlite)
    source=$(go mod download -json github.com/mattn/go-sqlite3@v1.14.32 | sed -nE 's/^\s*"Dir": "(.*)",$/\1/p')
    cat >main.c <<'C'
#include "sqlite3-binding.h"
#include <stdio.h>
static int row(void *x, int n, char **v, char **names) { return puts(v[0]) < 0; }
int main(void) {
  sqlite3 *db;
  return sqlite3_open(":memory:", &db) ||
         sqlite3_exec(db, "with recursive c(x) as (select 1 union all select x + 1 from c limit 999) select sum(x * 1.5), avg(x), max(round(x / 7.0, 2)) from c", row, 0, 0);
}
C
    compiler=$1
    shift
    if [ "$compiler" = zig ]; then
      zig=${TMPDIR:-/tmp}/zig-0.14.1
      [ -d "$zig" ] || pip3 install -q --no-deps --target "$zig" ziglang==0.14.1
      compiler="$zig/ziglang/zig cc"
    fi
    $compiler -O2 -w "$@" -I"$source" main.c "$source/sqlite3-binding.c" -o sqlite -lm -lpthread -ldl
    rm main.c
    ;;
  ripgrep)
    RUSTFLAGS="-C target-cpu=$1" cargo install -q --locked --root . --target-dir "${TMPDIR:-/tmp}/rg-$1" ripgrep --version 15.1.0
    mv bin/rg . && rm -r bin .crates*
    ;;
  gofmt) cd "$(go env GOROOT)/src/cmd/gofmt" && env CGO_ENABLED=0 "GOARCH=$1" "GO${1^^}=$2" go build -trimpath -ldflags "-s -w" -o "$folder/gofmt" . ;;
esac
