#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace tephra::objects {

// A jitdump file (version 1): what a program tells about code that it generates, with the time of each piece. Both byte
// orders are read. Views point into the bytes.

struct JitdumpHeader {
  bool swapped = false;  // the file's byte order is not ours
  uint32_t size = 0;     // of the header, where the records begin
  uint32_t machine = 0;  // ELF's number
  int32_t pid = 0;
  uint64_t time = 0;
  bool cpu_time = false;  // times are of the CPU's counter, not of CLOCK_MONOTONIC
};

// Nothing where the bytes do not begin with a jitdump header.
std::optional<JitdumpHeader> jitdump_header(base::Bytes bytes);

struct JitdumpRecord {
  enum class Kind { kLoad, kMove, kDebugInfo, kClose, kUnwindingInfo, kOther };
  Kind kind = Kind::kOther;
  uint64_t time = 0;
  // kLoad, kMove
  int32_t pid = 0;
  int32_t tid = 0;
  uint64_t address = 0;  // of the code: where it is now, for kMove where it goes; also of kDebugInfo
  uint64_t size = 0;
  uint64_t index = 0;        // that tells the pieces of code of a file apart
  uint64_t old_address = 0;  // kMove
  std::string_view name;     // kLoad
  base::Bytes code;          // kLoad: as much as the file has of it
  // kDebugInfo: `count` lines, for JitdumpLines
  uint64_t count = 0;
  base::Bytes lines;
  // kUnwindingInfo: .eh_frame and .eh_frame_hdr, which belong to the next kLoad; for JitdumpFrames
  base::Bytes unwinding;
  uint64_t header_size = 0;  // of .eh_frame_hdr
  base::Bytes bytes;         // the record itself
};

// Steps over the records behind the header. What is cut off at the end is no record yet, so that a file can be read
// while it grows; a record that cannot be is the end too.
class JitdumpReader {
 public:
  // `bytes` begins with a record.
  JitdumpReader(base::Bytes bytes, bool swapped) : bytes_(bytes), swapped_(swapped) {}

  // False at the end of the whole records.
  bool next(JitdumpRecord& record);
  // How far the records that were returned or skipped reach.
  size_t position() const { return position_; }
  // The bytes at position() can never become a record.
  bool damaged() const { return damaged_; }
  // Records whose content does not hold what their kind promises; they were skipped.
  uint64_t refused() const { return refused_; }

 private:
  base::Bytes bytes_;
  bool swapped_;
  size_t position_ = 0;
  bool damaged_ = false;
  uint64_t refused_ = 0;
};

struct JitdumpLine {
  uint64_t address = 0;
  uint32_t line = 0;
  std::string_view file;
};

// The lines of a kDebugInfo record, in the order of the file.
class JitdumpLines {
 public:
  JitdumpLines(base::Bytes lines, uint64_t count, bool swapped) : reader_(lines), left_(count), swapped_(swapped) {}

  bool next(JitdumpLine& line);

 private:
  base::ByteReader reader_;
  uint64_t left_;
  bool swapped_;
  std::string_view file_;
};

// The call-frame information of a kUnwindingInfo record.
class JitdumpFrames {
 public:
  // Nothing where the record describes no frames: a header alone says that code keeps a frame pointer.
  static std::optional<JitdumpFrames> of(const JitdumpRecord& record);

  base::Bytes eh_frame() const { return eh_frame_; }
  // Whether it tells where it is, and so can be of several functions.
  bool is_placed() const { return place_ != Place::kBehindCode; }
  // Where it is, if it describes code there.
  uint64_t address(uint64_t code, uint64_t code_size) const;

 private:
  enum class Place : uint8_t { kBehindCode, kTold, kHalfTold };

  base::Bytes eh_frame_;
  Place place_ = Place::kBehindCode;
  uint64_t value_ = 0;  // kTold: the address; kHalfTold: its lower 32 bits; else bytes between the code and it
};

// Appends a record without the bytes of its code, which are most of a file and say nothing about names. A reader takes
// what is left for a record all the same.
void append_without_code(const JitdumpRecord& record, bool swapped, std::string& out);

}  // namespace tephra::objects
