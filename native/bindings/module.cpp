#include "bindings.hpp"

NB_MODULE(_native, module) {
  module.doc() = "The engine of mpboost: binned columns, weighted draws, trees on minipatches.";
  mpboost::bindings::bind_threads(module);
  mpboost::bindings::bind_sums(module);
  mpboost::bindings::bind_data(module);
  mpboost::bindings::bind_files(module);
  mpboost::bindings::bind_elementary(module);
  mpboost::bindings::bind_sampling(module);
  mpboost::bindings::bind_trees(module);
  mpboost::bindings::bind_outputs(module);
  mpboost::bindings::bind_forests(module);
  mpboost::bindings::bind_contributions(module);
  mpboost::bindings::bind_gradient_trees(module);
  mpboost::bindings::bind_gradients(module);
}
