// links: tephra_core dw elf
// Compiles the call-frame tables of the files named on standard input, one a line, and compares random places of each
// with libdw: compile_frames [PLACES]. Prints a JSON object a file; files that are not ELF files are left out.
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <string>

#include "base/file.h"
#include "base/json_writer.h"
#include "symbols/regular_file.h"
#include "unwind/compiled_table.h"
#include "unwind/frame_check_for_tests.h"

namespace {

using namespace tephra;

void compile(const std::string& path, uint64_t places) {
  const auto file = symbols::open_regular(path);
  if (!file) return;
  const auto elf = objects::ElfFile::parse(file->bytes());
  if (!elf) return;
  const auto begin = std::chrono::steady_clock::now();
  objects::FrameRows rows = objects::build_frame_rows(*elf);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  std::string text;
  base::JsonWriter json(text);
  json.begin_object()
      .member("file", path)
      .member("machine", uint64_t{elf->machine()})
      .member("rows", rows.rows)
      .member("rules", uint64_t{rows.rules.size()})
      .member("unsupported", rows.unsupported_rows)
      .member("functions", rows.functions)
      .member("discarded", rows.discarded)
      .member("beyond_reach", rows.beyond_reach)
      .member("damaged", rows.damaged)
      .member("code_bytes", rows.code_bytes)
      .member("described_bytes", rows.described_bytes)
      .member("seconds", spent.count());
  const unwind::CompiledTable table(std::move(rows));
  if (places > 0) {
    const auto outcome = unwind::FrameCheck::run(path, *elf, table.table(), places, 1);
    json.member("places", outcome.places)
        .member("places_unsupported", outcome.unsupported)
        .member("frame_pointer_lost", outcome.frame_pointer_lost)
        .member("unjudged", outcome.unjudged)
        .member("differ", outcome.differ)
        .member("first_difference", outcome.first_difference);
  }
  json.end_object();
  std::printf("%s\n", text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t places = argc > 1 ? std::stoull(argv[1]) : 0;
  for (std::string path; std::getline(std::cin, path);) compile(path, places);
  return 0;
}
