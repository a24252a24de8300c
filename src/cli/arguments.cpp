#include "cli/arguments.h"

#include <algorithm>
#include <cstdio>

namespace tephra::cli {

std::unique_ptr<CLI::App> make_parser(const std::string& name, const std::string& summary,
                                      const std::string& examples) {
  auto parser = std::make_unique<CLI::App>(summary, "tephra " + name);
  parser->footer("\nexamples:\n" + examples);
  parser->get_formatter()->column_width(34);
  parser->option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return parser;
}

base::Result<bool> parse(CLI::App& parser, std::span<const std::string> arguments) {
  // CLI11 takes the words in reverse.
  std::vector<std::string> words(arguments.rbegin(), arguments.rend());
  try {
    parser.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    std::fputs(parser.help().c_str(), stdout);
    return false;
  } catch (const CLI::ParseError& error) {
    return base::usage_error(error.what(), "", "", "Run '" + parser.get_name() + " --help'.");
  }
  return true;
}

}  // namespace tephra::cli
