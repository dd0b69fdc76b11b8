// Blocked single-precision matrix product for one core, without intrinsics: which instructions it runs is decided
// by the compiler's -march alone. That is what makes one image per microarchitecture worth building.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace sgemm {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

constexpr int lanes = vector_bytes / static_cast<int>(sizeof(float));
typedef float Vector __attribute__((vector_size(vector_bytes)));

// A tile of C that stays in registers: tile_rows * tile_vectors accumulators, and the rest for A and B.
#if defined(__AVX512F__)
constexpr int tile_rows = 12, tile_vectors = 2;  // 24 of 32 registers
#elif defined(__AVX__)
constexpr int tile_rows = 6, tile_vectors = 2;  // 12 of 16 registers
#elif defined(__aarch64__)
constexpr int tile_rows = 8, tile_vectors = 3;  // 24 of 32 registers
#else
constexpr int tile_rows = 6, tile_vectors = 2;  // 12 of 16 registers
#endif
constexpr int tile_columns = tile_vectors * lanes;

// Panels of A (block_rows x block_depth) stay in the second-level cache, slices of B in the first.
constexpr int block_depth = 256;
constexpr int block_rows = 10 * tile_rows;

struct alignas(64) Line {
  float value[16];
};

// c[tile] += a_panel * b_panel, both packed so that every step reads the next floats in memory.
inline void multiply_tile(int depth, const float* __restrict a, const float* __restrict b, float* __restrict c,
                          int stride, int rows, int columns) {
  Vector sum[tile_rows][tile_vectors] = {};
  for (int k = 0; k < depth; ++k) {
    Vector right[tile_vectors];
    for (int v = 0; v < tile_vectors; ++v) right[v] = *reinterpret_cast<const Vector*>(b + v * lanes);
    for (int r = 0; r < tile_rows; ++r)
      for (int v = 0; v < tile_vectors; ++v) sum[r][v] += a[r] * right[v];
    a += tile_rows;
    b += tile_columns;
  }
  for (int r = 0; r < rows; ++r)
    for (int j = 0; j < columns; ++j) c[static_cast<std::size_t>(r) * stride + j] += sum[r][j / lanes][j % lanes];
}

// C = A * B, square, row by row.
inline void multiply(int n, const float* a, const float* b, float* c) {
  const int panels = (n + tile_columns - 1) / tile_columns;
  static std::vector<Line> a_lines, b_lines;
  a_lines.resize((block_rows * block_depth) / 16 + 1);
  b_lines.resize(static_cast<std::size_t>(panels) * tile_columns * block_depth / 16 + 1);
  float* a_packed = a_lines.data()->value;
  float* b_packed = b_lines.data()->value;
  std::fill(c, c + static_cast<std::size_t>(n) * n, 0.0f);

  for (int k0 = 0; k0 < n; k0 += block_depth) {
    const int depth = std::min(block_depth, n - k0);
    for (int p = 0; p < panels; ++p)
      for (int k = 0; k < depth; ++k)
        for (int j = 0; j < tile_columns; ++j) {
          const int column = p * tile_columns + j;
          b_packed[(static_cast<std::size_t>(p) * depth + k) * tile_columns + j] =
              column < n ? b[static_cast<std::size_t>(k0 + k) * n + column] : 0.0f;
        }
    for (int i0 = 0; i0 < n; i0 += block_rows) {
      const int height = std::min(block_rows, n - i0);
      for (int i = 0; i < height; i += tile_rows)
        for (int k = 0; k < depth; ++k)
          for (int r = 0; r < tile_rows; ++r)
            a_packed[static_cast<std::size_t>(i) * depth + k * tile_rows + r] =
                i + r < height ? a[static_cast<std::size_t>(i0 + i + r) * n + k0 + k] : 0.0f;
      for (int p = 0; p < panels; ++p)
        for (int i = 0; i < height; i += tile_rows)
          multiply_tile(depth, a_packed + static_cast<std::size_t>(i) * depth,
                        b_packed + static_cast<std::size_t>(p) * depth * tile_columns,
                        c + static_cast<std::size_t>(i0 + i) * n + p * tile_columns, n,
                        std::min(tile_rows, height - i), std::min(tile_columns, n - p * tile_columns));
    }
  }
}

}  // namespace sgemm
