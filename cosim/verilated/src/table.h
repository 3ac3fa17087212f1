// The function table between a built RTL library and its host. All buffers are 32-bit words.

#ifndef NICSTEP_TABLE_H
#define NICSTEP_TABLE_H

#include <cstddef>
#include <cstdint>

// Goes up with every change of this table, so that a stale library is refused.
#define NICSTEP_TABLE_VERSION 2

// What `step`, `follow` and `run` return when every field is equal, and when an assertion failed;
// `follow` counts down from there by the clocks before. A number from 0 up is the clock of a call
// in which a field differs; it has had no rising edge.
#define NICSTEP_EQUAL (-1)
#define NICSTEP_FAILED (-2)

struct nicstep_table {
  uint32_t version;
  uint32_t input_words;
  uint32_t expected_words;
  uint32_t memories;

  // An instance with clk_i low and rst_ni high, not yet evaluated.
  // random: 0 starts registers at zero, 2 draws them from seed.
  void* (*create)(int32_t random, int32_t seed);
  void (*destroy)(void*);
  // Sets rst_ni, seen by the next evaluation.
  void (*reset)(void*, uint32_t level);
  // Inputs, clock low, evaluate, compare; when equal, clock high and evaluate.
  int64_t (*step)(void*, const uint32_t* inputs, const uint32_t* expected);
  // n clocks of `step`, from a log: for each clock the number of parts that have changed, then the
  // number and the words of each. Part 2 k is the outputs of instance k, 2 k + 1 its registers, and
  // comes first; the part behind those of all instances is the inputs.
  int64_t (*follow)(void*, const uint32_t* log, size_t n);
  // n clocks without a compare; inputs of clock k start at inputs + k * stride.
  int64_t (*run)(void*, const uint32_t* inputs, size_t stride, size_t n);
  // Inputs, clock low, evaluate: outputs of these inputs without a rising edge.
  int64_t (*settle)(void*, const uint32_t* inputs);
  // The image of all compared fields as they are now.
  void (*read)(void*, uint32_t* image);
  // The image that the last compare held against it.
  void (*expected)(void*, uint32_t* image);
  // Sets that image, of which `follow` takes the changes.
  void (*expect)(void*, const uint32_t* image);
  // Sets the registers of an image while the clock is low; outputs in it are passed over.
  void (*load)(void*, const uint32_t* image);
  void (*read_memory)(void*, uint32_t index, uint32_t* words);
  void (*load_memory)(void*, uint32_t index, const uint32_t* words);
  // Turns assertions on or off.
  void (*assertions)(void*, uint32_t on);
  // What was printed by the assertion that failed last; forgets the failure.
  const char* (*error)(void*);
};

#endif
