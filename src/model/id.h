#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tephra::model {

// An index into one table of a Profile. Each table has its own Tag, so that an index cannot be used with another table.
// Row 0 of every table that has one stands for "none" (see Profile).
template <class Tag>
struct Id {
  uint32_t value = 0;

  constexpr explicit operator bool() const { return value != 0; }
  constexpr auto operator<=>(const Id&) const = default;
};

using StringId = Id<struct StringTag>;
using MappingId = Id<struct MappingTag>;
using FunctionId = Id<struct FunctionTag>;
using FrameId = Id<struct FrameTag>;
using StackId = Id<struct StackTag>;
using EventId = Id<struct EventTag>;
using ThreadId = Id<struct ThreadTag>;
using LabelSetId = Id<struct LabelSetTag>;

}  // namespace tephra::model

template <class Tag>
struct std::hash<tephra::model::Id<Tag>> {
  size_t operator()(tephra::model::Id<Tag> id) const noexcept { return id.value * 0x9e3779b97f4a7c15u; }
};
