#pragma once

#include <dwarf.h>
#include <elf.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tephra::objects {

// For tests: bytes, as little-endian words and variable-length numbers.
class BytesForTests {
 public:
  BytesForTests() = default;
  BytesForTests(std::initializer_list<int> bytes) {
    for (const int byte : bytes) u8(byte);
  }

  BytesForTests& u8(int value) { return put(static_cast<uint64_t>(value), 1); }
  BytesForTests& u16(uint64_t value) { return put(value, 2); }
  BytesForTests& u32(uint64_t value) { return put(value, 4); }
  BytesForTests& u64(uint64_t value) { return put(value, 8); }
  BytesForTests& text(const std::string& text) {
    bytes_ += text;
    return *this;
  }
  BytesForTests& uleb(uint64_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<int>(value & 0x7f) | 0x80);
    return u8(static_cast<int>(value));
  }
  BytesForTests& sleb(int64_t value) {
    for (;; value >>= 7) {
      if (value >= -0x40 && value < 0x40) return u8(static_cast<int>(value & 0x7f));
      u8(static_cast<int>(value & 0x7f) | 0x80);
    }
  }
  BytesForTests& put(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    return *this;
  }
  // An instruction with an expression behind it, of a register unless it is of the frame address.
  BytesForTests& expression(int code, int reg, const BytesForTests& content) {
    u8(code);
    if (reg >= 0) uleb(static_cast<uint64_t>(reg));
    return uleb(content.bytes().size()).text(content.bytes());
  }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

// For tests: a section of call-frame information.
class CfiForTests {
 public:
  struct Common {
    std::string augmentation = "zR";
    int version = 1;
    int encoding = DW_EH_PE_pcrel | DW_EH_PE_sdata4;
    int return_register = 16;
    int code_alignment = 1;
    int data_alignment = -8;
    bool is_wide = false;
    BytesForTests instructions = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};
  };

  explicit CfiForTests(uint64_t address, bool is_eh_frame = true) : address_(address), is_eh_frame_(is_eh_frame) {}

  static Common arm64() {
    Common common;
    common.return_register = 30;
    common.code_alignment = 4;
    common.instructions = {DW_CFA_def_cfa, 31, 0};
    return common;
  }

  CfiForTests& common(const Common& common) {
    common_ = common;
    common_at_ = section_.size();
    BytesForTests entry;
    const bool wide_id = common.is_wide && !is_eh_frame_;
    if (is_eh_frame_)
      entry.u32(0);
    else
      entry.put(UINT64_MAX, wide_id ? 8 : 4);
    entry.u8(common.version).text(common.augmentation).u8(0);
    if (common.augmentation == "eh") entry.u64(0x1234);
    if (common.version >= 4) entry.u8(8).u8(0);
    entry.uleb(static_cast<uint64_t>(common.code_alignment)).sleb(common.data_alignment);
    entry.u8(common.return_register);
    if (common.augmentation.starts_with('z')) {
      BytesForTests data;
      for (const char letter : common.augmentation.substr(1)) {
        if (letter == 'R') data.u8(common.encoding);
        if (letter == 'L') data.u8(DW_EH_PE_absptr);
        if (letter == 'P') data.u8(DW_EH_PE_absptr).u64(0x1000);
      }
      entry.uleb(data.bytes().size()).text(data.bytes());
    }
    add(entry.text(common.instructions.bytes()), common.is_wide);
    return *this;
  }

  CfiForTests& function(uint64_t begin, uint64_t size, const BytesForTests& instructions = {}) {
    BytesForTests entry;
    const size_t here = section_.size() + (common_.is_wide ? 12 : 4);
    if (is_eh_frame_)
      entry.u32(here - common_at_);
    else
      entry.put(common_at_, common_.is_wide ? 8 : 4);
    const uint64_t place = address_ + here + entry.bytes().size();
    const bool is_pcrel = (common_.encoding & 0x70) == DW_EH_PE_pcrel;
    const uint64_t pointer = is_pcrel ? begin - place : begin;
    const auto put = [&](uint64_t value) {
      switch (common_.augmentation.starts_with('z') ? common_.encoding & 0x0f : DW_EH_PE_absptr) {
        case DW_EH_PE_sdata4:
        case DW_EH_PE_udata4:
          return entry.u32(value);
        case DW_EH_PE_udata2:
        case DW_EH_PE_sdata2:
          return entry.u16(value);
        case DW_EH_PE_uleb128:
          return entry.uleb(value);
        case DW_EH_PE_sleb128:
          return entry.sleb(static_cast<int64_t>(value));
        default:
          return entry.u64(value);
      }
    };
    put(pointer);
    put(size);
    if (common_.augmentation.starts_with('z')) entry.uleb(0);
    add(entry.text(instructions.bytes()), common_.is_wide);
    return *this;
  }

  CfiForTests& terminator() {
    section_ += std::string(4, '\0');
    return *this;
  }
  const std::string& bytes() const { return section_; }

 private:
  void add(const BytesForTests& entry, bool is_wide) {
    BytesForTests all;
    if (is_wide) all.u32(UINT32_MAX);
    all.put(entry.bytes().size(), is_wide ? 8 : 4).text(entry.bytes());
    section_ += all.bytes();
  }

  uint64_t address_;
  bool is_eh_frame_;
  Common common_;
  size_t common_at_ = 0;
  std::string section_;
};

