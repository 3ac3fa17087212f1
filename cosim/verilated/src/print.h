// Included before verilated.h: sends what the RTL prints to a buffer.

#pragma once

#include <string>

int nicstep_print(const char* format, ...) __attribute__((format(printf, 1, 2)));
const std::string& nicstep_text();
void nicstep_forget();

#define VL_PRINTF nicstep_print
