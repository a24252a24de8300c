#include <gtest/gtest.h>

#include <array>
#include <random>

#include "analysis/call_tree.h"
#include "analysis/report.h"
#include "analysis/top.h"
#include "analysis/verdict.h"
#include "formats/folded.h"
#include "model/profile_assembler.h"
#include "model/redaction.h"
#include "views/flame_svg.h"
#include "views/report_json.h"
#include "views/report_text.h"

namespace tephra::views {
namespace {

using model::CodeKind;

// Code whose names are of the user's own.
constexpr std::array kPrivateKinds{CodeKind::kNone, CodeKind::kFile,       CodeKind::kAnonymous,
                                   CodeKind::kJit,  CodeKind::kKernelCode, CodeKind::kImported};
// Forms in which names come that are not secret.
constexpr std::array kDisguises{"secret",
                                "[secret]",
                                "[unknown] secret+0x10",
                                "[unknown] [secret]+0x10",
                                "/lib/secret.so",
                                "//secret",
                                ":secret",
                                "[kernel.secret]",
                                "secret_[k]",
                                "[anon:secret]",
                                "/memfd:secret",
                                "sched:secret secret",
                                "secret:event",
                                "cpu/name=secret/",
                                "[unknown] secret",
                                "/tmp/perf-secret.map",
                                "0xsecret",
                                "swapper secret"};

// Profiles with a secret wherever a profile has a name.
class SecretProfile {
 public:
  explicit SecretProfile(uint32_t seed) : random_(seed) {}

  model::Profile make() {
    for (int i = 0; i < 30; ++i) {
      model::StackId stack;
      for (uint32_t depth = 1 + random_() % 4; depth > 0; --depth) stack = assembler_.stack(stack, frame());
      const auto event = assembler_.event({name(), assembler_.string("ns")});
      const auto thread = assembler_.thread({static_cast<int32_t>(i), i, name()});
      assembler_.sample({stack, event, thread, 1, 1});
    }
    assembler_.facts().host = assembler_.facts().command_line = "secret";
    return std::move(assembler_).finish();
  }

 private:
  model::StringId name() { return assembler_.string(kDisguises[random_() % kDisguises.size()]); }
  model::FrameId frame() {
    model::Mapping mapping{.path = name(), .kind = kPrivateKinds[random_() % kPrivateKinds.size()]};
    const std::string_view id = "secret";
    if (random_() % 2 == 0) mapping.build_id = model::BuildId(base::as_bytes(id));
    const auto function = assembler_.function({name(), name(), random_() % 2 == 0});
    return assembler_.frame({.mapping = assembler_.mapping(mapping),
                             .address = random_() % 8,
                             .function = random_() % 5 == 0 ? model::FunctionId{} : function,
                             .file = name(),
                             .line = 7});
  }

  std::mt19937 random_;
  model::ProfileAssembler assembler_;
};

std::string all_views(const model::Profile& profile) {
  const analysis::Verdict verdict = analysis::judge(profile);
  const analysis::Report report = analysis::make_report(
      profile, {.sort = {analysis::SortKey::kComm, analysis::SortKey::kEvent, analysis::SortKey::kDso,
                         analysis::SortKey::kSymbol, analysis::SortKey::kSrcline},
                .chains = analysis::ChainOrder::kCaller});
  return report_text(report, verdict, {}) + report_json(report, profile.facts, verdict) +
         top_text(analysis::top_functions(profile, 100), model::totals(profile), false) + analysis::details(verdict) +
         flame_svg(profile, analysis::call_tree(profile), verdict, {}) +
         formats::write_folded(profile, {.kernel = true, .jit = true});
}

TEST(RedactedViews, HoldNoNameInAnyForm) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const model::Profile profile = SecretProfile(seed).make();
    ASSERT_NE(all_views(profile).find("secret"), std::string::npos);
    const std::string text = all_views(model::redact(profile, model::Redaction("a key that is long enough")));
    const size_t at = text.find("secret");
    ASSERT_EQ(at, std::string::npos) << seed << ": " << text.substr(at < 100 ? 0 : at - 100, 300);
  }
}

}  // namespace
}  // namespace tephra::views
