// The C++ side of the host: a loaded RTL library and one instance of it.

#pragma once

#include <memory>

#include "rust/cxx.h"
#include "table.h"

namespace nicstep {

// One instance of the RTL. Lengths of the slices are checked by the Rust side.
class Host {
 public:
  Host(const nicstep_table* table, bool random, int32_t seed);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  uint32_t input_words() const { return table_->input_words; }
  uint32_t expected_words() const { return table_->expected_words; }
  uint32_t memories() const { return table_->memories; }
  void reset(bool level) { table_->reset(rtl_, level ? 1 : 0); }
  int64_t step(rust::Slice<const uint32_t> inputs, rust::Slice<const uint32_t> expected) {
    return table_->step(rtl_, inputs.data(), expected.data());
  }
  int64_t follow(rust::Slice<const uint32_t> log, size_t n) {
    return table_->follow(rtl_, log.data(), n);
  }
  int64_t run(rust::Slice<const uint32_t> inputs, size_t stride, size_t n) {
    return table_->run(rtl_, inputs.data(), stride, n);
  }
  int64_t settle(rust::Slice<const uint32_t> inputs) { return table_->settle(rtl_, inputs.data()); }
  void read(rust::Slice<uint32_t> image) const { table_->read(rtl_, image.data()); }
  void expected(rust::Slice<uint32_t> image) const { table_->expected(rtl_, image.data()); }
  void expect(rust::Slice<const uint32_t> image) { table_->expect(rtl_, image.data()); }
  void load(rust::Slice<const uint32_t> image) { table_->load(rtl_, image.data()); }
  void read_memory(uint32_t index, rust::Slice<uint32_t> words) const {
    table_->read_memory(rtl_, index, words.data());
  }
  void load_memory(uint32_t index, rust::Slice<const uint32_t> words) {
    table_->load_memory(rtl_, index, words.data());
  }
  void assertions(bool on) { table_->assertions(rtl_, on ? 1 : 0); }
  rust::String error();

 private:
  const nicstep_table* table_;
  void* rtl_;
};

// Loads the library and makes an instance; throws when it is not one of ours.
std::unique_ptr<Host> open_host(rust::Str path, bool random, int32_t seed);

}  // namespace nicstep
