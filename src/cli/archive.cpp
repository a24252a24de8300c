#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "base/file.h"
#include "base/gzip_stream.h"
#include "base/tar_writer.h"
#include "base/units.h"
#include "base/zstd_stream.h"
#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/output_path.h"
#include "cli/redaction_key.h"
#include "cli/source_options.h"
#include "formats/format.h"
#include "formats/input_file.h"
#include "objects/elf_file.h"
#include "symbols/file_finder.h"
#include "views/printable.h"

namespace tephra::cli {
namespace {

constexpr const char* kSummary =
    "Bundle a recording with the programs and libraries it sampled, and their debug files, to read it elsewhere.";
constexpr const char* kExamples =
    "  tephra archive perf.data                    writes perf.data.tar.zst\n"
    "  tar xf perf.data.tar.zst && tephra report --symfs perf.data-archive perf.data-archive/perf.data\n";

// A compressed file that is written piece by piece, and is whole or absent.
class ArchiveFile {
 public:
  enum class Packing { kNone, kZstd, kGzip };

  static base::Result<std::unique_ptr<ArchiveFile>> create(const std::string& path, Packing packing) {
    auto file = std::make_unique<ArchiveFile>();
    file->path_ = path;
    file->temporary_ = fmt::format("{}.tmp-{}", path, ::getpid());
    file->packing_ = packing;
    file->out_.reset(::fopen(file->temporary_.c_str(), "wbxe"));
    if (!file->out_) return base::system_error("cannot write", path, errno, "Choose another place with -o FILE.");
    return file;
  }
  ArchiveFile() = default;
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;
  ~ArchiveFile() {
    if (out_) ::unlink(temporary_.c_str());
  }

  base::Status add(base::Bytes bytes) {
    constexpr size_t kPiece = 1 << 20;  // what is packed at once stays small
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(kPiece, bytes.size()))) {
      const base::Bytes piece = bytes.first(std::min(kPiece, bytes.size()));
      if (packing_ == Packing::kNone) {
        TEPHRA_CHECK_OK(write(base::as_text(piece)));
        continue;
      }
      packed_.clear();
      TEPHRA_CHECK_OK(packing_ == Packing::kZstd ? zstd_.compress(piece, packed_) : gzip_.compress(piece, packed_));
      TEPHRA_CHECK_OK(write(packed_));
    }
    return {};
  }

  // The size of the file, which has its name from now on.
  base::Result<uint64_t> finish() {
    packed_.clear();
    if (packing_ == Packing::kZstd) TEPHRA_CHECK_OK(zstd_.finish(packed_));
    if (packing_ == Packing::kGzip) TEPHRA_CHECK_OK(gzip_.finish(packed_));
    TEPHRA_CHECK_OK(write(packed_));
    if (std::fflush(out_.get()) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
      return base::system_error("cannot write", path_, errno);
    }
    out_.reset();
    return bytes_;
  }

 private:
  struct Closer {
    void operator()(FILE* file) const { std::fclose(file); }
  };

  base::Status write(std::string_view text) {
    bytes_ += text.size();
    if (std::fwrite(text.data(), 1, text.size(), out_.get()) == text.size()) return {};
    return base::system_error("cannot write", path_, errno, "Free some space, or write elsewhere with -o FILE.");
  }

  std::string path_;
  std::string temporary_;
  Packing packing_ = Packing::kNone;
  std::unique_ptr<FILE, Closer> out_;
  base::ZstdCompressor zstd_{3};
  base::GzipCompressor gzip_;
  std::string packed_;
  uint64_t bytes_ = 0;
};

base::Result<ArchiveFile::Packing> packing_of(const std::string& path) {
  if (path.ends_with(".tar.zst") || path.ends_with(".tzst")) return ArchiveFile::Packing::kZstd;
  if (path.ends_with(".tar.gz") || path.ends_with(".tgz")) return ArchiveFile::Packing::kGzip;
  if (path.ends_with(".tar")) return ArchiveFile::Packing::kNone;
  return base::usage_error("cannot tell how to pack", path, "", "Name it .tar.zst, .tar.gz or .tar.");
}

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The folder that everything in the archive is in.
std::string folder_name(const std::string& archive) {
  std::string name = file_name(archive);
  for (const std::string_view end : {".tar.zst", ".tar.gz", ".tzst", ".tgz", ".tar"}) {
    if (name.ends_with(end)) {
      name.resize(name.size() - end.size());
      break;
    }
  }
  return name + "-archive";
}

