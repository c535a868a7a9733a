#define MPBOOST_ISA portable
#include "kernels_isa.inl"
