#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tephra::objects {

// An ELF file without sections that holds the table of a made-up Go program, in the layout of one of the releases that
// brought one: 16, 18 or 20. Its functions:
//   0x401000  main.caller (a.go:10), at +0x30 main.inner (b.go:31) in main.middle (a.go:21) in it (a.go:11)
//   0x401100  main.leaf (a.go:40), to 0x401200
class GoTableForTests {
 public:
  explicit GoTableForTests(int release) : release_(release) {}

  std::string file() {
    const std::string names = texts({"main.caller", "main.middle", "main.inner", "main.leaf"});
    const std::string files = texts({"/src/a.go", "/src/b.go"});
    std::string units;
    add<uint32_t>(units, 0);
    add<uint32_t>(units, 10);
    std::string pc_tables(1, '\0');
    const auto table = [&](const std::vector<std::pair<int, int>>& pieces) {
      const auto at = static_cast<uint32_t>(pc_tables.size());
      pc_tables += pc_table(pieces);
      return at;
    };
    const Tables caller{table({{0, 0x30}, {1, 0x10}, {0, 0xc0}}),
                        table({{10, 0x10}, {11, 0x10}, {21, 0x10}, {31, 0x10}, {12, 0xc0}}),
                        table({{-1, 0x20}, {0, 0x10}, {1, 0x10}, {-1, 0xc0}})};
    const Tables leaf{table({{0, 0x100}}), table({{40, 0x100}}), 0};
    pad(pc_tables, 8);
    std::string index;
    std::string functions;
    const uint64_t index_size = release_ == 16 ? 40 : 24;
    add_index(index, 0x401000, index_size);
    add_function(functions, 0x401000, 0, caller, true);
    add_index(index, 0x401100, index_size + functions.size());
    add_function(functions, 0x401100, 35, leaf, false);
    add_index(index, 0x401200, 0);
    index.resize(index_size);

    std::string file(kTable, '\0');
    std::string table_bytes = header(names, units, files, pc_tables);
    table_bytes += padded(names) + padded(units) + padded(files) + pc_tables + index + functions;
    file += table_bytes;
    file.resize(kTree);
    file += tree();
    file.resize(kModule);
    file += module_data();
    write_elf_header(file);
    return file;
  }

  static constexpr uint64_t kBase = 0x400000;

 private:
  static constexpr uint64_t kTable = 0x100;
  static constexpr uint64_t kTree = 0x800;
  static constexpr uint64_t kModule = 0x900;
  struct Tables {
    uint32_t file;
    uint32_t line;
    uint32_t inlined;
  };

