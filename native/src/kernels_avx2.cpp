#define MPBOOST_ISA avx2
#include "kernels_isa.inl"
