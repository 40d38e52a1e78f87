// Kernels of other makers' libraries, opened at run time (dlopen): nothing here links with them,
// and no header of theirs is needed. What ridge uses of each C interface is declared in onednn.h
// and mkl.h, with where the numbers come from; a library of another major version is refused.
//
// A library has threads of its own. A program with one of its kernels therefore runs away from
// ridge's team, which sleeps meanwhile: one leader thread calls the library, and ridge's own
// kernels of the same program (bias, activation) run in a parallel region of the library's
// OpenMP runtime, on the library's threads. So one pool works at a time, and no step of a program
// wakes another pool.
#ifndef RIDGE_VENDOR_H
#define RIDGE_VENDOR_H

#include "ridge.h"

#define RIDGE_VENDOR_THREADS 4096 // as many as a team may have

// The OpenMP runtime that a library brought along, by the interface that gcc's code calls and
// that libgomp, libomp and libiomp5 all have.
typedef struct ridge_vendor_pool {
  int n;
  const int *cpus; // where thread i is pinned; < 0: not
  int *tids;       // of the threads, after ridge_vendor_pin
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned); // GOMP_parallel; NULL: one thread, no runtime
  int (*thread_num)(void);
  int (*num_threads)(void);
  void (*barrier)(void);
  void (*set_num_threads)(int);
} ridge_vendor_pool;

// What a library's kernel is asked for. It is called by the leader alone.
enum {
  RIDGE_VENDOR_RUN,
  RIDGE_VENDOR_PREPARE, // make primitives and buffers, read no operand
  RIDGE_VENDOR_REFILL,  // the inputs have changed: pack the weights anew
};

// A library's kernel returns this when a call failed; the state's text says which and how.
enum { RIDGE_VENDOR_E_CALL = 16 };

// What a library's kernel keeps from call to call; a kernel finds it as its workspace.
typedef struct ridge_vendor_state {
  int what; // RIDGE_VENDOR_...
  void *p;  // the kernel's own
  void (*release)(void *p);
  char text[192]; // after PREPARE: the code path, or why there is none; after a failed call: what failed
} ridge_vendor_state;

// One step of a program: a library's kernel, or one of ridge's own for the library's threads.
typedef struct ridge_vendor_step {
  ridge_kernel_fn fn;
  const void *args;
  void *workspace; // of ridge's own kernel
  int64_t workspace_bytes;
  const ridge_vendor_pool *pool;
  int library; // 1: fn is the library's
  int status;  // of the last call; of ridge's own kernel, any thread's
  ridge_vendor_state state;
} ridge_vendor_step;

// ridge_kernel_fn of the leader; args is a ridge_vendor_step.
int ridge_vendor_call(const void *step, const ridge_ctx *leader);
int ridge_vendor_prepare(const void *step, const ridge_ctx *leader);
int ridge_vendor_refill(const void *step, const ridge_ctx *leader);
void ridge_vendor_release(ridge_vendor_step *step);
// ridge_kernel_fn of the leader; args is the pool: makes the library's threads, pins each and
// notes who they are.
int ridge_vendor_pin(const void *pool, const ridge_ctx *leader);
// Waits until no thread of the pool but the leader runs, at most so long; returns how many still do.
int ridge_vendor_quiet(const ridge_vendor_pool *pool, int64_t ns);

// Finds functions in an opened library and what it depends on: names[i] to to[i]. Returns the
// first that is missing, or NULL.
const char *ridge_vendor_symbols(void *handle, const char *const *names, void **to, int n);
// Finds the pool's functions in a library and what it depends on; 0 or -1.
int ridge_vendor_runtime(void *handle, ridge_vendor_pool *pool);

// Takes an opened libdnnl or libmkl_rt into use for n threads. 0, or -1 with the reason in
// text; on success text is the version.
int ridge_onednn_open(void *handle, int n, ridge_vendor_pool *pool, char *text, size_t bytes);
int ridge_mkl_open(void *handle, int n, int layer, ridge_vendor_pool *pool, char *text, size_t bytes);
// Of MKL's threading layer, as MKL_Set_Threading_Layer numbers them (mkl_service.h of 2021 to 2026).
enum { RIDGE_MKL_INTEL = 0, RIDGE_MKL_SEQUENTIAL = 1, RIDGE_MKL_GNU = 3 };

const ridge_kernel *ridge_onednn_table(int *n);
const ridge_kernel *ridge_mkl_table(int *n);

#endif
