// Stands for debuginfod.cpp in a build without it.
#include "objects/debuginfod.h"

namespace tephra::objects {

struct Debuginfod::State {};

bool Debuginfod::configured() { return false; }

Debuginfod::Debuginfod(Options) {}
Debuginfod::~Debuginfod() = default;

std::string Debuginfod::trouble() const { return "this build of tephra has no debuginfod client"; }

base::Result<Debuginfod::Fetched> Debuginfod::fetch(Kind, base::Bytes) {
  return base::failed("cannot ask debuginfod", {}, trouble());
}

}  // namespace tephra::objects
