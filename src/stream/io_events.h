#pragma once

#include <string_view>

namespace tephra::stream {

// What the recorder of input and output writes (raw data as in abi/activity_record.h), and the events that it is shown
// as: requests to devices by bytes and by the time until they were done, calls on files by time and by bytes.
inline constexpr std::string_view kIoEvent = "io";
inline constexpr std::string_view kBlockTimeEvent = "block-time";
inline constexpr std::string_view kBlockBytesEvent = "block-bytes";
inline constexpr std::string_view kFileTimeEvent = "file-time";
inline constexpr std::string_view kFileBytesEvent = "file-bytes";
inline constexpr std::string_view kRequestsCounted = "requests";
inline constexpr std::string_view kCallsCounted = "calls";

// Their labels (see model::Label).
inline constexpr std::string_view kDeviceLabel = "device";  // "vda"; "254:0" where its name was not recorded
inline constexpr std::string_view kOperationLabel =
    "operation";                                              // "read", "write", "sync", "flush", "discard", "other"
inline constexpr std::string_view kLongestLabel = "longest";  // a number, ns: the longest of them, to three digits
inline constexpr std::string_view kErrorLabel = "error";      // kErrorFailed: they came back with an error
inline constexpr std::string_view kErrorFailed = "failed";
inline constexpr std::string_view kIoOpenLabel = "open";  // kIoOpenEnd: not done when the recording ended
inline constexpr std::string_view kIoOpenEnd = "end";

}  // namespace tephra::stream
