// Matrix product on the CPU: prints what it was compiled for, what it runs on, and how fast it is.
#include "cpu.hpp"
#include "report.hpp"

int main(int argc, char** argv) {
  const sgemm::Options options = sgemm::parse_options(argc, argv);
  const int n = options.size;
  std::printf("program    sgemm, single precision, one core, %d x %d\n", n, n);
  std::printf("built for  %s (%s)\n", SGEMM_TEXT(BUILT_MARCH), sgemm::vector_extensions());
  std::printf("runs on    %s\n", sgemm::cpu_model().c_str());

  const std::vector<float> a = sgemm::test_matrix(n, 1), b = sgemm::test_matrix(n, 2);
  std::vector<float> c(a.size());
  sgemm::multiply(n, a.data(), b.data(), c.data());
  if (!sgemm::verify(n, a, b, c)) return 1;
  const double speed =
      sgemm::measure(n, options.seconds, [&] { sgemm::multiply(n, a.data(), b.data(), c.data()); });
  std::printf("speed      %.1f GFLOP/s\n", speed);
  return 0;
}
