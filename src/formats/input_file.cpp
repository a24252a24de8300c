#include "formats/input_file.h"

#include <unistd.h>

#include <algorithm>

#include "base/unpack.h"
#include "formats/perf_data_folder.h"

namespace tephra::formats {
namespace {

// Beyond what a profile may be worth, and below what the machine has: a small file may unpack to anything.
size_t most_unpacked() {
  constexpr size_t kEnough = size_t{8} << 30;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_size <= 0) return kEnough;
  return std::min(kEnough, static_cast<size_t>(pages) * static_cast<size_t>(page_size) / 4);
}

}  // namespace

base::Result<InputFile> InputFile::open(const std::string& path) {
  if (is_perf_data_folder(path)) {
    TEPHRA_TRY(std::string joined, read_perf_data_folder(path));
    return InputFile(base::FileContent::from_string(std::move(joined)));
  }
  TEPHRA_TRY(auto content, base::FileContent::open(path));
  // A file may be packed more than once: an archive of files that are packed already.
  for (int layers = 0; layers < 3 && !base::packing_of(content.bytes()).empty(); ++layers) {
    auto unpacked = base::unpack(content.bytes(), most_unpacked());
    if (!unpacked) {
      unpacked.error().on = path;
      return std::move(unpacked).error();
    }
    content = base::FileContent::from_string(std::move(*unpacked));
  }
  return InputFile(std::move(content));
}

}  // namespace tephra::formats
