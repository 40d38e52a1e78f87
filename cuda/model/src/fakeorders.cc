// What the environment orders the tests' driver to do; fakecuda.cc says which variables there are.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <string>

namespace ridge_model {

// number is that of a variable.
long number(const char *name, long otherwise) {
  const char *s = getenv(name);
  return s ? atol(s) : otherwise;
}

// fault_ordered gives the number behind a word of RIDGE_FAKE_FAULT, 1 where there is none; 0: it is not there.
int fault_ordered(const char *word) {
  std::string list = std::string(",") + (getenv("RIDGE_FAKE_FAULT") ? getenv("RIDGE_FAKE_FAULT") : "");
  size_t at = list.find(std::string(",") + word);
  if (at == std::string::npos) return 0;
  const char *rest = list.c_str() + at + 1 + strlen(word);
  return *rest == ':' ? atoi(rest + 1) : 1;
}

// first reports whether no process before this one did what was ordered.
bool first() {
  const char *file = getenv("RIDGE_FAKE_FAIL_ONCE");
  if (!file) return true;
  int fd = open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

// ordered is what the environment wants a launch of a kernel to do; "": its work.
std::string ordered(const char *kernel) {
  const char *s = getenv("RIDGE_FAKE_FAIL");
  if (!s) return "";
  static std::map<std::string, int> launched;
  char what[32], name[128];
  int nth = 1;
  if (sscanf(s, "%31[^:]:%127[^:]:%d", what, name, &nth) < 2 || strcmp(name, kernel) || ++launched[kernel] != nth || !first()) return "";
  return what;
}

// failure does what was ordered: it never comes back, or is the CUresult.
int failure(const std::string &what, const char *kernel) {
  if (what == "hang")
    for (;;) sleep(1);
  if (what == "abort") {
    signal(SIGABRT, SIG_DFL); // Go's handler would print its goroutines
    fprintf(stderr, "fake driver: abort in %s as ordered\n", kernel);
    abort();
  }
  static const std::map<std::string, int> codes = {{"illegal", 700}, {"timeout", 702}, {"lost", 46}, {"ecc", 214}, {"oom", 2}};
  auto it = codes.find(what);
  return it == codes.end() ? 999 : it->second;
}

// keeps reports an error that stays until the context is reset.
bool keeps(int code) { return code == 46 || code == 214 || code == 700 || code == 702 || code == 716 || code == 719 || code == 999; }

// note appends a line to RIDGE_FAKE_CALLS.
void note(const std::string &line) {
  const char *file = getenv("RIDGE_FAKE_CALLS");
  FILE *f = file && *file ? fopen(file, "a") : nullptr;
  if (!f) return;
  fprintf(f, "%s\n", line.c_str());
  fclose(f);
}

// call_ordered notes and counts a call of the driver, and gives the CUresult that it shall fail with; 0: none.
int call_ordered(const char *name) {
  static std::mutex one;
  static std::string last;
  static int calls;
  std::lock_guard<std::mutex> hold(one);
  note(name);
  const char *order = getenv("RIDGE_FAKE_CALL");
  if (!order) return last.clear(), 0;
  if (last != order) last = order, calls = 0;
  int nth = 0, code = 0;
  return sscanf(order, "%d:%d", &nth, &code) == 2 && ++calls == nth && first() ? code : 0;
}

} // namespace ridge_model
