#include "cli/output_packing.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/file.h"
#include "base/gzip.h"
#include "base/lower_case.h"

namespace tephra::cli {
namespace {

constexpr std::string_view kGzipMagic = "\x1f\x8b";

}  // namespace

base::Status refuse_packing(const std::string& output) {
  static constexpr std::array<std::string_view, 8> kNotWritten{".zst", ".xz",   ".bz2", ".zip",
                                                               ".lz4", ".lzma", ".7z",  ".br"};
  const std::string name = base::lower_case(output);
  const bool refused = std::any_of(kNotWritten.begin(), kNotWritten.end(),
                                   [&](std::string_view ending) { return name.ends_with(ending); });
  if (!refused) return {};
  return base::usage_error("cannot write", output, "what is packed is packed by gzip",
                           "Name it .gz, or pack it yourself.");
}

base::Status write_output(const std::string& output, std::string content) {
  if (base::lower_case(output).ends_with(".gz") && !content.starts_with(kGzipMagic)) {
    TEPHRA_TRY(content, base::gzip(base::as_bytes(content)));
  }
  return base::write_file(output, content);
}

}  // namespace tephra::cli
