// A libcuda.so.1 of the tests: one device whose memory is the host's and whose kernels run in the
// CPU execution model. It implements what ridge calls. By environment:
//
//   RIDGE_FAKE_DEVICES=N        devices counted (default 1; 0: cuInit says no device)
//   RIDGE_FAKE_MEMORY=BYTES     memory of the device (default 1 GiB)
//   RIDGE_FAKE_CAPABILITY=M.N   compute capability (default 9.0)
//   RIDGE_FAKE_SMS=N            multiprocessors (default 4)
//   RIDGE_FAKE_FAIL=WHAT:KERNEL:N  the Nth launch (from 1) of a kernel in this process fails: illegal, timeout,
//                               lost, ecc, oom, hang (never returns) or abort (ends the process)
//   RIDGE_FAKE_FAIL_ONCE=FILE   … in the first process alone, which makes FILE
//   RIDGE_FAKE_CALL=N:CODE      the Nth call (from 1, since this was set) of the driver's functions does nothing and gives that CUresult;
//                               RIDGE_FAKE_FAIL_ONCE holds for it too
//   RIDGE_FAKE_CALLS=FILE       each call appends its function's name, and the last release of a context what was not given back
//   RIDGE_FAKE_PRIORITY=N       the greatest priority of streams, beside the least, 0 (default -5)
//   RIDGE_FAKE_LOST=I           device I is there and nothing can be done with it
//   RIDGE_FAKE_FAULT=LIST       separated by commas: graph (none can be made), event:N (the Nth event from then on says a second
//                               too early), queue:N (at most N operations wait in the stream; the call after them returns
//                               when those have run), copies:N (the launch of a graph with more than N returns when it has run)
//
// Streams are asynchronous: what is enqueued runs when somebody waits for it, or when the queue is full, that of the greatest
// priority first.
//
// What it is ordered to do is read in fakeorders.cc, what the device is said to be stands in fakedevice.cc. Every function but those of errors and of the version begins with CALL, which
// RIDGE_FAKE_CALL counts.
//
// A fault that the model finds gives the CUresult a device would, and its report is appended to
// the error's text. An error of that kind stays until the primary context is reset, as on a device.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime.h"

using namespace ridge_model;

#define API extern "C" __attribute__((visibility("default")))

namespace ridge_model {
// fakeorders.cc
long number(const char *name, long otherwise);
int fault_ordered(const char *word);
std::string ordered(const char *kernel);
int failure(const std::string &what, const char *kernel);
bool keeps(int code);
void note(const std::string &line);
int call_ordered(const char *name);

extern std::string report; // fakeerrors.cc: of the last fault, for the error's text

size_t device_memory(); // fakedevice.cc

int called(const char *name); // here; fakedevice.cc and faketensormap.cc call it too
} // namespace ridge_model