  template <class T>
  static void add(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  static void pad(std::string& bytes, size_t to) { bytes.resize((bytes.size() + to - 1) / to * to); }
  static std::string padded(std::string bytes) {
    pad(bytes, 8);
    return bytes;
  }
  static std::string texts(const std::vector<std::string>& list) {
    std::string bytes;
    for (const std::string& text : list) bytes += text + '\0';
    return bytes;
  }
  static void add_number(std::string& bytes, uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
    bytes += static_cast<char>(value);
  }
  static std::string pc_table(const std::vector<std::pair<int, int>>& pieces) {
    std::string bytes;
    int value = -1;
    for (const auto& [next, size] : pieces) {
      const int change = next - value;
      add_number(bytes, change < 0 ? static_cast<uint64_t>(-change) * 2 - 1 : static_cast<uint64_t>(change) * 2);
      add_number(bytes, static_cast<uint64_t>(size));
      value = next;
    }
    return bytes + '\0';
  }

  std::string header(const std::string& names, const std::string& units, const std::string& files,
                     const std::string& pc_tables) const {
    std::string bytes;
    add<uint32_t>(bytes, release_ == 16 ? 0xfffffffa : release_ == 18 ? 0xfffffff0 : 0xfffffff1);
    bytes += std::string("\0\0\1\10", 4);
    add<uint64_t>(bytes, 2);  // functions
    add<uint64_t>(bytes, 2);  // files
    if (release_ != 16) add<uint64_t>(bytes, 0x401000);
    uint64_t at = bytes.size() + 5 * 8;
    for (const size_t size : {padded(names).size(), padded(units).size(), padded(files).size(), pc_tables.size()}) {
      add<uint64_t>(bytes, at);
      at += size;
    }
    add<uint64_t>(bytes, at);
    return bytes;
  }

  void add_index(std::string& index, uint64_t address, uint64_t offset) const {
    if (release_ == 16) {
      add<uint64_t>(index, address);
      add<uint64_t>(index, offset);
    } else {
      add<uint32_t>(index, static_cast<uint32_t>(address - 0x401000));
      add<uint32_t>(index, static_cast<uint32_t>(offset));
    }
  }

  void add_function(std::string& bytes, uint64_t address, uint32_t name, const Tables& tables, bool inlines) const {
    if (release_ == 16) {
      add<uint64_t>(bytes, address);
    } else {
      add<uint32_t>(bytes, static_cast<uint32_t>(address - 0x401000));
    }
    add<uint32_t>(bytes, name);
    for (int i = 0; i < 3; ++i) add<uint32_t>(bytes, 0);
    add<uint32_t>(bytes, tables.file);
    add<uint32_t>(bytes, tables.line);
    add<uint32_t>(bytes, inlines ? 3 : 0);
    add<uint32_t>(bytes, 0);
    if (release_ >= 20) add<uint32_t>(bytes, 9);
    bytes += std::string("\0\0\0", 3) + static_cast<char>(inlines ? 4 : 0);
    if (inlines) {
      for (const uint32_t table : {0u, 0u, tables.inlined}) add<uint32_t>(bytes, table);
      if (release_ == 16) {
        pad(bytes, 8);
        for (const uint64_t data : {uint64_t{0}, uint64_t{0}, uint64_t{0}, kBase + kTree}) add<uint64_t>(bytes, data);
      } else {
        for (const uint32_t data : {UINT32_MAX, UINT32_MAX, UINT32_MAX, 16u}) add<uint32_t>(bytes, data);
      }
    }
    pad(bytes, 8);
  }

  std::string tree() const {
    std::string bytes;
    if (release_ == 20) {
      for (const auto& [name, place] : {std::pair(12u, 0x10u), std::pair(24u, 0x20u)}) {
        add<uint32_t>(bytes, 0);
        add<uint32_t>(bytes, name);
        add<uint32_t>(bytes, place);
        add<uint32_t>(bytes, 0);
      }
      return bytes;
    }
    for (const auto& [parent, line, name] : {std::tuple(-1, 11u, 12u), std::tuple(0, 21u, 24u)}) {
      add<int16_t>(bytes, static_cast<int16_t>(parent));
      add<uint16_t>(bytes, 0);
      add<uint32_t>(bytes, 0);
      add<uint32_t>(bytes, line);
      add<uint32_t>(bytes, name);
      add<uint32_t>(bytes, 0);
    }
    return bytes;
  }

  std::string module_data() const {
    std::vector<uint64_t> words(48);
    words[0] = kBase + kTable;
    words[22] = 0x401000;
    words[release_ == 20 ? 40 : 38] = kBase + kTree - 16;
    return {reinterpret_cast<const char*>(words.data()), words.size() * 8};
  }

  static void write_elf_header(std::string& file) {
    Elf64_Ehdr header{};
    const std::string magic = ELFMAG;
    std::copy(magic.begin(), magic.end(), header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_EXEC;
    header.e_machine = EM_X86_64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_flags = PF_R | PF_W | PF_X;
    segment.p_vaddr = kBase;
    segment.p_filesz = file.size();
    segment.p_memsz = file.size();
    file.replace(0, sizeof header, reinterpret_cast<const char*>(&header), sizeof header);
    file.replace(sizeof header, sizeof segment, reinterpret_cast<const char*>(&segment), sizeof segment);
  }

  int release_;
};

}  // namespace tephra::objects
