// Runs every part of the engine that has threads, with several numbers of threads and every set of kernels that the
// processor can run, and from several callers at a time: for the thread sanitizer (`make sanitize-threads`). Ends with
// 0 if all results have the same bits and every part spread its work. `thread_stress --digests KERNELS` prints a hash
// of the results of each part instead: the same lines on every processor (`make arm`).
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "mpboost/kernels.hpp"
#include "stress.hpp"

using namespace mpboost;
using namespace stress;

namespace {

std::vector<Case> list_cases() {
  std::vector<Case> all;
  for (const auto part :
       {list_thread_cases(), list_binning_cases(), list_draw_cases(), list_grower_cases(), list_tree_cases(),
        list_vote_cases(), list_value_cases(), list_gradient_cases(), list_number_cases()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<Digest> run_alone(const std::vector<Case>& cases, const Data& data) {
  Threads alone(1);
  std::vector<Digest> digests(cases.size());
  for (std::size_t k = 0; k < cases.size(); ++k) cases[k].run(data, alone, digests[k]);
  return digests;
}

// Run all cases and compare; return how many went wrong.
int count_faults(const std::vector<Case>& cases, const Data& data, const std::vector<Digest>& expected, int n_threads) {
  Threads threads(n_threads);
  int n_faults = 0;
  const auto report = [&](const Case& some, const char* fault) {
    std::printf("%s kernels, %d threads: %s: %s\n", kernels().name.data(), n_threads, some.name, fault);
    ++n_faults;
  };
  for (std::size_t k = 0; k < cases.size(); ++k) {
    Digest digest;
    const std::uint64_t n_shared = threads.n_shared();
    cases[k].run(data, threads, digest);
    if (digest != expected[k]) report(cases[k], "differs from what one thread and the best kernels compute");
    if (n_threads > 1 && (threads.n_shared() > n_shared) != cases[k].is_threaded)
      report(cases[k], cases[k].is_threaded ? "all was done in one thread" : "has threads that the table denies");
  }
  return n_faults;
}

// Let several callers, each with threads of its own, run all cases at the same time.
int count_faults_of_callers(const std::vector<Case>& cases, const Data& data, const std::vector<Digest>& expected) {
  std::atomic<int> n_faults = 0;
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 3; ++caller)
    callers.emplace_back([&] { n_faults += count_faults(cases, data, expected, 2); });
  for (auto& caller : callers) caller.join();
  return n_faults;
}

int print_digests(std::string_view kernels_name) {
  if (!use_kernels(kernels_name)) {
    std::fprintf(stderr, "this processor has no kernels of that name\n");
    return 2;
  }
  const std::vector<Case> cases = list_cases();
  const std::vector<Digest> digests = run_alone(cases, Data());
  for (std::size_t k = 0; k < cases.size(); ++k) std::printf("%016" PRIx64 "  %s\n", digests[k].hash(), cases[k].name);
  return 0;
}

// Whether the kernels that were chosen first are the best that the processor runs.
bool are_kernels_the_best() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512vbmi2")) return kernels().name == "avx512";
  if (__builtin_cpu_supports("avx2")) return kernels().name == "avx2";
#endif
  return true;
}

}  // namespace

int main(int n_arguments, char** arguments) {
  if (n_arguments == 3 && arguments[1] == std::string_view("--digests")) return print_digests(arguments[2]);
  int n_faults = 0;
  if (!are_kernels_the_best()) {
    std::printf("the processor has more instructions than the kernels in use, %s\n", kernels().name.data());
    ++n_faults;
  }
  const std::vector<Case> cases = list_cases();
  const Data data;
  const std::vector<Digest> expected = run_alone(cases, data);
  for (const Kernels* some : available_kernels()) {
    use_kernels(some->name);
    for (const int n_threads : {1, 2, 3, 7}) n_faults += count_faults(cases, data, expected, n_threads);
    std::printf("%s kernels: ran %zu cases with 1, 2, 3 and 7 threads\n", some->name.data(), cases.size());
    std::fflush(stdout);
  }
  use_kernels(available_kernels()[0]->name);
  n_faults += count_faults_of_callers(cases, data, expected);
  std::printf("%s kernels: ran %zu cases from 3 callers at a time\n", kernels().name.data(), cases.size());
  std::puts(n_faults == 0 ? "all results have the same bits" : "there are faults");
  return n_faults == 0 ? 0 : 1;
}
