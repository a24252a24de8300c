#include "cli/report_page.h"

#include <fmt/format.h>

#include "base/file.h"
#include "base/names.h"

namespace tephra::cli {

bool names_html(const std::string& path) { return path.ends_with(".html") || path.ends_with(".htm"); }

base::Status write_report_page(const Input& input, const std::string& output, views::ReportHtmlOptions options) {
  options.selection = input.selection;
  TEPHRA_TRY(const std::string page, views::report_html(input.profile, input.verdict, options));
  return base::write_file(output, page);
}

base::Result<int> report_page(const InputOptions& options, const std::string& output, views::ReportHtmlOptions page) {
  InputOptions every_sample = options;
  every_sample.build.keep_every_sample = true;
  TEPHRA_TRY(const Input input, load_with_all_events(every_sample));
  // A file may be named after what --redact replaces.
  const bool nameless = options.path == "-" || !options.redact.empty();
  if (page.title.empty()) page.title = nameless ? "Profile" : base::path_base_name(options.path);
  TEPHRA_CHECK_OK(write_report_page(input, output, page));
  if (!options.quiet && output != "-") fmt::print(stderr, "wrote {}\n", output);
  return conclude(options, input.verdict);
}

}  // namespace tephra::cli
