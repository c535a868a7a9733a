#define MPBOOST_ISA portable
#include "kernels_isa.inl"

namespace mpboost {

extern const Kernels portable_kernels;
const Kernels portable_kernels{
    "portable",
    portable::search_pairs,
    portable::search_bins,
    portable::search_weighted_pairs,
    portable::search_weighted_bins,
    portable::search_gradients,
    portable::log_exponential,
    portable::sweep_block,
    portable::select_block,
    portable::log_loss,
    portable::softmax,
    portable::value_loss,
    portable::gradient_sizes,
    portable::sum_blocks,
};

}  // namespace mpboost