// For tests: a small ELF file of 64 bits. Sections that are loaded have a segment of their own.
class ElfForTests {
 public:
  struct Section {
    std::string name;
    uint64_t address = 0;  // 0: not loaded
    std::string content;
    bool is_code = false;
    uint64_t flags = 0;
    uint32_t type = SHT_PROGBITS;
  };

  uint16_t machine = EM_X86_64;
  uint16_t type = ET_DYN;
  uint64_t entry = 0;
  uint64_t first_offset = 0x1000;
  std::vector<Section> sections;

  // Where the content of a section is in the file.
  uint64_t offset_of(size_t section) const {
    uint64_t offset = first_offset;
    for (size_t i = 0; i < section; ++i) offset += (sections[i].content.size() + 0xfff) / 0x1000 * 0x1000;
    return offset;
  }

  std::string bytes() const {
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> headers(1);
    std::vector<Elf64_Phdr> segments;
    std::string file(first_offset, '\0');
    for (size_t i = 0; i < sections.size(); ++i) {
      const Section& section = sections[i];
      Elf64_Shdr header{};
      header.sh_name = static_cast<uint32_t>(names.size());
      header.sh_type = section.type;
      header.sh_flags = section.flags | (section.address != 0 ? SHF_ALLOC : 0) | (section.is_code ? SHF_EXECINSTR : 0);
      header.sh_addr = section.address;
      header.sh_offset = offset_of(i);
      header.sh_size = section.content.size();
      headers.push_back(header);
      names += section.name + '\0';
      file.resize(header.sh_offset);
      file += section.content;
      if (section.address == 0) continue;
      Elf64_Phdr segment{};
      segment.p_type = PT_LOAD;
      segment.p_flags = PF_R | (section.is_code ? PF_X : 0);
      segment.p_offset = header.sh_offset;
      segment.p_vaddr = section.address;
      segment.p_filesz = segment.p_memsz = section.content.size();
      segments.push_back(segment);
    }
    Elf64_Shdr strings{};
    strings.sh_type = SHT_STRTAB;
    strings.sh_offset = file.size();
    strings.sh_size = names.size();
    headers.push_back(strings);
    file += names;
    Elf64_Ehdr elf{};
    elf.e_ident[0] = ELFMAG0;
    elf.e_ident[1] = ELFMAG1;
    elf.e_ident[2] = ELFMAG2;
    elf.e_ident[3] = ELFMAG3;
    elf.e_ident[EI_CLASS] = ELFCLASS64;
    elf.e_ident[EI_DATA] = ELFDATA2LSB;
    elf.e_ident[EI_VERSION] = EV_CURRENT;
    elf.e_type = type;
    elf.e_machine = machine;
    elf.e_version = EV_CURRENT;
    elf.e_entry = entry;
    elf.e_phoff = sizeof elf;
    elf.e_ehsize = sizeof elf;
    elf.e_phentsize = sizeof(Elf64_Phdr);
    elf.e_phnum = static_cast<uint16_t>(segments.size());
    elf.e_shentsize = sizeof(Elf64_Shdr);
    elf.e_shnum = static_cast<uint16_t>(headers.size());
    elf.e_shstrndx = static_cast<uint16_t>(headers.size() - 1);
    elf.e_shoff = file.size();
    file.append(reinterpret_cast<const char*>(headers.data()), headers.size() * sizeof headers[0]);
    std::string start(reinterpret_cast<const char*>(&elf), sizeof elf);
    start.append(reinterpret_cast<const char*>(segments.data()), segments.size() * sizeof(Elf64_Phdr));
    return file.replace(0, start.size(), start);
  }
};

}  // namespace tephra::objects
