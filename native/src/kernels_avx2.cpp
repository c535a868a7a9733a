#define MPBOOST_ISA avx2
#include "kernels_isa.inl"

namespace mpboost {

extern const Kernels avx2_kernels;
const Kernels avx2_kernels{
    "avx2",
    avx2::search_pairs,
    avx2::search_bins,
    avx2::search_weighted_pairs,
    avx2::search_weighted_bins,
    avx2::search_gradients,
    avx2::log_exponential,
    avx2::sweep_block,
    avx2::select_block,
    avx2::log_loss,
    avx2::softmax,
    avx2::value_loss,
    avx2::gradient_sizes,
    avx2::sum_blocks,
};

}  // namespace mpboost
