// What the tests' driver says of itself and its devices: how many there are, their memory and their attributes (fakecuda.cc says by which variables).
#include <stdio.h>
#include <stdlib.h>

#include <map>
#include <string>

namespace ridge_model {

long number(const char *name, long otherwise); // fakeorders.cc
int called(const char *name);                  // fakecuda.cc

size_t device_memory() { return (size_t)number("RIDGE_FAKE_MEMORY", 1l << 30); }

} // namespace ridge_model

using namespace ridge_model;

namespace {

constexpr int SUCCESS = 0, NO_DEVICE = 100, INVALID_DEVICE = 101;

int devices() { return (int)number("RIDGE_FAKE_DEVICES", 1); }

} // namespace

#define API extern "C" __attribute__((visibility("default")))
#define CALL \
  if (int rc_ = called(__func__)) return rc_

API const char *ridge_fake_driver(void) { return "fake driver of the tests: kernels run in the CPU execution model"; }

API int cuInit(unsigned) { CALL; return devices() ? SUCCESS : NO_DEVICE; }
API int cuDriverGetVersion(int *v) { return *v = 13000, SUCCESS; }
API int cuDeviceGetCount(int *n) { CALL; return *n = devices(), SUCCESS; }
API int cuDeviceGet(int *d, int i) { CALL; return i < devices() ? (*d = i, SUCCESS) : INVALID_DEVICE; }
API int cuDeviceGetName(char *s, int n, int) { CALL; return snprintf(s, (size_t)n, "fake device of the tests (no GPU)"), SUCCESS; }
API int cuDeviceTotalMem_v2(size_t *n, int) { CALL; return *n = device_memory(), SUCCESS; }
API int cuDeviceGetAttribute(int *v, int what, int d) {
  CALL;
  int major = 9, minor = 0;
  if (const char *s = getenv("RIDGE_FAKE_CAPABILITY")) sscanf(s, "%d.%d", &major, &minor);
  static const std::map<int, int> values = {{1, 1024},    {8, 49152},   {10, 32},       {12, 65536}, {13, 1980000},
                                            {36, 3201000}, {37, 6144}, {38, 4 << 20}, {39, 2048},  {97, 232448}, {19, 0},
                                            {33, 0x41},   {34, 0},     {50, 1}};
  if (what == 16) return *v = (int)number("RIDGE_FAKE_SMS", 4), SUCCESS;
  if (what == 75) return *v = major, SUCCESS;
  if (what == 76) return *v = minor, SUCCESS;
  auto it = values.find(what);
  *v = it == values.end() ? 0 : it->second;
  if (what == 33) *v += d; // each has its own bus
  return SUCCESS;
}
