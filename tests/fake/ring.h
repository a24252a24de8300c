#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tephra::fake {

// The kernel's side of a ring: memory that readers map, and what is known about it. The caller locks.
class Ring {
 public:
  struct Shape {
    size_t bytes = 0;         // a power of two of at least a page
    bool overwrite = false;   // mapped without the right to write: the oldest is overwritten
    bool backward = false;    // written from the end to the start
    uint64_t watermark = 0;   // wake the reader after so many bytes; 0: half the ring
    uint64_t wake_after = 0;  // wake the reader after so many records; 0: by bytes
  };
  // Null and errno on failure.
  static std::shared_ptr<Ring> create(const Shape& shape);
  ~Ring();
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  // Another view of the same memory for a reader; null and errno on failure.
  void* map(bool writable);
  void unmap(void* memory);
  int mappings() const { return mappings_; }

  const Shape& shape() const { return shape_; }
  uint64_t head() const;
  uint64_t tail() const;
  bool paused() const { return paused_; }
  void pause(bool paused) { paused_ = paused; }
  // Lets the next records find no room.
  void lose_next(uint64_t records) { to_lose_ += records; }

  // Writes a record, or counts it as lost. Losses are told before the next record that finds room: `lost_record` makes
  // that record from their number.
  bool write(std::string_view record, const std::function<std::string(uint64_t lost)>& lost_record);

  // Whether readers should be woken since this was last asked.
  bool take_wakeup();

 private:
  explicit Ring(const Shape& shape) : shape_(shape) {}
  bool has_room(uint64_t bytes) const;
  void put(uint64_t position, std::string_view bytes);
  void note_wakeup();
  perf_event_mmap_page* control() const { return reinterpret_cast<perf_event_mmap_page*>(memory_); }

  Shape shape_;
  int fd_ = -1;
  char* memory_ = nullptr;
  int mappings_ = 0;
  bool paused_ = false;
  uint64_t lost_ = 0;
  uint64_t to_lose_ = 0;
  uint64_t records_ = 0;
  uint64_t wakeup_at_ = 0;
  uint64_t written_ = 0;
  bool wakeup_ = false;
};

}  // namespace tephra::fake