namespace {

typedef uint64_t Pointer;
constexpr int SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, INVALID_CONTEXT = 201,
              INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, OUT_OF_RESOURCES = 701, NOT_SUPPORTED = 801, INVALID_CLUSTER_SIZE = 912;

struct Function {
  const Kernel *kernel;
  unsigned dynamic_allowed = 48 << 10;
};

struct alignas(64) Slot { // of a parameter
  char bytes[128];
};

struct Launch { // or, where f is null, a function of the host or a copy
  Function *f;
  unsigned grid[3], block[3], shared, cluster[3];
  std::vector<Slot> slots;
  std::string ordered; // what it shall do in place of its work
  void *to = nullptr;
  const void *from = nullptr;
  size_t bytes = 0;
  void (*host)(void *) = nullptr;
};

struct Graph {
  std::vector<Launch> launches;
};

struct Event {
  timespec at;
  bool recorded, done;
};

std::mutex lock; // one launch at a time, as on one stream
std::map<Pointer, size_t> allocations;
size_t used;
int sticky; // a lost context's error
thread_local void *current;
int primary; // retained so often
char primary_context;
Graph *capturing;
struct Stream {
  int priority;       // the lower number goes first
  size_t waiting = 0; // operations
};
Stream null_stream{0};
struct Operation {
  std::function<void()> work;
  Stream *stream;
};
std::map<int, std::deque<Operation>> waiting; // by priority, as they came
size_t enqueued;                              // in all streams
int late;                      // an error that the next wait tells

std::map<std::string, int> held; // by the caller: streams, events …

int ready() { return sticky ? sticky : current ? SUCCESS : INVALID_CONTEXT; }

// run executes a launch; what goes wrong shows at the next wait.
void run(const Launch &l) {
  if (sticky) return;
  if (l.host) return l.host(l.to);
  if (!l.f) {
    memmove(l.to, l.from, l.bytes);
    memory_written(l.to, l.bytes);
    return;
  }
  int code;
  if (!l.ordered.empty()) {
    code = failure(l.ordered, l.f->kernel->name), report.clear();
  } else {
    std::vector<void *> params;
    for (const Slot &s : l.slots) params.push_back((void *)&s);
    Fault f = launch(*l.f->kernel, l.grid, l.block, l.cluster, l.shared, params.data());
    if ((code = f.code)) report = f.report;
  }
  if (code) (keeps(code) ? sticky : late) = code;
}

// step runs what is next: of the greatest priority the oldest.
void step() {
  auto first = waiting.begin();
  Operation next = std::move(first->second.front());
  first->second.pop_front();
  if (first->second.empty()) waiting.erase(first);
  next.stream->waiting--, enqueued--;
  next.work();
}

void drain() {
  while (enqueued) step();
}

bool busy(const void *stream) { return enqueued && (stream ? (const Stream *)stream : &null_stream)->waiting; }

void put(void *stream, std::function<void()> f) {
  if (int depth = fault_ordered("queue"); depth && enqueued >= (size_t)depth) drain();
  Stream *s = stream ? (Stream *)stream : &null_stream;
  waiting[s->priority].push_back({std::move(f), s});
  s->waiting++, enqueued++;
}

// told is the error of what has run.
int told() {
  if (int code = late) return late = 0, code;
  return ready();
}

// waited is the answer of a call that waits for everything.
int waited() { return drain(), told(); }

// put_launch enqueues it; a refusal is told at once.
int put_launch(void *stream, Launch l) {
  if (l.f) l.ordered = ordered(l.f->kernel->name);
  if (l.ordered == "oom") return report.clear(), failure(l.ordered, l.f->kernel->name);
  put(stream, [l] { run(l); });
  return SUCCESS;
}

int enqueue(void *stream, void *function, const unsigned *g, const unsigned *b, const unsigned *c, unsigned shared, void **params) {
  if (int rc = ready()) return rc;
  Launch l{(Function *)function, {g[0], g[1], g[2]}, {b[0], b[1], b[2]}, shared, {c[0], c[1], c[2]}, {}, "", nullptr, nullptr, 0, nullptr};
  if (!g[0] || !g[1] || !g[2] || !b[0] || !b[1] || !b[2] || b[0] * b[1] * b[2] > 1024 || g[1] > 65535 || g[2] > 65535 ||
      g[0] > 2147483647u || shared > l.f->dynamic_allowed)
    return INVALID_VALUE;
  if (unsigned n = b[0] * b[1] * b[2]; n > l.f->kernel->max_threads) {
    char text[200];
    snprintf(text, sizeof text, "kernel %s: a block of %u threads, its launch bound is %u", l.f->kernel->name, n, l.f->kernel->max_threads);
    return report = text, OUT_OF_RESOURCES;
  }
  l.slots.resize(l.f->kernel->params.size());
  for (size_t i = 0; i < l.slots.size(); i++) memcpy(&l.slots[i], params[i], l.f->kernel->params[i]);
  if (capturing) return capturing->launches.push_back(l), SUCCESS;
  return put_launch(stream, l);
}

void reset() {
  std::lock_guard<std::mutex> hold(lock);
  if (size_t n = allocations.size()) note("left memory " + std::to_string(n));
  for (auto &h : held)
    if (h.second) note("left " + h.first + " " + std::to_string(h.second));
  held.clear();
  for (auto &a : allocations) free((void *)a.first);
  allocations.clear();
  memory_clear();
  used = 0, sticky = late = 0, report.clear(), waiting.clear(), enqueued = 0;
}

} // namespace

