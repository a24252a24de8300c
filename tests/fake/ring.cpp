#include "ring.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace tephra::fake {
namespace {

size_t page_size() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace

std::shared_ptr<Ring> Ring::create(const Shape& shape) {
  std::shared_ptr<Ring> ring(new Ring(shape));
  const size_t bytes = page_size() + shape.bytes;
  ring->fd_ = ::memfd_create("fake-perf-ring", MFD_CLOEXEC);
  if (ring->fd_ < 0 || ::ftruncate(ring->fd_, static_cast<off_t>(bytes)) != 0) return nullptr;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd_, 0);
  if (memory == MAP_FAILED) return nullptr;
  ring->memory_ = static_cast<char*>(memory);
  ring->control()->data_offset = page_size();
  ring->control()->data_size = shape.bytes;
  if (shape.watermark == 0 || shape.watermark > shape.bytes) ring->shape_.watermark = shape.bytes / 2;
  ring->wakeup_at_ = ring->shape_.watermark;
  return ring;
}

Ring::~Ring() {
  if (memory_ != nullptr) ::munmap(memory_, page_size() + shape_.bytes);
  if (fd_ >= 0) ::close(fd_);
}

void* Ring::map(bool writable) {
  void* memory =
      ::mmap(nullptr, page_size() + shape_.bytes, writable ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) return nullptr;
  ++mappings_;
  return memory;
}

void Ring::unmap(void* memory) {
  ::munmap(memory, page_size() + shape_.bytes);
  --mappings_;
}

uint64_t Ring::head() const { return __atomic_load_n(&control()->data_head, __ATOMIC_RELAXED); }
uint64_t Ring::tail() const { return __atomic_load_n(&control()->data_tail, __ATOMIC_ACQUIRE); }

// A byte always stays free, so that a full ring differs from an empty one.
bool Ring::has_room(uint64_t bytes) const {
  if (shape_.overwrite) return bytes <= shape_.bytes;
  const uint64_t mask = shape_.bytes - 1;
  const uint64_t room = shape_.backward ? (head() - tail() - 1) & mask : (tail() - head() - 1) & mask;
  return room >= bytes;
}

void Ring::put(uint64_t position, std::string_view bytes) {
  char* data = memory_ + page_size();
  const size_t begin = position & (shape_.bytes - 1);
  const size_t first = std::min(bytes.size(), shape_.bytes - begin);
  std::memcpy(data + begin, bytes.data(), first);
  std::memcpy(data, bytes.data() + first, bytes.size() - first);
}

bool Ring::write(std::string_view record, const std::function<std::string(uint64_t lost)>& lost_record) {
  const std::string notice = lost_ > 0 ? lost_record(lost_) : std::string();
  const uint64_t bytes = notice.size() + record.size();
  if (paused_ || to_lose_ > 0 || !has_room(bytes)) {
    if (to_lose_ > 0) --to_lose_;
    ++lost_;
    return false;
  }
  lost_ = 0;
  const uint64_t begin = shape_.backward ? head() - bytes : head();
  put(begin, notice);
  put(begin + notice.size(), record);
  __atomic_store_n(&control()->data_head, shape_.backward ? begin : begin + bytes, __ATOMIC_RELEASE);
  written_ += bytes;
  ++records_;
  note_wakeup();
  return true;
}

void Ring::note_wakeup() {
  if (written_ > wakeup_at_) {
    wakeup_at_ += shape_.watermark;
    wakeup_ = true;
  }
  if (shape_.wake_after > 0 && records_ >= shape_.wake_after) {
    records_ -= shape_.wake_after;
    wakeup_ = true;
  }
}

bool Ring::take_wakeup() {
  const bool wakeup = wakeup_;
  wakeup_ = false;
  return wakeup;
}

}  // namespace tephra::fake
