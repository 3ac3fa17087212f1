#include "host.h"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace nicstep {

Host::Host(const nicstep_table* table, bool random, int32_t seed)
    : table_(table), rtl_(table->create(random ? 2 : 0, seed)) {}

Host::~Host() { table_->destroy(rtl_); }

rust::String Host::error() { return rust::String::lossy(table_->error(rtl_)); }

// The library is never unloaded: its thread-local state may outlive any one instance.
std::unique_ptr<Host> open_host(rust::Str path, bool random, int32_t seed) {
  const std::string name(path);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  using Entry = const nicstep_table* (*)();
  const auto entry = reinterpret_cast<Entry>(dlsym(library, "nicstep_rtl"));
  if (!entry) throw std::runtime_error(name + " has no function table");
  const nicstep_table* table = entry();
  if (table->version != NICSTEP_TABLE_VERSION) {
    throw std::runtime_error(name + " has a function table of another version");
  }
  return std::make_unique<Host>(table, random, seed);
}

}  // namespace nicstep
