#include "stream/tracepoint_format.h"

#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>

#include <bit>
#include <cstdlib>
#include <limits>
#include <span>

#include "base/child_trial.h"
#include "stream/tracing_data.h"

namespace tephra::stream {
namespace {

// The upper half of the address space, on the machines with one.
constexpr uint64_t kLowestKernelAddress = 0xffff'8000'0000'0000;

// libtraceevent takes lengths as int.
bool fits_int(base::Bytes bytes) { return bytes.size() <= static_cast<size_t>(std::numeric_limits<int>::max()); }

bool within(uint64_t offset, uint64_t size, base::Bytes raw) {
  return offset <= raw.size() && size <= raw.size() - offset;
}

// Whether a field lies in the sample, and what a dynamic field points to as well: libtraceevent trusts both.
bool field_within(const tep_format_field& field, base::Bytes raw) {
  if (field.offset < 0 || field.size < 0) return false;
  const auto offset = static_cast<uint64_t>(field.offset);
  if (!(field.flags & TEP_FIELD_IS_DYNAMIC)) return within(offset, static_cast<uint64_t>(field.size), raw);
  if (!within(offset, sizeof(uint32_t), raw)) return false;
  const auto location = base::load<uint32_t>(raw.data() + offset);
  uint64_t begin = location & 0xffff;
  const uint64_t length = location >> 16;
  if (field.flags & TEP_FIELD_IS_RELATIVE) begin += offset + sizeof(uint32_t);
  if (!within(begin, length, raw)) return false;
  // Dynamic text must end inside, since it is printed up to its NUL.
  if ((field.flags & TEP_FIELD_IS_STRING) && length > 0) {
    return base::as_text(raw.subspan(begin, length)).find('\0') != std::string_view::npos;
  }
  return true;
}

tep_event* find_event(tep_handle* handle, uint64_t id) {
  if (id > static_cast<uint64_t>(std::numeric_limits<int>::max())) return nullptr;
  return tep_find_event(handle, static_cast<int>(id));
}

// libtraceevent finds the number of a sample's event where the first description has it, without looking whether the
// sample is that long.
bool types_are_in_place(tep_handle* handle) {
  const tep_event* first = tep_get_event(handle, 0);
  if (first == nullptr) return true;
  for (const tep_format_field* field = first->format.common_fields; field != nullptr; field = field->next) {
    if (std::string_view(field->name) == "common_type") return field->offset == 0 && field->size == sizeof(uint16_t);
  }
  return false;
}

using Descriptions = std::span<const TracingData::Description>;

// With a NUL behind the text, in case the parser runs on. Returns whether it is known now.
bool add_to(tep_handle* handle, const TracingData::Description& description) {
  if (description.text.empty() || !fits_int(description.text)) return false;
  const std::string text(base::as_text(description.text));
  return tep_parse_event(handle, text.c_str(), text.size(), std::string(description.system).c_str()) == 0;
}

void set_up(tep_handle* handle, const TracingData& data) {
  tep_set_loglevel(TEP_LOG_NONE);  // a broken description must not write to the terminal
  constexpr auto kOrder = std::endian::native == std::endian::big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN;
  tep_set_file_bigendian(handle, kOrder);
  tep_set_local_bigendian(handle, kOrder);
  tep_set_long_size(handle, data.long_size);
  tep_set_page_size(handle, static_cast<int>(data.page_size));
}

// libtraceevent's parser crashes on some texts that no kernel writes. So it is tried on all of them first, and where
// that fails on halves, until those that it cannot read are found.
std::vector<TracingData::Description> readable(const TracingData& data, Descriptions descriptions) {
  const bool all = base::comes_through([&] {
    tep_handle* handle = tep_alloc();
    if (handle == nullptr) return;
    set_up(handle, data);
    for (const TracingData::Description& description : descriptions) add_to(handle, description);
  });
  if (all) return {descriptions.begin(), descriptions.end()};
  if (descriptions.size() < 2) return {};
  const size_t half = descriptions.size() / 2;
  std::vector<TracingData::Description> found = readable(data, descriptions.first(half));
  const auto second = readable(data, descriptions.subspan(half));
  found.insert(found.end(), second.begin(), second.end());
  return found;
}

bool fields_within(const tep_format_field* field, base::Bytes raw) {
  for (; field != nullptr; field = field->next) {
    if (!field_within(*field, raw)) return false;
  }
  return true;
}

}  // namespace

void TracepointFormats::Free::operator()(tep_handle* handle) const { tep_free(handle); }
TracepointFormats::TracepointFormats(TracepointFormats&&) noexcept = default;
TracepointFormats& TracepointFormats::operator=(TracepointFormats&&) noexcept = default;
TracepointFormats::~TracepointFormats() = default;

base::Result<TracepointFormats> TracepointFormats::parse(base::Bytes tracing_data) {
  TracepointFormats formats(tep_alloc());
  if (!formats.handle_) return base::failed("cannot read the tracepoint formats", "", "out of memory");
  if (tracing_data.empty()) return formats;

  TEPHRA_TRY(const TracingData data, read_tracing_data(tracing_data));
  tep_handle* handle = formats.handle_.get();
  set_up(handle, data);
  for (const TracingData::Description& description : readable(data, data.events)) {
    if (add_to(handle, description)) ++formats.size_;
  }
  if (!types_are_in_place(handle)) {
    return base::failed("cannot read the tracepoint formats", "", "their samples do not begin with the event's number");
  }
  const std::string printk(base::as_text(data.printk));
  const auto read_printk = [&] { tep_parse_printk_formats(handle, printk.c_str()); };
  if (!printk.empty() && base::comes_through(read_printk)) read_printk();
  return formats;
}

bool TracepointFormats::prints_kernel_names(uint64_t id) const {
  const tep_event* event = find_event(handle_.get(), id);
  if (event == nullptr || event->print_fmt.format == nullptr) return false;
  const std::string_view format = event->print_fmt.format;
  for (const auto* directive : {"%ps", "%pS", "%pf", "%pF"}) {
    if (format.find(directive) != std::string_view::npos) return true;
  }
  return false;
}

void TracepointFormats::collect_kernel_addresses(uint64_t id, base::Bytes raw, std::vector<uint64_t>& addresses) const {
  const tep_event* event = find_event(handle_.get(), id);
  if (event == nullptr) return;
  for (const tep_format_field* field = event->format.fields; field != nullptr; field = field->next) {
    if (field->size != sizeof(uint64_t) || !field_within(*field, raw)) continue;
    const auto value = base::load<uint64_t>(raw.data() + field->offset);
    if (value >= kLowestKernelAddress) addresses.push_back(value);
  }
}

void TracepointFormats::use_kernel_names(KernelNames names) {
  names_ = std::make_unique<KernelNames>(std::move(names));
  tep_set_function_resolver(handle_.get(), resolve, names_.get());
}

char* TracepointFormats::resolve(void* names, unsigned long long* address, char** module) {
  const auto& known = *static_cast<const KernelNames*>(names);
  const auto found = known.find(*address);
  if (found == known.end()) return nullptr;
  *address = found->second.start;
  *module = nullptr;
  return const_cast<char*>(found->second.name.c_str());  // only read
}

bool TracepointFormats::append(uint64_t id, int32_t cpu, base::Bytes raw, std::string& out) const {
  if (!fits_int(raw)) return false;
  tep_event* event = find_event(handle_.get(), id);
  if (event == nullptr || event->format.nr_common == 0 || !fields_within(event->format.common_fields, raw) ||
      !fields_within(event->format.fields, raw)) {
    return false;
  }
  tep_record record{};
  record.cpu = cpu;
  record.data = const_cast<std::byte*>(raw.data());  // only read
  record.size = static_cast<int>(raw.size());
  // The fields that were checked must be those that are printed.
  if (raw.size() < sizeof(uint16_t) || base::load<uint16_t>(raw.data()) != id) return false;
  trace_seq text;
  trace_seq_init(&text);
  tep_print_event(handle_.get(), &text, &record, "%s", TEP_PRINT_INFO);
  const bool whole = text.state == TRACE_SEQ__GOOD;
  if (whole) out.append(text.buffer, text.len);
  trace_seq_destroy(&text);
  return whole;
}

}  // namespace tephra::stream
