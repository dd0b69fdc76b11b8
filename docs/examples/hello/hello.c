#include <stdio.h>

int main(void) {
  puts("compiled for"
#if defined __AVX512F__
       " AVX-512"
#elif defined __AVX2__
       " AVX2"
#else
       " every x86-64 machine"
#endif
#if defined __PCLMUL__
       ", with PCLMUL"
#endif
  );
}
