#pragma once

#include <string>

#include "base/result.h"
#include "cli/input.h"
#include "views/report_html.h"

namespace tephra::cli {

// Whether a path asks for the HTML report by its ending.
bool names_html(const std::string& path);

// Writes the HTML report about an input with all its events and, for the heat map, every sample.
base::Status write_report_page(const Input& input, const std::string& output, views::ReportHtmlOptions options);

// All of a command: reads the input, writes its HTML report to `output`, says so and returns the exit status. Without a
// title the report has the name of the input.
base::Result<int> report_page(const InputOptions& options, const std::string& output, views::ReportHtmlOptions page);

}  // namespace tephra::cli
