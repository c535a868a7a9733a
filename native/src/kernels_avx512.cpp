#define MPBOOST_ISA avx512
#include "kernels_isa.inl"
