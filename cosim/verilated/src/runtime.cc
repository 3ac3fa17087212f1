// What the Verilated runtime calls instead of printing and leaving the process.

#include "print.h"

#include <cstdarg>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "verilated.h"

namespace {
thread_local std::string text;
}

// Keeps the last few kilobytes of what the RTL prints, for the report of a failed assertion.
int nicstep_print(const char* format, ...) {
  char line[2048];
  va_list args;
  va_start(args, format);
  const int length = std::vsnprintf(line, sizeof line, format, args);
  va_end(args);
  text += line;
  if (text.size() > 8192) text.erase(0, text.size() - 4096);
  return length;
}

const std::string& nicstep_text() { return text; }

void nicstep_forget() { text.clear(); }

void vl_finish(const char*, int, const char*) { Verilated::threadContextp()->gotFinish(true); }

void vl_stop(const char* file, int line, const char*) {
  nicstep_print("%s:%d: stopped by the RTL\n", file, line);
  Verilated::threadContextp()->gotError(true);
}

// Does not return: the caller may be in a loop that only a fatal error ends. The shim catches it.
void vl_fatal(const char* file, int line, const char*, const char* what) {
  nicstep_print("%s:%d: %s\n", file, line, what);
  Verilated::threadContextp()->gotError(true);
  throw std::runtime_error(what);
}
