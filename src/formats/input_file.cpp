#include "formats/input_file.h"

#include "base/unpack.h"
#include "formats/deciding_beginning.h"
#include "formats/format.h"
#include "formats/perf_data_folder.h"

namespace tephra::formats {
namespace {

// A pipe or a device may never end: what fits no format is refused when that can be told.
base::Status judge(base::Bytes beginning, const std::string& name) {
  if (!base::packing_of(beginning).empty() || !decides_format(beginning)) return {};
  TEPHRA_TRY([[maybe_unused]] const Format* format, recognise(beginning, name));
  return {};
}

}  // namespace

base::Result<InputFile> InputFile::open(const std::string& path) {
  if (is_perf_data_folder(path)) {
    TEPHRA_TRY(std::string joined, read_perf_data_folder(path));
    return InputFile(base::FileContent::from_string(std::move(joined)));
  }
  TEPHRA_TRY(auto content,
             base::FileContent::open(path, [&](base::Bytes beginning) { return judge(beginning, path); }));
  // A file may be packed more than once: an archive of files that are packed already.
  for (int layers = 0; layers < 3 && !base::packing_of(content.bytes()).empty(); ++layers) {
    auto unpacked = base::unpack(content.bytes(), base::most_in_memory());
    if (!unpacked) {
      unpacked.error().on = path;
      return std::move(unpacked).error();
    }
    content = base::FileContent::from_string(std::move(*unpacked));
  }
  return InputFile(std::move(content));
}

}  // namespace tephra::formats
