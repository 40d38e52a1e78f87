//go:build cuda && linux && cgo

// What gorgonia.org/cu lacks: error texts, function attributes, launches with clusters, graphs,
// page-locked memory, tensor maps, and the timed loop, in which no Go may run.
#include <cuda.h>
#include <pthread.h>
#include <stddef.h>
#include <time.h>

#include "driver.h"

#define TRY(call)                          \
  do {                                     \
    CUresult rc_ = (call);                 \
    if (rc_ != CUDA_SUCCESS) return rc_;   \
  } while (0)

const char *ridge_error_name(int rc) {
  const char *s = NULL;
  return cuGetErrorName((CUresult)rc, &s) == CUDA_SUCCESS && s ? s : "unknown CUDA error";
}

const char *ridge_error_string(int rc) {
  const char *s = NULL;
  return cuGetErrorString((CUresult)rc, &s) == CUDA_SUCCESS && s ? s : "the driver has no text for it";
}

int ridge_allow_shared(void *function, uint32_t bytes) {
  return cuFuncSetAttribute((CUfunction)function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
}

static CUresult launch(CUstream stream, const ridge_launch *l) {
  if (l->copy == RIDGE_TO_DEVICE) return cuMemcpyHtoDAsync(l->to, (const void *)(uintptr_t)l->from, l->bytes, stream);
  if (l->copy == RIDGE_TO_HOST) return cuMemcpyDtoHAsync((void *)(uintptr_t)l->to, l->from, l->bytes, stream);
  const uint32_t *g = l->grid, *b = l->block, *c = l->cluster;
  if ((uint64_t)c[0] * c[1] * c[2] <= 1)
    return cuLaunchKernel((CUfunction)l->function, g[0], g[1], g[2], b[0], b[1], b[2], l->shared, stream, l->params, NULL);
  CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
  cluster.value.clusterDim.x = c[0], cluster.value.clusterDim.y = c[1], cluster.value.clusterDim.z = c[2];
  CUlaunchConfig config = {.gridDimX = g[0], .gridDimY = g[1], .gridDimZ = g[2], .blockDimX = b[0], .blockDimY = b[1],
                           .blockDimZ = b[2], .sharedMemBytes = l->shared, .hStream = stream, .attrs = &cluster, .numAttrs = 1};
  return cuLaunchKernelEx(&config, (CUfunction)l->function, l->params, NULL);
}

static CUresult launch_set(CUstream stream, const ridge_launch *list, int per_set, int64_t set) {
  for (int i = 0; i < per_set; i++) TRY(launch(stream, &list[set * per_set + i]));
  return CUDA_SUCCESS;
}

int ridge_run(void *stream, const ridge_launch *list, int per_set, int n) {
  for (int i = 0; i < n; i++) TRY(launch_set((CUstream)stream, list, per_set, 0));
  return cuStreamSynchronize((CUstream)stream);
}

static int64_t monotonic(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void open_gate(ridge_timing *t) {
  if (!t->gate || t->anchor) return;
  __atomic_store_n(t->door, t->ticket, __ATOMIC_SEQ_CST);
  t->anchor = monotonic();
  t->behind = t->operations;
}

// enqueues counts operations before they are enqueued. A driver takes no more than its queue holds while the device stands still, so
// the gate opens before that. A graph of kernels is one operation; each copy in a graph takes its own place in the queue of a copy engine
// (H200, driver 580: 1020 launches or copies behind a closed gate, also copies of graphs, and 55 events).
static void enqueues(ridge_timing *t, int n) {
  if (t->operations + n > t->ahead) open_gate(t);
  t->operations += n;
}

static int operations_of_graph(const ridge_launch *set, int per_set, int launches) {
  int copies = 0;
  for (int i = 0; i < per_set; i++) copies += set[i].copy != RIDGE_NO_COPY;
  return copies ? copies * launches : 1;
}

static CUresult fill_queue(CUstream s, const ridge_launch *list, int per_set, int sets, ridge_timing *t) {
  int64_t next = t->first;
  const int replayed = operations_of_graph(list, per_set, t->launches); // the lead's graph is a sample's
  if (t->gate) TRY(launch(s, t->gate));
  enqueues(t, 1);
  TRY(cuEventRecord((CUevent)t->events[0], s));
  if (t->graphs && t->graphs[0]) {
    enqueues(t, replayed);
    TRY(cuGraphLaunch((CUgraphExec)t->graphs[0], s));
  } else {
    for (int i = 0; i < t->lead; i++) {
      enqueues(t, per_set);
      TRY(launch_set(s, list, per_set, next++ % sets));
    }
  }
  enqueues(t, 1);
  TRY(cuEventRecord((CUevent)t->events[1], s));
  for (int k = 0; k < t->samples; k++) {
    if (t->graphs) {
      enqueues(t, replayed);
      TRY(cuGraphLaunch((CUgraphExec)t->graphs[k + 1], s));
    } else {
      for (int i = 0; i < t->launches; i++) {
        enqueues(t, per_set);
        TRY(launch_set(s, list, per_set, next++ % sets));
      }
    }
    enqueues(t, 1);
    TRY(cuEventRecord((CUevent)t->events[k + 2], s));
  }
  return CUDA_SUCCESS;
}

// Batches follow each other without a gap: batch i lies between events i + 1 and i + 2. The lead, between the first two, brings the
// device to the state that the batches have (caches, clock).
int ridge_measure(void *stream, const ridge_launch *list, int per_set, int sets, ridge_timing *t) {
  CUstream s = (CUstream)stream;
  t->anchor = t->end = t->operations = t->behind = t->gave_up = 0;
  CUresult rc = fill_queue(s, list, per_set, sets, t);
  open_gate(t); // also when something failed: nothing may be left waiting
  if (rc != CUDA_SUCCESS) {
    cuStreamSynchronize(s); // the first error is the one to tell
    return rc;
  }
  TRY(cuEventSynchronize((CUevent)t->events[t->samples + 1]));
  t->end = monotonic();
  for (int k = 0; k <= t->samples; k++) {
    float ms;
    TRY(cuEventElapsedTime(&ms, (CUevent)t->events[k], (CUevent)t->events[k + 1]));
    *(k ? &t->ns[k - 1] : &t->lead_ns) = (double)ms * 1e6;
  }
  TRY(cuStreamSynchronize(s)); // an error that came after the last event
  if (t->gate) t->gave_up = __atomic_load_n(t->door + 1, __ATOMIC_SEQ_CST) != t->ticket;
  return CUDA_SUCCESS;
}

// The wait for the resident kernel's end lies on a thread of its own, so that an error is told while the host hands over; it sleeps.
struct end {
  CUcontext context;
  CUevent event;
  int rc, done;
};

static void *await(void *p) {
  struct end *e = p;
  int rc = cuCtxSetCurrent(e->context);
  if (rc == CUDA_SUCCESS) rc = cuEventSynchronize(e->event);
  e->rc = rc;
  __atomic_store_n(&e->done, 1, __ATOMIC_SEQ_CST);
  return NULL;
}

// hand_over_one gives a task and waits for its answer: 0, or 1 when none came in time or the kernel ended.
static int hand_over_one(ridge_handover *h, struct end *e, uint64_t task) {
  const int64_t start = monotonic();
  __atomic_store_n(&h->door[0], task, __ATOMIC_SEQ_CST);
  for (unsigned turn = 0; __atomic_load_n(&h->door[1], __ATOMIC_SEQ_CST) != task; turn++)
    if (turn % 1024 == 1023 && (__atomic_load_n(&e->done, __ATOMIC_SEQ_CST) || monotonic() - start > h->limit_ns))
      return __atomic_load_n(&h->door[1], __ATOMIC_SEQ_CST) != task;
  return 0;
}

int ridge_hand_over(void *stream, ridge_handover *h) {
  CUstream s = (CUstream)stream;
  struct end e = {0};
  void *event = NULL;
  pthread_t waiter;
  h->gave_up = 0;
  TRY(cuCtxGetCurrent(&e.context));
  TRY(ridge_events(&event, 1));
  e.event = event;
  CUresult rc = launch(s, h->kernel);
  if (rc == CUDA_SUCCESS) rc = cuEventRecord(e.event, s);
  if (rc != CUDA_SUCCESS || pthread_create(&waiter, NULL, await, &e) != 0) {
    if (rc == CUDA_SUCCESS) rc = CUDA_ERROR_OPERATING_SYSTEM;
    cuStreamSynchronize(s); // the kernel gives up by itself; the first error is the one to tell
    ridge_events_free(&event, 1);
    return rc;
  }
  uint64_t task = h->first;
  for (int i = 0; i < h->lead && !h->gave_up; i++) h->gave_up = hand_over_one(h, &e, ++task);
  h->edges[0] = monotonic();
  for (int k = 0; k < h->samples && !h->gave_up; k++) {
    for (int i = 0; i < h->launches && !h->gave_up; i++) h->gave_up = hand_over_one(h, &e, ++task);
    h->edges[k + 1] = monotonic();
  }
  pthread_join(waiter, NULL);
  ridge_events_free(&event, 1);
  return e.rc;
}

static CUresult launch_beside(ridge_beside *b) {
  CUstream low = (CUstream)b->low, high = (CUstream)b->high;
  CUevent begun = (CUevent)b->events[0], from = (CUevent)b->events[1], to = (CUevent)b->events[2];
  TRY(launch(low, &b->fill[0]));
  TRY(cuEventRecord(begun, low));
  for (int i = 0; i < b->fills; i++) TRY(launch(low, &b->fill[1]));
  TRY(cuEventSynchronize(begun)); // what follows finds the device full
  for (int i = 0; i < b->lead; i++) TRY(launch(high, b->kernel));
  TRY(cuEventRecord(from, high));
  for (int i = 0; i < b->launches; i++) TRY(launch(high, b->kernel));
  TRY(cuEventRecord(to, high));
  TRY(cuEventSynchronize(to));
  b->end = monotonic();
  CUresult at_work = cuStreamQuery(low);
  if (at_work != CUDA_ERROR_NOT_READY) TRY(at_work);
  b->full = at_work == CUDA_ERROR_NOT_READY;
  float ms;
  TRY(cuEventElapsedTime(&ms, from, to));
  b->ns = (double)ms * 1e6;
  return CUDA_SUCCESS;
}

int ridge_launch_beside(ridge_beside *b) {
  b->full = 0;
  CUresult rc = launch_beside(b);
  CUresult high = cuStreamSynchronize((CUstream)b->high), low = cuStreamSynchronize((CUstream)b->low); // nothing is left behind
  return rc != CUDA_SUCCESS ? rc : high != CUDA_SUCCESS ? high : low;
}

int ridge_priorities(int *least, int *greatest) { return cuCtxGetStreamPriorityRange(least, greatest); }
int ridge_stream(int priority, void **stream) { return cuStreamCreateWithPriority((CUstream *)stream, CU_STREAM_NON_BLOCKING, priority); }
int ridge_stream_free(void *stream) { return cuStreamDestroy((CUstream)stream); }

int ridge_event_times(void *stream, void **events, int n, double *ns) {
  for (int i = 0; i < n; i++) TRY(cuEventRecord((CUevent)events[i], (CUstream)stream));
  TRY(cuStreamSynchronize((CUstream)stream));
  for (int i = 0; i < n; i++) {
    float ms;
    TRY(cuEventElapsedTime(&ms, (CUevent)events[0], (CUevent)events[i]));
    ns[i] = (double)ms * 1e6;
  }
  return CUDA_SUCCESS;
}

int ridge_events(void **events, int n) {
  for (int i = 0; i < n; i++) {
    CUresult rc = cuEventCreate((CUevent *)&events[i], CU_EVENT_BLOCKING_SYNC); // the host sleeps while the device works
    if (rc != CUDA_SUCCESS) {
      ridge_events_free(events, i);
      return rc;
    }
  }
  return CUDA_SUCCESS;
}

void ridge_events_free(void **events, int n) {
  for (int i = 0; i < n; i++) cuEventDestroy((CUevent)events[i]);
}

int ridge_graph_make(void *stream, const ridge_launch *list, int per_set, int sets, int64_t first, int n, void **exec) {
  CUstream s = (CUstream)stream;
  CUgraph graph = NULL;
  *exec = NULL;
  TRY(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CUresult rc = CUDA_SUCCESS;
  for (int i = 0; i < n && rc == CUDA_SUCCESS; i++) rc = launch_set(s, list, per_set, (first + i) % sets);
  CUresult end = cuStreamEndCapture(s, &graph);
  if (rc == CUDA_SUCCESS) rc = end;
  if (rc == CUDA_SUCCESS) rc = cuGraphInstantiateWithFlags((CUgraphExec *)exec, graph, 0);
  if (graph) cuGraphDestroy(graph);
  if (rc != CUDA_SUCCESS) return rc;
  if ((rc = cuGraphUpload((CUgraphExec)*exec, s)) != CUDA_SUCCESS) { // else the first launch does it, within its time
    cuGraphExecDestroy((CUgraphExec)*exec);
    *exec = NULL;
  }
  return rc;
}

int ridge_graph_run(void *exec, void *stream, int times) {
  for (int i = 0; i < times; i++) TRY(cuGraphLaunch((CUgraphExec)exec, (CUstream)stream));
  return cuStreamSynchronize((CUstream)stream);
}

int ridge_graph_free(void *exec) { return cuGraphExecDestroy((CUgraphExec)exec); }

int ridge_pinned(void **p, uint64_t bytes) { return cuMemHostAlloc(p, bytes, CU_MEMHOSTALLOC_PORTABLE); }
int ridge_pinned_free(void *p) { return cuMemFreeHost(p); }
int ridge_pinned_free_at(uint64_t address) { return cuMemFreeHost((void *)(uintptr_t)address); }

int ridge_tensor_map(void *map, int dtype, int rank, uint64_t address, const uint64_t *dims, const uint64_t *strides,
                     const uint32_t *box, int swizzle, int promotion) {
  const cuuint32_t one[5] = {1, 1, 1, 1, 1};
  return cuTensorMapEncodeTiled((CUtensorMap *)map, (CUtensorMapDataType)dtype, (cuuint32_t)rank, (void *)(uintptr_t)address,
                                (const cuuint64_t *)dims, (const cuuint64_t *)strides, (const cuuint32_t *)box, one,
                                CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle, (CUtensorMapL2promotion)promotion,
                                CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
}
