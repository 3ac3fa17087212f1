// The same for every module: how one variable is compared, read and set, and the table.

#pragma once

#include <cstring>
#include <stdexcept>

#include "print.h"
#include "table.h"

namespace {

template <class T>
constexpr size_t words_of() {
  return sizeof(T) <= 4 ? 1 : sizeof(T) / 4;
}

// Numbers of up to 32 bits, of up to 64 bits, and wide ones (whole words, no padding).
template <class T>
inline bool ne(const T& value, const uint32_t* w) {
  if constexpr (sizeof(T) < 4) {
    return value != w[0];
  } else {
    return std::memcmp(&value, w, sizeof(T)) != 0;
  }
}
template <class T>
inline void get(const T& value, uint32_t* w) {
  if constexpr (sizeof(T) < 4) {
    w[0] = value;
  } else {
    std::memcpy(w, &value, sizeof(T));
  }
}
template <class T>
inline void put(T& value, const uint32_t* w) {
  if constexpr (sizeof(T) < 4) {
    value = static_cast<T>(w[0]);
  } else {
    std::memcpy(&value, w, sizeof(T));
  }
}

// What differs, gathered without a branch: vectors for runs of words, one number for the rest.
template <class T, size_t N>
struct Vector {
  typedef T type __attribute__((vector_size(N * sizeof(T))));
};
template <size_t N>
using Words = typename Vector<uint32_t, N>::type;

#define NICSTEP_INLINE inline __attribute__((always_inline))

template <class T>
NICSTEP_INLINE T at(const void* p) {
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}

struct Sum {
  Words<16> wide = {};
  Words<8> half = {};
  Words<4> quarter = {};
  uint64_t rest = 0;

