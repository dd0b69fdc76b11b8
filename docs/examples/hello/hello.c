#include <stdio.h>

int main(void) {
#if defined __AVX512F__
  puts("compiled for AVX-512");
#elif defined __AVX2__
  puts("compiled for AVX2");
#else
  puts("compiled for every x86-64 machine");
#endif
}
