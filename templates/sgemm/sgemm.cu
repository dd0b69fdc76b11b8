// Matrix product on one NVIDIA GPU: prints what it was compiled for, what it runs on, and how fast it is.
#include <cuda_runtime.h>

#include "report.hpp"

// Set by the Dockerfile: the targets that nvcc was given, for example sm_90+compute_90.
#ifndef BUILT_GPU_CODE
#define BUILT_GPU_CODE unknown
#endif

namespace {

// One block computes a 128 x 128 tile of C from slices of A and B in shared memory, one thread 8 x 8 of it in registers.
constexpr int tile = 128, depth = 8, per_thread = 8, threads = (tile / per_thread) * (tile / per_thread);

__global__ void __launch_bounds__(threads) multiply(int n, const float* __restrict__ a, const float* __restrict__ b,
                                                    float* __restrict__ c) {
  __shared__ float a_slice[depth][tile + 4], b_slice[depth][tile];  // + 4: neighbours in different banks
  const int row0 = blockIdx.y * tile, column0 = blockIdx.x * tile;
  const int my_row = (threadIdx.x / (tile / per_thread)) * per_thread;
  const int my_column = (threadIdx.x % (tile / per_thread)) * per_thread;
  float sum[per_thread][per_thread] = {};

  for (int k0 = 0; k0 < n; k0 += depth) {
    for (int i = threadIdx.x; i < tile * depth; i += threads) {
      const int row = row0 + i / depth, ak = k0 + i % depth;
      a_slice[i % depth][i / depth] = row < n && ak < n ? a[static_cast<size_t>(row) * n + ak] : 0.0f;
      const int column = column0 + i % tile, bk = k0 + i / tile;
      b_slice[i / tile][i % tile] = column < n && bk < n ? b[static_cast<size_t>(bk) * n + column] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < depth; ++k) {
      float left[per_thread], right[per_thread];
#pragma unroll
      for (int i = 0; i < per_thread; ++i) {
        left[i] = a_slice[k][my_row + i];
        right[i] = b_slice[k][my_column + i];
      }
#pragma unroll
      for (int i = 0; i < per_thread; ++i)
#pragma unroll
        for (int j = 0; j < per_thread; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < per_thread; ++i)
#pragma unroll
    for (int j = 0; j < per_thread; ++j) {
      const int row = row0 + my_row + i, column = column0 + my_column + j;
      if (row < n && column < n) c[static_cast<size_t>(row) * n + column] = sum[i][j];
    }
}

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  std::fprintf(stderr, "FAILED: %s: %s\n", what, cudaGetErrorString(status));
  if (status == cudaErrorNoKernelImageForDevice)
    std::fprintf(stderr, "this image holds no code for this GPU: let imgmatch resolve pick the image\n");
  std::exit(1);
}

// Status 3 where no GPU can be used: a wrong host, not a wrong result.
int first_gpu() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return 0;
  std::fprintf(stderr, "NO GPU: %s\n", status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
  std::fprintf(stderr, "start the container with its GPUs (docker run --gpus all), or use the image without GPU code\n");
  std::exit(3);
}

}  // namespace

int main(int argc, char** argv) {
  sgemm::Options options = sgemm::parse_options(argc, argv);
  const int n = options.size;
  std::printf("program    sgemm, single precision, one GPU, %d x %d\n", n, n);
  std::printf("built for  CUDA %d.%d, %s; host code %s (%s)\n", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10,
              SGEMM_TEXT(BUILT_GPU_CODE), SGEMM_TEXT(BUILT_MARCH), sgemm::vector_extensions());
  std::fflush(stdout);

  const int gpu = first_gpu();
  check(cudaSetDevice(gpu), "choosing the GPU");
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, gpu), "reading the GPU's properties");
  std::printf("runs on    %s (compute capability %d.%d), %s\n", properties.name, properties.major, properties.minor,
              sgemm::cpu_model().c_str());

  const std::vector<float> a = sgemm::test_matrix(n, 1), b = sgemm::test_matrix(n, 2);
  std::vector<float> c(a.size());
  const size_t bytes = a.size() * sizeof(float);
  float *a_gpu, *b_gpu, *c_gpu;
  check(cudaMalloc(&a_gpu, bytes), "allocating memory");
  check(cudaMalloc(&b_gpu, bytes), "allocating memory");
  check(cudaMalloc(&c_gpu, bytes), "allocating memory");
  check(cudaMemcpy(a_gpu, a.data(), bytes, cudaMemcpyHostToDevice), "copying to the GPU");
  check(cudaMemcpy(b_gpu, b.data(), bytes, cudaMemcpyHostToDevice), "copying to the GPU");

  const dim3 blocks((n + tile - 1) / tile, (n + tile - 1) / tile);
  const auto run = [&] {
    multiply<<<blocks, threads>>>(n, a_gpu, b_gpu, c_gpu);
    check(cudaGetLastError(), "starting the kernel");
    check(cudaDeviceSynchronize(), "running the kernel");
  };
  run();
  check(cudaMemcpy(c.data(), c_gpu, bytes, cudaMemcpyDeviceToHost), "copying from the GPU");
  if (!sgemm::verify(n, a, b, c)) return 1;
  std::printf("speed      %.1f GFLOP/s\n", sgemm::measure(n, options.seconds, run));
  return 0;
}
