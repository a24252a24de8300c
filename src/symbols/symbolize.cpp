#include "symbols/symbolize.h"
namespace tephra::symbols {
model::Profile symbolize(const model::Profile& p, const Options&) { return p; }
}  // namespace tephra::symbols