  NICSTEP_INLINE bool any() const {
    uint32_t bits = 0;
    for (int n = 0; n < 16; ++n) bits |= wide[n];
    for (int n = 0; n < 8; ++n) bits |= half[n];
    for (int n = 0; n < 4; ++n) bits |= quarter[n];
    return (bits | rest) != 0;
  }
};

// `n` elements of type T that lie one behind the other, a word of the image each.
template <class T>
NICSTEP_INLINE void narrow(Sum& sum, const char* p, const uint32_t* w, size_t n) {
  for (; n >= 16; n -= 16, p += 16 * sizeof(T), w += 16) {
    const auto value = at<typename Vector<T, 16>::type>(p);
    sum.wide |= __builtin_convertvector(value, Words<16>) ^ at<Words<16>>(w);
  }
  if (n >= 8) {
    const auto value = at<typename Vector<T, 8>::type>(p);
    sum.half |= __builtin_convertvector(value, Words<8>) ^ at<Words<8>>(w);
    n -= 8, p += 8 * sizeof(T), w += 8;
  }
  if (n >= 4) {
    const auto value = at<typename Vector<T, 4>::type>(p);
    sum.quarter |= __builtin_convertvector(value, Words<4>) ^ at<Words<4>>(w);
    n -= 4, p += 4 * sizeof(T), w += 4;
  }
  for (; n != 0; --n, p += sizeof(T), ++w) {
    uint32_t bits = at<T>(p) ^ *w;
    asm("" : "+r"(bits));  // or the compiler gathers single fields into vectors, which is slower
    sum.rest |= bits;
  }
}

// Words that lie in memory as in the image.
NICSTEP_INLINE void words(Sum& sum, const char* p, const uint32_t* w, size_t n) {
  narrow<uint32_t>(sum, p, w, n);
}

// The fields from `first` to `last`, `n` elements of `Size` bytes in all. Should there be padding
// between them, they count as different, and `first_difference` decides.
template <size_t Size, class First, class Last>
NICSTEP_INLINE void run(Sum& sum, const First& first, const Last& last, const uint32_t* w, size_t n) {
  const char* p = reinterpret_cast<const char*>(&first);
  const char* end = reinterpret_cast<const char*>(&last) + sizeof(Last);
  if (end - p != static_cast<ptrdiff_t>(n * Size)) {
    sum.rest |= 1;
  } else if constexpr (Size == 1) {
    narrow<uint8_t>(sum, p, w, n);
  } else if constexpr (Size == 2) {
    narrow<uint16_t>(sum, p, w, n);
  } else {
    words(sum, p, w, n * (Size / 4));
  }
}

// Arrays, element after element; those of whole words lie in memory as they do in an image.
template <class T, size_t N>
inline bool ne(const VlUnpacked<T, N>& value, const uint32_t* w) {
  if constexpr (sizeof(T) >= 4) {
    return std::memcmp(&value[0], w, sizeof(T) * N) != 0;
  } else {
    uint32_t difference = 0;
    for (size_t n = 0; n < N; ++n) difference |= value[n] ^ w[n];
    return difference != 0;
  }
}
template <class T, size_t N>
inline void get(const VlUnpacked<T, N>& value, uint32_t* w) {
  for (size_t n = 0; n < N; ++n) get(value[n], w + n * words_of<T>());
}
template <class T, size_t N>
inline void put(VlUnpacked<T, N>& value, const uint32_t* w) {
  for (size_t n = 0; n < N; ++n) put(value[n], w + n * words_of<T>());
}

void set_inputs(Vtop& top, const uint32_t* w);
int64_t differs(Vtop& top, const uint32_t* w);
void read_all(Vtop& top, uint32_t* w);
void load_all(Vtop& top, const uint32_t* w);
void read_mem(Vtop& top, uint32_t index, uint32_t* w);
void load_mem(Vtop& top, uint32_t index, const uint32_t* w);
void set_reset(Vtop& top, uint32_t level);
void set_clock(Vtop& top, uint32_t level);

struct Rtl {
  VerilatedContext context;
  Vtop* top = nullptr;
  std::string text;
};

Rtl& rtl(void* p) { return *static_cast<Rtl*>(p); }

void* create(int32_t random, int32_t seed) {
  Rtl* made = new Rtl;
  made->context.quiet(true);
  made->context.fatalOnError(false);
  made->context.randReset(random);
  made->context.randSeed(seed);
  Verilated::threadContextp(&made->context);
  made->top = new Vtop(&made->context);
  set_clock(*made->top, 0);
  set_reset(*made->top, 1);
  return made;
}

void destroy(void* p) {
  Verilated::threadContextp(&rtl(p).context);
  rtl(p).top->final();
  delete rtl(p).top;
  delete &rtl(p);
}

inline void use(void* p) {
  Verilated::threadContextp(&rtl(p).context);
}

inline int64_t verdict(void* p) {
  return rtl(p).context.gotError() || rtl(p).context.gotFinish() ? NICSTEP_FAILED : NICSTEP_EQUAL;
}

inline void low(Vtop& top, const uint32_t* inputs) {
  set_inputs(top, inputs);
  set_clock(top, 0);
  top.eval();
}

inline void high(Vtop& top) {
  set_clock(top, 1);
  top.eval();
  top.contextp()->timeInc(1);
}

void reset(void* p, uint32_t level) { set_reset(*rtl(p).top, level); }

// A fatal error of the runtime ends the call, with its text kept for `error`.
template <class Call>
inline int64_t guarded(Call call) {
  try {
    return call();
  } catch (const std::runtime_error&) {
    return NICSTEP_FAILED;
  }
}

int64_t step_once(void* p, const uint32_t* inputs, const uint32_t* expected) {
  use(p);
  Vtop& top = *rtl(p).top;
  low(top, inputs);
  const int64_t field = differs(top, expected);
  if (field != NICSTEP_EQUAL) return field;
  high(top);
  return verdict(p);
}

int64_t run_all(void* p, const uint32_t* inputs, size_t stride, size_t n) {
  use(p);
  Vtop& top = *rtl(p).top;
  for (; n != 0; --n, inputs += stride) {
    low(top, inputs);
    high(top);
  }
  return verdict(p);
}

int64_t settle_once(void* p, const uint32_t* inputs) {
  use(p);
  low(*rtl(p).top, inputs);
  return verdict(p);
}

int64_t step(void* p, const uint32_t* inputs, const uint32_t* expected) {
  return guarded([&] { return step_once(p, inputs, expected); });
}

int64_t run(void* p, const uint32_t* inputs, size_t stride, size_t n) {
  return guarded([&] { return run_all(p, inputs, stride, n); });
}

int64_t settle(void* p, const uint32_t* inputs) {
  return guarded([&] { return settle_once(p, inputs); });
}

void read(void* p, uint32_t* image) { read_all(*rtl(p).top, image); }

// Makes the next evaluation settle everything that hangs on what was put in.
void unsettle(void* p) {
  set_clock(*rtl(p).top, 0);
  rtl(p).top->rootp->vlSymsp->__Vm_didInit = false;
}

void load(void* p, const uint32_t* image) {
  load_all(*rtl(p).top, image);
  unsettle(p);
}

void read_memory(void* p, uint32_t index, uint32_t* words) { read_mem(*rtl(p).top, index, words); }

void load_memory(void* p, uint32_t index, const uint32_t* words) {
  load_mem(*rtl(p).top, index, words);
  unsettle(p);
}

void assertions(void* p, uint32_t on) { rtl(p).context.assertOn(on != 0); }

const char* error(void* p) {
  rtl(p).text = nicstep_text();
  nicstep_forget();
  rtl(p).context.gotError(false);
  rtl(p).context.gotFinish(false);
  return rtl(p).text.c_str();
}

}  // namespace

#define NICSTEP_EXPORT(inputs, expected, memories)                                            \
  extern "C" __attribute__((visibility("default"))) const nicstep_table* nicstep_rtl() {      \
    static const nicstep_table table = {                                                      \
        NICSTEP_TABLE_VERSION, inputs, expected,    memories,    create, destroy, reset, step, \
        run,                   settle, read,        load,        read_memory, load_memory,    \
        assertions,            error};                                                        \
    return &table;                                                                            \
  }
