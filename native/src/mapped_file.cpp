#include "mpboost/mapped_file.hpp"

#if __has_include(<sys/mman.h>)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <mutex>

namespace mpboost {
namespace {

// Memory of a mapped file. The handler may look at it while another thread changes it, hence the version: odd during a
// change. The place of a file that someone reads does not change; another one that does cannot be the one looked for.
struct Place {
  std::atomic<unsigned> version{0};
  std::atomic<std::uintptr_t> begin{0}, end{0};  // both 0: the place is free
  std::atomic<int> descriptor{-1};
  std::atomic<bool> is_torn{false};
};

Place places[1024];  // a process may have about as many open files

static_assert(std::atomic<std::uintptr_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
              std::atomic<bool>::is_always_lock_free);

const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));

std::uintptr_t round_up(std::uintptr_t address) { return (address + page_bytes - 1) / page_bytes * page_bytes; }

std::int64_t size_of(int descriptor) {
  struct stat status;
  return fstat(descriptor, &status) == 0 ? std::int64_t{status.st_size} : -1;
}

bool put_zeros(std::uintptr_t begin, std::uintptr_t end) {
  void* start = reinterpret_cast<void*>(begin);
  return mmap(start, end - begin, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start;
}

// Put zeros over the page of an address, and over all else that a shorter file no longer has. Only what a handler of
// signals may call.
bool mend(Place& place, std::uintptr_t address, std::uintptr_t begin, std::uintptr_t end) {
  place.is_torn.store(true);
  const std::uintptr_t first = address / page_bytes * page_bytes, last = round_up(end);
  const std::int64_t size = size_of(place.descriptor.load());
  const std::uintptr_t kept = size < 0 ? last : round_up(begin + static_cast<std::uintptr_t>(size));
  // One call for all that is cut off: a page at a time could leave more areas of memory than the system allows.
  if (kept <= first) return put_zeros(kept, last);
  return put_zeros(first, first + page_bytes) || put_zeros(first, last);
}

bool mend_file_at(std::uintptr_t address) {
  for (Place& place : places) {
    const unsigned version = place.version.load();
    const std::uintptr_t begin = place.begin.load(), end = place.end.load();
    if (address < begin || address >= end) continue;
    if (version % 2 == 0 && version == place.version.load()) return mend(place, address, begin, end);
  }
  return false;
}

// The handlers that ours replaced, the latest last. Faulthandler, when called, first brings back the one before it and
// then raises the signal again, so a handler is not in the list while it is called: it could be called for ever.
struct sigaction replaced[16];
std::atomic<int> n_replaced{0};

// Do what would have been done without us.
void pass_on(int signal, siginfo_t* info, void* context, bool is_fault) {
  const int n = n_replaced.load();
  struct sigaction before = {};
  before.sa_handler = SIG_DFL;
  if (n > 0) before = replaced[n - 1];
  if (before.sa_flags & SA_SIGINFO || (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)) {
    n_replaced.store(n - 1);
    if (before.sa_flags & SA_SIGINFO)
      before.sa_sigaction(signal, info, context);
    else
      before.sa_handler(signal);
    n_replaced.store(n);
    return;
  }
  if (before.sa_handler == SIG_IGN && !is_fault) return;
  before.sa_handler = SIG_DFL;
  sigaction(signal, &before, nullptr);
  raise(signal);
}

void handle_bus_error(int signal, siginfo_t* info, void* context) {
  const int number = errno;
  bool is_fault = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR || info->si_code == BUS_ADRALN;
#ifdef BUS_MCEERR_AR
  is_fault |= info->si_code == BUS_MCEERR_AR;
#endif
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);  // of faults alone
  if (!is_fault || !mend_file_at(address)) pass_on(signal, info, context, is_fault);
  errno = number;
}

// Make ours the handler, unless it is.
void install_handler() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  struct sigaction current;
  if (sigaction(SIGBUS, nullptr, &current) != 0) return;
  if (current.sa_flags & SA_SIGINFO && current.sa_sigaction == handle_bus_error) return;
  const int n = std::min(n_replaced.load(), static_cast<int>(std::size(replaced)) - 1);
  replaced[n] = current;
  n_replaced.store(n + 1);
  struct sigaction ours = {};
  ours.sa_sigaction = handle_bus_error;
  // Not deferred: a handler that raises the signal anew to end the process expects that this happens at once.
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, nullptr);
}

int take_place(std::span<const std::uint8_t> bytes, int descriptor) {
  for (int k = 0; k < static_cast<int>(std::size(places)); ++k) {
    Place& place = places[k];
    unsigned version = place.version.load();
    if (version % 2 == 1 || place.end.load() != 0 || !place.version.compare_exchange_strong(version, version + 1))
      continue;
    place.is_torn.store(false);
    place.descriptor.store(descriptor);
    place.begin.store(reinterpret_cast<std::uintptr_t>(bytes.data()));
    place.end.store(reinterpret_cast<std::uintptr_t>(bytes.data()) + bytes.size());
    place.version.store(version + 2);
    return k;
  }
  return -1;
}

void free_place(Place& place) {
  const unsigned version = place.version.load();
  place.version.store(version + 1);
  place.begin.store(0);
  place.end.store(0);
  place.version.store(version + 2);
}

[[noreturn]] void fail(int number) { throw FileError(number, std::strerror(number)); }

}  // namespace

// Not blocking: the other end of a pipe may never come.
MappedFile::Descriptor::Descriptor(const std::string& path)
    : number(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (number < 0) fail(errno);
}

MappedFile::Descriptor::~Descriptor() { close(number); }

std::int64_t MappedFile::Descriptor::size() const { return size_of(number); }

MappedFile::MappedFile(const std::string& path) : file_(path) {
  struct stat status;
  if (fstat(file_.number, &status) != 0) fail(errno);
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  if (!S_ISREG(status.st_mode)) throw FileError(EINVAL, "Not a regular file");
  if (status.st_size == 0) throw FileError(EINVAL, "The file is empty");
  const auto size = static_cast<std::size_t>(status.st_size);
  install_handler();
  void* start = mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.number, 0);
  if (start == MAP_FAILED) fail(errno);
  bytes_ = {static_cast<const std::uint8_t*>(start), size};
  place_ = take_place(bytes_, file_.number);
  if (place_ < 0) {
    munmap(start, size);
    fail(EMFILE);
  }
}

MappedFile::~MappedFile() {
  free_place(places[place_]);
  munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

bool MappedFile::is_intact() const {
  install_handler();
  return !places[place_].is_torn.load() && file_.size() == static_cast<std::int64_t>(bytes_.size());
}

}  // namespace mpboost

#else

#include <cerrno>

namespace mpboost {

MappedFile::Descriptor::Descriptor(const std::string&) : number(-1) {
  throw FileError(ENOSYS, "This system cannot map files");
}
MappedFile::Descriptor::~Descriptor() = default;
std::int64_t MappedFile::Descriptor::size() const { return -1; }
MappedFile::MappedFile(const std::string& path) : file_(path), place_(-1) {}
MappedFile::~MappedFile() = default;
bool MappedFile::is_intact() const { return false; }

}  // namespace mpboost

#endif