// called gives the CUresult that a call shall fail with; 0: it does its work.
int ridge_model::called(const char *name) {
  const int code = call_ordered(name);
  if (!code) return SUCCESS;
  std::lock_guard<std::mutex> hold(lock);
  report.clear();
  if (keeps(code) && primary) sticky = code; // of the context, where there is one
  return code;
}
#define CALL \
  if (int rc_ = called(__func__)) return rc_

API int cuDevicePrimaryCtxRetain(void **c, int d) {
  CALL;
  if (sticky) return sticky;
  if (number("RIDGE_FAKE_LOST", -1) == d) return 46;
  return primary++, *c = &primary_context, SUCCESS;
}
API int cuDevicePrimaryCtxReset_v2(int) { return reset(), SUCCESS; }
API int cuDevicePrimaryCtxRelease_v2(int) {
  // Whatever the last call of a context gives: what it held is gone with it.
  const int rc = called(__func__);
  if (--primary <= 0) reset();
  return rc;
}
API int cuCtxSetCurrent(void *c) { CALL; return current = c, SUCCESS; }
API int cuCtxGetCurrent(void **c) { CALL; return *c = current, SUCCESS; }
API int cuCtxSynchronize(void) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  return waited();
}
API int cuModuleLoadData(void **m, const void *image) {
  CALL;
  if (int rc = ready()) return rc;
  unsigned magic = *(const unsigned *)image; // of a fat binary
  if (magic != 0xba55ed50) return 200;
  return held["module"]++, *m = malloc(1), SUCCESS;
}
API int cuModuleUnload(void *m) { CALL; return held["module"]--, free(m), SUCCESS; }
API int cuModuleGetFunction(void **f, void *, const char *name) {
  CALL;
  const Kernel *k = find(name);
  if (!k) return NOT_FOUND;
  return *f = new Function{k}, SUCCESS;
}
API int cuFuncSetAttribute(void *f, int what, int v) {
  CALL;
  if (what != 8 || v > 232448) return INVALID_VALUE;
  return ((Function *)f)->dynamic_allowed = (unsigned)v, SUCCESS;
}
API int cuFuncGetAttribute(int *v, int what, void *f) { CALL; return *v = what == 0 ? (int)((Function *)f)->kernel->max_threads : 0, SUCCESS; }

API int cuMemAlloc_v2(Pointer *p, size_t n) {
  CALL;
  if (int rc = ready()) return rc;
  std::lock_guard<std::mutex> hold(lock);
  void *mem = nullptr;
  if (n == 0) return INVALID_VALUE;
  if (n > device_memory() - used || posix_memalign(&mem, 512, n)) return OUT_OF_MEMORY;
  used += n, allocations[(Pointer)mem] = n;
  memory_add(mem, n);
  return *p = (Pointer)mem, SUCCESS;
}
API int cuMemFree_v2(Pointer p) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = waited()) return rc;
  auto it = allocations.find(p);
  if (it == allocations.end()) return INVALID_VALUE;
  used -= it->second;
  allocations.erase(it);
  memory_remove((void *)p);
  return free((void *)p), SUCCESS;
}
API int cuMemGetInfo_v2(size_t *left, size_t *total) { CALL; return *total = device_memory(), *left = device_memory() - used, ready(); }
// Kernels reach page-locked memory at its address; the host writes it unseen.
API int cuMemHostAlloc(void **p, size_t n, unsigned) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  if (posix_memalign(p, 4096, n)) return OUT_OF_MEMORY;
  memory_add(*p, n);
  memory_written(*p, n);
  held["page-locked memory"]++;
  return SUCCESS;
}
API int cuMemFreeHost(void *p) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  drain();
  memory_remove(p);
  held["page-locked memory"]--;
  return free(p), SUCCESS;
}

