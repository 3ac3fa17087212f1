// The same for every module: how one variable is compared, read and set, and the table.
//
// What the RTL must show is kept as it would lie in the RTL's own memory: a second root object, in
// which only the compared variables are ever set. A part of the image that has changed is put in
// there; the compare is then one pass over the lines of both that hold compared bytes.

#pragma once

#ifdef __AVX512BW__
#include <immintrin.h>
#endif

#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <stdexcept>
#include <vector>

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

// Sets a variable of what is expected. Bits of the image that it has no room for are given back.
template <class T>
inline uint32_t expect(T& value, const uint32_t* w) {
  put(value, w);
  if constexpr (sizeof(T) < 4) {
    return value ^ w[0];
  } else {
    return 0;
  }
}
template <class T, size_t N>
inline uint32_t expect(VlUnpacked<T, N>& value, const uint32_t* w) {
  uint32_t beyond = 0;
  for (size_t n = 0; n < N; ++n) beyond |= expect(value[n], w + n * words_of<T>());
  return beyond;
}

constexpr size_t LINE = 64;

// Which bytes of a line are compared.
#ifdef __AVX512BW__
struct Bytes {
  uint64_t bits = 0;
  void add(size_t n) { bits |= uint64_t{1} << n; }
};

inline uint64_t unlike(const char* a, const char* b, const Bytes& bytes) {
  return _mm512_mask_cmpneq_epi8_mask(bytes.bits, _mm512_loadu_si512(a), _mm512_loadu_si512(b));
}
#else
struct Bytes {
  uint64_t words[LINE / 8] = {};
  void add(size_t n) { reinterpret_cast<unsigned char*>(words)[n] = 0xff; }
};

inline uint64_t unlike(const char* a, const char* b, const Bytes& bytes) {
  uint64_t x[LINE / 8];
  uint64_t y[LINE / 8];
  std::memcpy(x, a, LINE);
  std::memcpy(y, b, LINE);
  uint64_t all = 0;
  for (size_t n = 0; n < LINE / 8; ++n) all |= (x[n] ^ y[n]) & bytes.words[n];
  return all;
}
#endif

// The lines of a root object that hold compared bytes.
class Lines {
 public:
  // Adds a variable at that place in the root object.
  void add(size_t at, size_t size) {
    for (; size != 0; --size, ++at) lines_[at / LINE].add(at % LINE);
  }

  // All have been added.
  void close() {
    for (const auto& [line, bytes] : lines_) {
      at_.push_back(static_cast<uint32_t>(line * LINE));
      bytes_.push_back(bytes);
    }
    lines_.clear();
  }

  bool differ(const char* a, const char* b) const {
    uint64_t all = 0;
    for (size_t n = 0; n < at_.size(); ++n) all |= unlike(a + at_[n], b + at_[n], bytes_[n]);
    return all != 0;
  }

 private:
  std::map<size_t, Bytes> lines_;
  std::vector<uint32_t> at_;
  std::vector<Bytes> bytes_;
};

using Root = Vtop___024root;

// The image's parts: of each instance the outputs, then the registers; last of all the inputs.
extern const uint32_t PARTS;
extern const uint32_t PART_AT[];
extern const uint32_t PART_WORDS[];

void set_inputs(Vtop& top, const uint32_t* w);
void mark(const Root& root, Lines& lines);
uint32_t expect_part(Root& root, uint32_t part, const uint32_t* w);
void read_all(Root& root, uint32_t* w);
void load_all(Root& root, const uint32_t* w);
void read_mem(Vtop& top, uint32_t index, uint32_t* w);
void load_mem(Vtop& top, uint32_t index, const uint32_t* w);
void set_reset(Vtop& top, uint32_t level);
void set_clock(Vtop& top, uint32_t level);

// A variable of the root object.
#define NICSTEP_MARK(variable)                                                             \
  lines.add(reinterpret_cast<const char*>(&variable) - reinterpret_cast<const char*>(&root), \
            sizeof(variable))

struct Rtl {
  VerilatedContext context;
  Vtop* top = nullptr;
  std::string text;
  // The expected root object: zeros of which only the pages in use are ever touched.
  void* room = std::calloc(1, sizeof(Root) + LINE);
  // Clocks done in this call.
  int64_t done = 0;

  ~Rtl() { std::free(room); }
  Root& expected() {
    const uintptr_t at = reinterpret_cast<uintptr_t>(room);
    return *reinterpret_cast<Root*>((at + LINE - 1) / LINE * LINE);
  }
};