// What was sampled, each file once.
std::vector<symbols::WantedFile> sampled_files(const model::Profile& profile) {
  std::set<model::MappingId> sampled;
  for (const model::Frame& frame : profile.frames) sampled.insert(frame.mapping);
  std::vector<symbols::WantedFile> files;
  for (const model::MappingId id : sampled) {
    const model::Mapping& mapping = profile.mappings[id];
    if (mapping.kind != model::CodeKind::kFile) continue;
    files.push_back({std::string(profile.text(mapping.path)), mapping.build_id, mapping.file});
  }
  return files;
}

// Puts files into the archive under each name that a reader may look for: by path below the folder, which serves as
// --symfs, by build id beside that, and by build id as in perf's cache (perf --buildid-dir FOLDER/.debug).
class Bundle {
 public:
  Bundle(ArchiveFile& file, std::string folder)
      : folder_(std::move(folder)), tar_([&file](base::Bytes bytes) { return file.add(bytes); }) {}

  base::Status add_recording(base::Bytes content, const std::string& name) {
    return tar_.file(folder_ + "/" + name, content);
  }

  // `unproven`: also what nothing proves to be the file that ran.
  base::Status add(const symbols::WantedFile& wanted, symbols::FileFinder& finder, bool unproven) {
    const auto code = finder.find_code(wanted);
    if (!code.content) return leave_out(wanted, model::kReasonMeanings[static_cast<size_t>(code.why_not)]);
    const auto elf = objects::ElfFile::parse(code.content->bytes());
    if (!elf) return leave_out(wanted, "what is there now is no program or library");
    if (wanted.build_id.empty() && !unproven) {
      return leave_out(wanted, "nothing proves that it is the file that ran; --unproven takes it all the same");
    }
    return put_code(wanted, code.content->bytes(), *elf, finder);
  }

  base::Status finish() { return tar_.finish(); }

  struct Missing {
    std::string path;
    std::string why;
  };
  const std::vector<Missing>& missing() const { return missing_; }
  size_t added() const { return added_; }
  size_t debug_files() const { return debug_files_; }

 private:
  base::Status leave_out(const symbols::WantedFile& wanted, std::string_view why) {
    missing_.push_back({wanted.path, std::string(why)});
    return {};
  }

  base::Status put_code(const symbols::WantedFile& wanted, base::Bytes bytes, const objects::ElfFile& elf,
                        symbols::FileFinder& finder) {
    const std::string hex = model::BuildId(elf.build_id()).hex();
    const std::string by_path = folder_ + (wanted.path.starts_with('/') ? "" : "/") + wanted.path;
    const std::string by_id = hex.size() > 2 ? build_id_path("", hex) : "";
    std::string first;
    // Of two files with one path, as in containers, the second has its build id alone.
    const bool inside = base::TarWriter::is_inside(by_path);
    if (inside && names_.insert(by_path).second) TEPHRA_CHECK_OK(put(by_path, bytes, first));
    if (!by_id.empty() && names_.insert(by_id).second) {
      TEPHRA_CHECK_OK(put(by_id, bytes, first));
      TEPHRA_CHECK_OK(tar_.link(build_id_path("/.debug", hex), first));
    }
    if (!first.empty()) ++added_;
    if (first.empty() && by_id.empty()) {
      return leave_out(wanted, inside ? "another file of this path is in already, and it has no build id"
                                      : "its path leads out of the archive, and it has no build id");
    }
    return by_id.empty() ? base::Status() : add_debug(wanted, elf, by_id + ".debug", finder);
  }

  std::string build_id_path(std::string_view below, const std::string& hex) const {
    return fmt::format("{}{}/.build-id/{}/{}", folder_, below, hex.substr(0, 2), hex.substr(2));
  }

  base::Status put(const std::string& name, base::Bytes bytes, std::string& first) {
    if (!first.empty()) return tar_.link(name, first);
    first = name;
    return tar_.file(name, bytes, true);
  }

