#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <protozero/pbf_message.hpp>
#include <string>
#include <string_view>

#include "base/bytes.h"

// Fields of protocol buffers out of files that may hold anything: protozero takes for granted that a field is of the
// type it is asked for.
namespace tephra::formats::protobuf {

template <class Field>
using Message = protozero::pbf_message<Field>;

struct OtherType : protozero::exception {
  explicit OtherType(uint32_t field) : why(fmt::format("field {} is of another type", field)) {}
  const char* what() const noexcept override { return why.c_str(); }

  std::string why;
};

template <class Field>
void expect(const Message<Field>& message, protozero::pbf_wire_type type) {
  if (!message.has_wire_type(type)) throw OtherType(static_cast<uint32_t>(message.tag()));
}

template <class Field>
uint64_t number(Message<Field>& message) {
  expect(message, protozero::pbf_wire_type::varint);
  return message.get_uint64();
}

// A text or another message.
template <class Field>
protozero::data_view part(Message<Field>& message) {
  expect(message, protozero::pbf_wire_type::length_delimited);
  return message.get_view();
}

// Numbers that are written packed, or one by one by old writers.
template <class Field, class Add>
void read_numbers(Message<Field>& message, Add add) {
  if (message.has_wire_type(protozero::pbf_wire_type::length_delimited)) {
    for (const uint64_t each : message.get_packed_uint64()) add(each);
  } else {
    add(number(message));
  }
}

inline std::string_view text_of(const protozero::data_view& view) { return {view.data(), view.size()}; }

inline protozero::data_view view_of(base::Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace tephra::formats::protobuf