namespace {
int move(void *dst, const void *src, size_t n, const void *device) {
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = waited()) return rc;
  if (n && !memory_at(device, n)) return INVALID_VALUE;
  memmove(dst, src, n);
  return SUCCESS;
}
int set(Pointer p, const void *v, size_t size, size_t n) {
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = waited()) return rc;
  if (n && !memory_at((void *)p, n * size)) return INVALID_VALUE;
  for (size_t i = 0; i < n; i++) memcpy((char *)p + i * size, v, size);
  if (n) memory_written((void *)p, n * size);
  return SUCCESS;
}
} // namespace

API int cuMemcpyDtoH_v2(void *d, Pointer s, size_t n) { CALL; return move(d, (void *)s, n, (void *)s); }
API int cuMemcpyHtoD_v2(Pointer d, const void *s, size_t n) {
  CALL;
  int rc = move((void *)d, s, n, (void *)d);
  if (!rc) memory_written((void *)d, n);
  return rc;
}
namespace {
// copies puts a copy into the stream, or into the graph that is recorded: both ends are memory that the driver knows.
int copies(void *stream, void *to, const void *from, size_t n) {
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = ready()) return rc;
  if (!n || !memory_at(to, n) || !memory_at(from, n)) return INVALID_VALUE;
  Launch l{};
  l.to = to, l.from = from, l.bytes = n;
  if (capturing) return capturing->launches.push_back(l), SUCCESS;
  return put_launch(stream, l);
}
} // namespace
API int cuMemcpyHtoDAsync_v2(Pointer d, const void *s, size_t n, void *stream) { CALL; return copies(stream, (void *)d, s, n); }
API int cuMemcpyDtoHAsync_v2(void *d, Pointer s, size_t n, void *stream) { CALL; return copies(stream, d, (void *)s, n); }
API int cuMemsetD8_v2(Pointer p, unsigned char v, size_t n) { CALL; return set(p, &v, 1, n); }
API int cuMemsetD8Async(Pointer p, unsigned char v, size_t n, void *) { CALL; return set(p, &v, 1, n); }

API int cuStreamCreate(void **s, unsigned) { CALL; return held["stream"]++, *s = new Stream{0}, SUCCESS; }
API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CALL;
  return *least = 0, *greatest = (int)number("RIDGE_FAKE_PRIORITY", -5), SUCCESS;
}
API int cuStreamCreateWithPriority(void **s, unsigned, int priority) {
  CALL;
  return held["stream"]++, *s = new Stream{priority}, SUCCESS;
}
API int cuStreamDestroy_v2(void *s) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  drain();
  held["stream"]--;
  return delete (Stream *)s, SUCCESS;
}
API int cuStreamSynchronize(void *s) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  while (busy(s)) step();
  return told();
}
API int cuStreamQuery(void *s) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  return busy(s) ? NOT_READY : told();
}
API int cuStreamBeginCapture_v2(void *, int) { CALL; return capturing = new Graph, SUCCESS; }
API int cuStreamEndCapture(void *, void **g) { // it ends the capture also where it fails
  const int rc = called(__func__);
  if (rc) delete capturing;
  if (!rc) held["graph"]++, *g = capturing;
  return capturing = nullptr, rc;
}
API int cuGraphInstantiateWithFlags(void **e, void *g, unsigned long long) {
  CALL;
  if (fault_ordered("graph")) return NOT_SUPPORTED;
  return held["executable graph"]++, *e = new Graph(*(Graph *)g), SUCCESS;
}
API int cuGraphUpload(void *, void *) { CALL; return ready(); }
API int cuGraphDestroy(void *g) { CALL; return held["graph"]--, delete (Graph *)g, SUCCESS; }
API int cuGraphExecDestroy(void *g) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  return drain(), held["executable graph"]--, delete (Graph *)g, SUCCESS;
}
// What libraries of the tests use in place of kernels of their own: a function that runs when the stream comes to it, and what it has written.
API int cuLaunchHostFunc(void *stream, void (*f)(void *), void *p) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = ready()) return rc;
  Launch l{};
  l.host = f, l.to = p;
  if (capturing) return capturing->launches.push_back(l), SUCCESS;
  return put_launch(stream, l);
}
API void ridge_fake_written(void *p, size_t n) { memory_written(p, n); }

