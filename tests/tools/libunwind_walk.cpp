#include "libunwind_walk.h"

#include <libunwind.h>

#include <optional>
#include <unordered_map>

#include "objects/elf_file.h"
#include "symbols/vdso.h"
#include "unwind/leaf_registers.h"

// What libunwind offers to those who find the table themselves, and declares nowhere.
extern "C" int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                                                  void*);

namespace tephra::tools {
namespace {

using stream::AddressSpaces;

struct File {
  std::shared_ptr<const base::FileContent> content;  // null for the vDSO
  objects::ElfFile elf;
};

// A file as it lies in memory.
struct Placed {
  const File* file;
  uint64_t bias;  // from an address as linked to one in memory
};

}  // namespace

struct LibunwindWalk::State {
  symbols::FileFinder& files;
  const AddressSpaces& spaces;
  const model::Profile& profile;
  unw_addr_space_t address_space = nullptr;
  std::unordered_map<uint32_t, std::optional<File>> by_mapping;
  // Of the walk at hand.
  const stream::RawStack* raw = nullptr;
  AddressSpaces::State space = AddressSpaces::kEmpty;
  unwind::LeafRegisters leaf;
  bool guesses = false;         // libunwind found no rows, and tries its luck from there on
  std::vector<Placed> touched;  // files that this walk went through, whose other segments may be read

  const File* file_of(model::MappingId id) {
    auto [at, fresh] = by_mapping.try_emplace(id.value);
    if (!fresh) return at->second ? &*at->second : nullptr;
    const model::Mapping& mapping = profile.mappings[id];
    File file;
    base::Bytes image;
    if (mapping.kind == model::CodeKind::kVdso) {
      image = symbols::own_vdso();
    } else if (mapping.kind == model::CodeKind::kFile) {
      file.content = files.find_code({std::string(profile.text(mapping.path)), mapping.build_id, mapping.file}).content;
      if (file.content) image = file.content->bytes();
    }
    auto elf = objects::ElfFile::parse(image);
    if (!elf) return nullptr;
    file.elf = std::move(elf).value();
    at->second = std::move(file);
    return &*at->second;
  }

  std::optional<Placed> placed_at(uint64_t address) {
    const stream::MappedRange* range = spaces.find(space, address);
    const File* file = range != nullptr ? file_of(range->mapping) : nullptr;
    if (file == nullptr) return {};
    const auto linked = file->elf.address_of_offset(address - range->start + range->offset);
    if (!linked) return {};
    return Placed{file, address - *linked};
  }

  bool read_word(uint64_t address, unw_word_t* word) {
    const uint64_t at = address - leaf.sp;
    if (raw->stack.size() >= 8 && at <= raw->stack.size() - 8) {
      *word = base::load<uint64_t>(raw->stack.data() + at);
      return true;
    }
    for (size_t i = touched.size(); i-- > 0;) {
      const base::Bytes bytes = touched[i].file->elf.bytes_at(address - touched[i].bias);
      if (bytes.size() < 8) continue;
      *word = base::load<uint64_t>(bytes.data());
      return true;
    }
    return false;
  }

  int find_proc_info(unw_word_t ip, unw_proc_info_t* info, int need_unwind_info) {
    const auto placed = placed_at(ip);
    const auto* header = placed ? placed->file->elf.section(".eh_frame_hdr") : nullptr;
    guesses = true;
    if (header == nullptr || header->content.size() < 12) return -UNW_ENOINFO;
    // Pointer to .eh_frame and number of rows take four bytes each in what linkers write.
    if (header->content[1] != std::byte{0x1b} || header->content[2] != std::byte{0x03}) return -UNW_EINVAL;
    touched.push_back(*placed);
    unw_dyn_info_t table{};
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.start_ip = 0;
    table.end_ip = ~unw_word_t{0};
    table.u.rti.segbase = header->address + placed->bias;
    table.u.rti.table_data = table.u.rti.segbase + 12;
    table.u.rti.table_len = base::load<uint32_t>(header->content.data() + 8) * 8 / sizeof(unw_word_t);
    const int result = UNW_OBJ(dwarf_search_unwind_table)(address_space, ip, &table, info, need_unwind_info, this);
    guesses = result < 0;
    return result;
  }
};

LibunwindWalk::LibunwindWalk(symbols::FileFinder& files, const AddressSpaces& spaces, const model::Profile& profile)
    : state_(new State{files, spaces, profile}) {
  static unw_accessors_t accessors = {
      .find_proc_info = [](unw_addr_space_t, unw_word_t ip, unw_proc_info_t* info, int need,
                           void* argument) { return static_cast<State*>(argument)->find_proc_info(ip, info, need); },
      .put_unwind_info = [](unw_addr_space_t, unw_proc_info_t*, void*) {},
      .get_dyn_info_list_addr = [](unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; },
      .access_mem =
          [](unw_addr_space_t, unw_word_t address, unw_word_t* word, int write, void* argument) {
            return !write && static_cast<State*>(argument)->read_word(address, word) ? 0 : -UNW_EINVAL;
          },
      .access_reg =
          [](unw_addr_space_t, unw_regnum_t number, unw_word_t* value, int write, void* argument) {
            const auto& leaf = static_cast<State*>(argument)->leaf;
            if (write || number < 0 || number > UNW_X86_64_RIP) return -UNW_EBADREG;
            *value = number == UNW_X86_64_RIP ? leaf.pc : leaf.by_dwarf_number[static_cast<size_t>(number)];
            return 0;
          },
      .access_fpreg = [](unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EINVAL; },
      .resume = [](unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; },
      .get_proc_name = [](unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_EINVAL; },
  };
  state_->address_space = unw_create_addr_space(&accessors, 0);
}

LibunwindWalk::~LibunwindWalk() { unw_destroy_addr_space(state_->address_space); }

std::vector<uint64_t> LibunwindWalk::walk(const stream::RawStack& raw, AddressSpaces::State space, size_t most) {
  std::vector<uint64_t> addresses;
  state_->raw = &raw;
  state_->space = space;
  state_->touched.clear();
  state_->guesses = false;
  state_->leaf = unwind::read_leaf_registers(unwind::Machine::kX86_64, raw);
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, state_->address_space, state_.get()) != 0) return addresses;
  do {
    unw_word_t ip = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &ip) != 0 || ip == 0) break;
    addresses.push_back(ip);
  } while (addresses.size() < most && unw_step(&cursor) > 0 && !state_->guesses);
  return addresses;
}

}  // namespace tephra::tools
