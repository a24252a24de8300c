#include "collect/embed_names.h"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>

#include "base/disk_cache.h"
#include "base/file.h"
#include "formats/perf_data.h"
#include "stream/embedded_names.h"
#include "stream/perf_file.h"
#include "stream/profile_builder.h"
#include "stream/recorded_unwinder.h"
#include "stream/wait_reading.h"
#include "symbols/embedded_answers.h"
#include "symbols/file_finder.h"
#include "symbols/symbolize.h"
#include "unwind/offline_unwinder.h"
#include "unwind/table_store.h"

namespace tephra::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kHeaderBytes = 104;
constexpr size_t kDataSection = 40;  // in the header
constexpr size_t kFeatureWords = 72;

// Where the table of sections says where ours is; 0 where it has no entry.
uint64_t entry_of_names(base::Bytes file) {
  if (file.size() < kHeaderBytes) return 0;
  const auto word = [&](size_t offset) { return base::load<uint64_t>(file.data() + offset); };
  uint64_t entry = word(kDataSection) + word(kDataSection + 8);
  constexpr uint32_t kWord = stream::kFeatureTephraNames / 64;
  constexpr uint32_t kBit = stream::kFeatureTephraNames % 64;
  const uint64_t bits = word(kFeatureWords + kWord * 8);
  if (!(bits >> kBit & 1)) return 0;
  for (uint32_t i = 0; i < kWord; ++i) entry += 16 * static_cast<uint64_t>(std::popcount(word(kFeatureWords + i * 8)));
  entry += 16 * static_cast<uint64_t>(std::popcount(bits & ((uint64_t{1} << kBit) - 1)));
  return entry > file.size() || file.size() - entry < 16 ? 0 : entry;
}

base::Status write_at(int fd, const void* bytes, size_t size, uint64_t offset, const std::string& path) {
  const auto* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t wrote = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return base::system_error("cannot write", path, wrote < 0 ? errno : ENOSPC);
    from += wrote;
    offset += static_cast<uint64_t>(wrote);
    size -= static_cast<size_t>(wrote);
  }
  return {};
}

// Appends the section and lets the table point at it: first where it is, then its size, each in one word.
base::Status store(int fd, uint64_t entry, uint64_t end, const std::string& section, const std::string& path) {
  const uint64_t offset = (end + 7) / 8 * 8;
  auto status = write_at(fd, section.data(), section.size(), offset, path);
  if (!status) {
    // What lies behind the last section is not part of the file for any reader.
    if (::ftruncate(fd, static_cast<off_t>(end)) != 0) return status;
    return status;
  }
  const uint64_t size = section.size();
  TEPHRA_CHECK_OK(write_at(fd, &offset, sizeof offset, entry, path));
  return write_at(fd, &size, sizeof size, entry + 8, path);
}

stream::EmbeddedSection look_up(const stream::Recording& recording, const symbols::KeptFiles& files,
                                const EmbedSettings& settings) {
  // Nobody waits for a server at the end of a recording.
  symbols::FinderOptions where = symbols::FinderOptions::from_environment();
  where.debuginfod = false;
  where.kept = &files;
  const auto finder = std::make_shared<symbols::FileFinder>(where);
  const base::DiskCache cache = base::DiskCache::of_user();
  unwind::TableStore tables(*finder, cache);
  unwind::OfflineUnwinder unwinder(tables);
  stream::WalkKeeper walks(unwinder);
  stream::BuildOptions build;
  build.filter.keep_idle = true;
  build.unwinder = &walks;
  const model::Profile profile = stream::build_profile(recording, build);
  symbols::Options options;
  options.finder = finder;
  options.cache = cache;
  options.inlines = settings.inlines;
  options.lines_until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(settings.inline_seconds));
  stream::EmbeddedSection section;
  section.names = symbols::embed(profile, symbols::look_up(profile, options));
  section.names.inlines_cut = !settings.inlines || Clock::now() >= *options.lines_until;
  section.walks = std::move(walks).take();
  return section;
}

}  // namespace

base::Result<Embedded> embed_names(const std::string& path, const symbols::KeptFiles& files,
                                   const EmbedSettings& settings) {
  const base::FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return base::system_error("cannot open", path, errno);
  TEPHRA_TRY(const auto content, base::FileContent::from_descriptor(fd.get(), path));
  const base::Bytes file = content.bytes();
  const uint64_t entry = entry_of_names(file);
  if (entry == 0) return base::failed("cannot store names in", path, "it has no place for them");
  TEPHRA_TRY(stream::Recording recording, formats::kPerfData.open(file));
  TEPHRA_CHECK_OK(stream::add_wait_reading(recording, {}));  // it tells of locks, which have names, too
  const stream::EmbeddedSection section = look_up(recording, files, settings);
  Embedded done;
  done.addresses = section.names.rows.size();
  for (const auto& row : section.names.rows) done.unknown += !row.named;
  done.walks = section.walks.walks().size();
  done.inlines_cut = section.names.inlines_cut;
  if (section.names.empty() && section.walks.empty()) return done;
  TEPHRA_TRY(const std::string text, stream::print_section(section));
  if (settings.most_bytes && text.size() > *settings.most_bytes) return done;
  TEPHRA_CHECK_OK(store(fd.get(), entry, file.size(), text, path));
  done.bytes = text.size();
  return done;
}

}  // namespace tephra::collect
