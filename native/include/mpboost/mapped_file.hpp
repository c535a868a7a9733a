// A file whose bytes are read as if they were memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace mpboost {

// What the system said when a file could not be opened or mapped.
class FileError : public std::runtime_error {
 public:
  FileError(int number, const std::string& message) : std::runtime_error(message), number_(number) {}

  int number() const { return number_; }  // as errno has it

 private:
  int number_;
};

// Maps a whole file, read-only. Memory of a file that someone cuts short, or that cannot be read, raises SIGBUS, which
// would end the process. Here it does not: pages that are not there read as zeros, and is_intact tells.
//
// The handler of this signal serves all files, and passes on signals that are none of its business to the handler that
// was there before. Handlers that others install later would get the signal first, so the constructor and is_intact put
// ours back.
class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::uint8_t> bytes() const { return bytes_; }

  // False once the file has another size than when it was mapped, or some of it could not be read.
  bool is_intact() const;

 private:
  struct Descriptor {  // of the open file, which is kept to ask for its size
    int number;
    explicit Descriptor(const std::string& path);
    ~Descriptor();
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    std::int64_t size() const;  // -1: unknown
  };

  Descriptor file_;
  std::span<const std::uint8_t> bytes_;
  int place_;  // in the table of mapped files that the handler looks at
};

}  // namespace mpboost