  base::Status add_debug(const symbols::WantedFile& wanted, const objects::ElfFile& elf, const std::string& name,
                         symbols::FileFinder& finder) {
    const auto debug = finder.find_debug(wanted, elf);
    if (!debug.content || !names_.insert(name).second) return {};
    ++debug_files_;
    return tar_.file(name, debug.content->bytes());
  }

  std::string folder_;
  base::TarWriter tar_;
  std::set<std::string> names_;
  std::vector<Missing> missing_;
  size_t added_ = 0;
  size_t debug_files_ = 0;
};

void print_missing(const Bundle& bundle) {
  constexpr size_t kMost = 10;
  for (size_t i = 0; i < std::min(kMost, bundle.missing().size()); ++i) {
    const Bundle::Missing& file = bundle.missing()[i];
    fmt::print(stderr, "tephra: not in the archive: {} ({})\n", views::printable(file.path), file.why);
  }
  if (bundle.missing().size() > kMost) {
    fmt::print(stderr, "tephra: not in the archive: {} more\n", bundle.missing().size() - kMost);
  }
}

base::Result<int> write_archive(const InputOptions& input, const std::string& output, bool unproven) {
  TEPHRA_TRY(const auto packing, packing_of(output));
  TEPHRA_CHECK_OK(refuse_input(output, input.path));
  TEPHRA_TRY(const auto content, formats::InputFile::open(input.path));
  TEPHRA_TRY(const formats::Format* format, formats::recognise(content.bytes(), input.path));
  if (format->open == nullptr) {
    return base::failed("cannot archive", input.path, fmt::format("{} files tell of no programs", format->name),
                        "Archive the recording that it was made of.");
  }
  stream::BuildOptions build;
  build.filter.keep_idle = build.filter.keep_own = true;
  TEPHRA_TRY(const auto profile, formats::read_profile(content.bytes(), input.path, build));
  TEPHRA_TRY(const auto file, ArchiveFile::create(output, packing));
  const std::string folder = folder_name(output);
  Bundle bundle(*file, folder);
  const std::string name = input.path == "-" ? "perf.data" : file_name(input.path);
  TEPHRA_CHECK_OK(bundle.add_recording(content.bytes(), name));
  tell_when_recorded(input);
  symbols::FileFinder& finder = *input.symbols.finder;
  for (const symbols::WantedFile& wanted : sampled_files(profile)) {
    TEPHRA_CHECK_OK(bundle.add(wanted, finder, unproven));
  }
  TEPHRA_CHECK_OK(bundle.finish());
  TEPHRA_TRY(const uint64_t bytes, file->finish());
  if (input.quiet) return kExitDone;
  print_missing(bundle);
  if (bundle.added() == 0) {
    fmt::print(stderr, "tephra: {} holds the recording alone: no file of what was sampled was found\n",
               views::printable(output));
  }
  fmt::print(stderr, "tephra: {} and {} of what was sampled are in {} ({})\n", base::counted(bundle.added(), "file"),
             base::counted(bundle.debug_files(), "debug file"), views::printable(output), base::bytes_text(bytes));
  fmt::print(stderr, "tephra: read it anywhere: tar xf {} && tephra report --symfs {} {}/{}\n",
             views::printable(file_name(output)), views::printable(folder), views::printable(folder),
             views::printable(name));
  return kExitDone;
}

base::Result<int> archive(std::span<const std::string> words) {
  auto parser = make_parser("archive", kSummary, kExamples);
  InputOptions input;
  input.path = "perf.data";
  std::string output;
  parser->add_option("-i,--input,input", input.path, "the recording; - is standard input")->type_name("FILE");
  parser->add_option("-o,--output", output, "what to write: .tar.zst, .tar.gz or .tar (FILE.tar.zst)")
      ->type_name("OUT");
  declare_sources(*parser, input.symbols);
  refuse_redact(*parser);
  bool unproven = false;
  parser->add_flag("--unproven", unproven, "also files without a build id, which may not be those that ran");
  parser->add_flag("-q,--quiet", input.quiet, "print only errors");
  TEPHRA_TRY(const bool go_on, parse(*parser, words));
  if (!go_on) return kExitDone;
  if (output.empty()) output = (input.path == "-" ? "perf.data" : input.path) + ".tar.zst";
  return write_archive(input, output, unproven);
}

}  // namespace

extern const Command kArchiveCommand{"archive", "bundle a recording with the files it sampled", archive};

}  // namespace tephra::cli