API int cuGraphLaunch(void *g, void *stream) { CALL; // one operation of the queue
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = ready()) return rc;
  std::vector<Launch> all = ((Graph *)g)->launches;
  int copies = 0;
  for (Launch &l : all) {
    copies += !l.f && !l.host;
    if (l.f && (l.ordered = ordered(l.f->kernel->name)) == "oom") return report.clear(), failure(l.ordered, l.f->kernel->name);
  }
  put(stream, [all] {
    for (const Launch &l : all) run(l);
  });
  if (int most = fault_ordered("copies"); most && copies > most) drain();
  return SUCCESS;
}

API int cuEventCreate(Event **e, unsigned) { CALL; return held["event"]++, *e = (Event *)calloc(1, sizeof **e), SUCCESS; }
API int cuEventDestroy_v2(Event *e) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  return drain(), held["event"]--, free(e), SUCCESS;
}
API int cuEventRecord(Event *e, void *stream) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  if (int rc = ready()) return rc;
  static int recorded;
  const int fault = fault_ordered("event");
  const bool early = fault && ++recorded == fault;
  e->recorded = true, e->done = false;
  put(stream, [e, early] {
    clock_gettime(CLOCK_MONOTONIC, &e->at);
    e->at.tv_sec -= early, e->done = true;
  });
  return SUCCESS;
}
API int cuEventSynchronize(Event *e) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  while (e->recorded && !e->done && enqueued) step();
  return told();
}
API int cuEventElapsedTime(float *ms, Event *a, Event *b) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  if (!a->recorded || !b->recorded) return INVALID_HANDLE;
  if (!a->done || !b->done) return NOT_READY;
  *ms = (float)((double)(b->at.tv_sec - a->at.tv_sec) * 1e3 + (double)(b->at.tv_nsec - a->at.tv_nsec) * 1e-6);
  return SUCCESS;
}
API int cuEventElapsedTime_v2(float *ms, Event *a, Event *b) { return cuEventElapsedTime(ms, a, b); }

API int cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                       void **params, void **) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  const unsigned g[3] = {gx, gy, gz}, b[3] = {bx, by, bz}, c[3] = {1, 1, 1};
  return enqueue(stream, f, g, b, c, shared, params);
}

// CUlaunchConfig and CUlaunchAttribute as cuda.h lays them out. Clusters are refused as the driver refuses them: at most 8 blocks, which divide the grid.
struct Attribute {
  int id, pad;
  union {
    char bytes[64];
    unsigned cluster[3];
  } value;
};
struct Config {
  unsigned grid[3], block[3], shared;
  void *stream;
  Attribute *attrs;
  unsigned n;
};
API int cuLaunchKernelEx(const Config *c, void *f, void **params, void **) {
  CALL;
  std::lock_guard<std::mutex> hold(lock);
  unsigned cluster[3] = {1, 1, 1};
  for (unsigned i = 0; i < c->n; i++) {
    if (c->attrs[i].id != 4) continue;
    unsigned blocks = 1;
    for (int d = 0; d < 3; d++) {
      cluster[d] = c->attrs[i].value.cluster[d], blocks *= cluster[d];
      if (!cluster[d] || c->grid[d] % cluster[d]) return INVALID_VALUE;
    }
    if (blocks > 8) return INVALID_CLUSTER_SIZE;
  }
  return enqueue(c->stream, f, c->grid, c->block, cluster, c->shared, params);
}
