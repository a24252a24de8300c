#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace tephra::objects {

// An ELF file in memory that is made of sections alone, for libdw to read.
class SectionImage {
 public:
  // A section, and what writes its content. A section whose content cannot be made is empty.
  struct Section {
    std::string name;
    uint64_t size = 0;
    std::function<bool(std::span<std::byte>)> fill;
  };
  static Section copied(std::string name, base::Bytes content);

  SectionImage() = default;
  // `original` is an ELF file; class, machine and type are taken from its header. Sections are filled in parallel.
  SectionImage(base::Bytes original, const std::vector<Section>& sections);

  base::Bytes bytes() const { return {image_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> image_;
  size_t size_ = 0;
};

}  // namespace tephra::objects