// The same for every instance.
const Lines& lines(const Root& root) {
  static const Lines found = [&] {
    Lines all;
    mark(root, all);
    all.close();
    return all;
  }();
  return found;
}

Rtl& rtl(void* p) { return *static_cast<Rtl*>(p); }

void* create(int32_t random, int32_t seed) {
  Rtl* made = new Rtl;
  if (!made->room) throw std::bad_alloc();
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
inline int64_t guarded(void* p, Call call) {
  rtl(p).done = 0;
  try {
    return call();
  } catch (const std::runtime_error&) {
    return NICSTEP_FAILED - rtl(p).done;
  }
}

// Evaluates with the clock low, compares, and only if all is equal gives the rising edge.
inline bool compared(Rtl& rtl, uint32_t beyond) {
  Vtop& top = *rtl.top;
  set_clock(top, 0);
  top.eval();
  const char* shown = reinterpret_cast<const char*>(top.rootp);
  const char* wanted = reinterpret_cast<const char*>(&rtl.expected());
  if (beyond != 0 || lines(*top.rootp).differ(shown, wanted)) return false;
  high(top);
  return true;
}

// Registers first: an output that is nothing but a register is held against it.
uint32_t expect_all(Root& root, const uint32_t* image) {
  uint32_t beyond = 0;
  for (uint32_t part = 0; part + 1 < PARTS; part += 2) {
    beyond |= expect_part(root, part + 1, image + PART_AT[part + 1]);
    beyond |= expect_part(root, part, image + PART_AT[part]);
  }
  return beyond;
}

int64_t step_once(void* p, const uint32_t* inputs, const uint32_t* image) {
  use(p);
  set_inputs(*rtl(p).top, inputs);
  const uint32_t beyond = expect_all(rtl(p).expected(), image);
  return compared(rtl(p), beyond) ? verdict(p) : 0;
}

int64_t follow_all(void* p, const uint32_t* log, size_t n) {
  use(p);
  Vtop& top = *rtl(p).top;
  Root& expected = rtl(p).expected();
  for (; n != 0; --n, ++rtl(p).done) {
    uint32_t beyond = 0;
    for (uint32_t parts = *log++; parts != 0; --parts) {
      const uint32_t part = *log++;
      if (part + 1 == PARTS) {
        set_inputs(top, log);
      } else {
        beyond |= expect_part(expected, part, log);
      }
      log += PART_WORDS[part];
    }
    if (!compared(rtl(p), beyond)) return rtl(p).done;
    if (verdict(p) != NICSTEP_EQUAL) return NICSTEP_FAILED - rtl(p).done;
  }
  return NICSTEP_EQUAL;
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
  return guarded(p, [&] { return step_once(p, inputs, expected); });
}

int64_t follow(void* p, const uint32_t* log, size_t n) {
  return guarded(p, [&] { return follow_all(p, log, n); });
}

int64_t run(void* p, const uint32_t* inputs, size_t stride, size_t n) {
  return guarded(p, [&] { return run_all(p, inputs, stride, n); });
}

int64_t settle(void* p, const uint32_t* inputs) {
  return guarded(p, [&] { return settle_once(p, inputs); });
}

void read(void* p, uint32_t* image) { read_all(*rtl(p).top->rootp, image); }

void get_expected(void* p, uint32_t* image) { read_all(rtl(p).expected(), image); }

void set_expected(void* p, const uint32_t* image) { expect_all(rtl(p).expected(), image); }

// Makes the next evaluation settle everything that hangs on what was put in.
void unsettle(void* p) {
  set_clock(*rtl(p).top, 0);
  rtl(p).top->rootp->vlSymsp->__Vm_didInit = false;
}

void load(void* p, const uint32_t* image) {
  load_all(*rtl(p).top->rootp, image);
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

#define NICSTEP_EXPORT(inputs, words, memories)                                                  \
  extern "C" __attribute__((visibility("default"))) const nicstep_table* nicstep_rtl() {       \
    static const nicstep_table table = {                                                       \
        NICSTEP_TABLE_VERSION, inputs, words,    memories, create, destroy,     reset,          \
        step,                  follow, run,      settle,   read,   get_expected, set_expected,  \
        load,                  read_memory,      load_memory,      assertions,   error};        \
    return &table;                                                                             \
  }
