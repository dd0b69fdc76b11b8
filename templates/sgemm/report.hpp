// What every build of this benchmark prints and checks, whatever computes the product.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

// Set by the Dockerfile, so that the binary can say what it was compiled for. Bare words such as x86-64-v3, made
// strings here: quotes do not survive every compiler driver.
#ifndef BUILT_MARCH
#define BUILT_MARCH unknown
#endif
#define SGEMM_STRING(word) #word
#define SGEMM_TEXT(macro) SGEMM_STRING(macro)

namespace sgemm {

struct Options {
  int size = 1024;       // rows and columns of the square matrices
  double seconds = 2.0;  // how long to measure
};

[[noreturn]] inline void usage(const char* program, int status) {
  std::fprintf(status == 0 ? stdout : stderr,
               "usage: %s [--size N] [--seconds S]\n"
               "  --size N     rows and columns of the matrices, 16 to 16384 (default 1024)\n"
               "  --seconds S  how long to measure, 0.01 to 600 (default 2)\n",
               program);
  std::exit(status);
}

inline Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help") usage(argv[0], 0);
    if (i + 1 == argc) usage(argv[0], 2);
    char* end = nullptr;
    const double value = std::strtod(argv[++i], &end);
    const bool number = end != argv[i] && *end == '\0';
    if (number && name == "--size" && value == std::floor(value) && value >= 16 && value <= 16384) {
      options.size = static_cast<int>(value);
    } else if (number && name == "--seconds" && value >= 0.01 && value <= 600) {
      options.seconds = value;
    } else {
      usage(argv[0], 2);
    }
  }
  return options;
}

// The widest vectors that the compiler was allowed to use, from its own macros rather than from the march's name.
inline const char* vector_extensions() {
#if defined(__AVX512F__)
  return "AVX-512, FMA";
#elif defined(__AVX2__) && defined(__FMA__)
  return "AVX2, FMA";
#elif defined(__AVX__)
  return "AVX";
#elif defined(__SSE4_2__)
  return "SSE4.2";
#elif defined(__SSE2__)
  return "SSE2";
#elif defined(__ARM_FEATURE_SVE2)
  return "SVE2, NEON";
#elif defined(__ARM_FEATURE_SVE)
  return "SVE, NEON";
#elif defined(__ARM_NEON)
  return "NEON";
#else
  return "none known";
#endif
}

inline std::string cpu_model() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line, part;
  while (std::getline(cpuinfo, line)) {
    const auto colon = line.find(": ");
    if (colon == std::string::npos) continue;
    if (line.rfind("model name", 0) == 0) return line.substr(colon + 2);
    // Arm kernels print no name, only the number of the part.
    if (line.rfind("CPU part", 0) == 0) part = "Arm part " + line.substr(colon + 2);
  }
  return part.empty() ? "unknown" : part;
}

// Small whole numbers: every sum below stays exact in single precision, so a correct product is equal to the last bit.
inline std::vector<float> test_matrix(int size, std::uint32_t seed) {
  std::vector<float> matrix(static_cast<std::size_t>(size) * size);
  for (float& value : matrix) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(static_cast<int>(seed >> 29) - 3);
  }
  return matrix;
}

// Checks the product against the definition: all of a small matrix, 4096 scattered elements of a large one.
inline bool verify(int size, const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  const std::size_t n = size, elements = n * n;
  const std::size_t checks = elements <= 65536 ? elements : 4096;
  const std::size_t step = elements / checks;
  for (std::size_t check = 0; check < checks; ++check) {
    const std::size_t at = (check * step + check * check) % elements, row = at / n, column = at % n;
    double sum = 0;
    for (std::size_t k = 0; k < n; ++k) sum += static_cast<double>(a[row * n + k]) * b[k * n + column];
    if (c[at] != static_cast<float>(sum)) {
      std::fprintf(stderr, "WRONG: element (%zu, %zu) is %.9g, the definition gives %.9g\n", row, column,
                   static_cast<double>(c[at]), sum);
      return false;
    }
  }
  std::printf("verified   %zu elements against the definition\n", checks);
  return true;
}

// Runs `multiply` for about `seconds` and answers the best GFLOP/s: the best run is the one the system disturbed least.
inline double measure(int size, double seconds, const std::function<void()>& multiply) {
  using clock = std::chrono::steady_clock;
  const double operations = 2.0 * size * size * size;
  double best = 0;
  const auto start = clock::now();
  for (;;) {
    const auto before = clock::now();
    multiply();
    const auto after = clock::now();
    const double elapsed = std::chrono::duration<double>(after - before).count();
    if (elapsed > 0 && operations / elapsed / 1e9 > best) best = operations / elapsed / 1e9;
    if (std::chrono::duration<double>(after - start).count() >= seconds) return best;
  }
}

}  // namespace sgemm
