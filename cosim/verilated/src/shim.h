// The same for every module: how one variable is compared, read and set, and the table.

#pragma once

#ifdef __AVX2__
#include <immintrin.h>
#endif

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
template <size_t N>
struct Vector {
  typedef uint32_t type __attribute__((vector_size(N * 4)));
};
template <size_t N>
using Words = typename Vector<N>::type;

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
  uint64_t lanes[4] = {};

  // A single field. The compiler must take one after the other: gathered into vectors, or all held
  // back for the end, they take three times as long. Four lanes, so that none waits for the last.
  template <size_t Lane>
  NICSTEP_INLINE void other(uint64_t bits) {
    lanes[Lane] |= bits;
    asm("" : "+r"(lanes[Lane]));
  }

  NICSTEP_INLINE bool any() const {
    uint32_t bits = 0;
    for (int n = 0; n < 16; ++n) bits |= wide[n];
    for (int n = 0; n < 8; ++n) bits |= half[n];
    for (int n = 0; n < 4; ++n) bits |= quarter[n];
    return (bits | lanes[0] | lanes[1] | lanes[2] | lanes[3]) != 0;
  }
};

// Words that lie in memory as in the image.
template <size_t Lane>
NICSTEP_INLINE void words(Sum& sum, const char* p, const uint32_t* w, size_t n) {
  for (; n >= 16; n -= 16, p += 64, w += 16) sum.wide |= at<Words<16>>(p) ^ at<Words<16>>(w);
  for (; n >= 8; n -= 8, p += 32, w += 8) sum.half |= at<Words<8>>(p) ^ at<Words<8>>(w);
  for (; n >= 4; n -= 4, p += 16, w += 4) sum.quarter |= at<Words<4>>(p) ^ at<Words<4>>(w);
  for (; n >= 2; n -= 2, p += 8, w += 2) sum.other<Lane>(at<uint64_t>(p) ^ at<uint64_t>(w));
  if (n != 0) sum.other<Lane>(at<uint32_t>(p) ^ *w);
}

// Elements of one or two bytes that lie one behind the other, a word of the image each.
template <size_t Lane, class T>
NICSTEP_INLINE void narrow(Sum& sum, const char* p, const uint32_t* w, size_t n) {
#ifdef __AVX2__
  for (; n >= 8; n -= 8, p += 8 * sizeof(T), w += 8) {
    const __m256i value = sizeof(T) == 1 ? _mm256_cvtepu8_epi32(_mm_loadu_si64(p))
                                         : _mm256_cvtepu16_epi32(at<__m128i>(p));
    sum.half |= (Words<8>)value ^ at<Words<8>>(w);
  }
  for (; n >= 4; n -= 4, p += 4 * sizeof(T), w += 4) {
    const __m128i value = sizeof(T) == 1 ? _mm_cvtepu8_epi32(_mm_cvtsi32_si128(at<int>(p)))
                                         : _mm_cvtepu16_epi32(_mm_loadu_si64(p));
    sum.quarter |= (Words<4>)value ^ at<Words<4>>(w);
  }
#endif
  for (; n != 0; --n, p += sizeof(T), ++w) sum.other<Lane>(at<T>(p) ^ *w);
}

// `N` elements of `Size` bytes in all.
template <size_t Lane, size_t Size, size_t N>
NICSTEP_INLINE void fields(Sum& sum, const void* at, const uint32_t* w) {
  const char* p = static_cast<const char*>(at);
  if constexpr (Size == 1) {
    narrow<Lane, uint8_t>(sum, p, w, N);
  } else if constexpr (Size == 2) {
    narrow<Lane, uint16_t>(sum, p, w, N);
  } else {
    words<Lane>(sum, p, w, N * (Size / 4));
  }
}

// The members from `first` to `last`. Should there be padding between them, they count as
// different, and `first_difference` decides.
#define NICSTEP_AT(member) __builtin_offsetof(Vtop___024root, member)
#define NICSTEP_RUN(lane, size, n, first, last, w)                                       \
  if constexpr (NICSTEP_AT(last) + sizeof(root.last) - NICSTEP_AT(first) == (n) * (size)) { \
    fields<lane, size, n>(sum, &root.first, w);                                          \
  } else {                                                                               \
    sum.lanes[0] |= 1;                                                                   \
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
