// An adapter for the tests: a product that keeps its result to itself until it is asked to
// finish. FAULT 1 leaves one element wrong, FAULT 2 writes behind the output.
#include "peer.h"
#include "ridge_gemm.h"

static const ridge_gemm_args *last;
static float own[64 * 64];
static const char *state = "started";

static int product(const void *args, const ridge_ctx *ctx) {
  const ridge_gemm_args *a = last = args;
  const float *A = a->A, *B = a->B;
  for (int64_t m = 0; m < a->M; m++)
    for (int64_t n = 0; n < a->N; n++) {
      float s = 0;
      for (int64_t k = 0; k < a->K; k++) s += A[m * a->lda + k] * B[k * a->ldb + n];
      own[m * a->N + n] = s;
    }
  if (FAULT == 1) own[a->M * a->N - 1] += 1;
  return RIDGE_OK;
}

static const ridge_kernel table[] = {PEER_KERNEL("plain", "gemm", "fp32", "fp32", 1, product, NULL)};

const ridge_kernel *ridge_peer_table(int *n) { return *n = 1, table; }
const char *ridge_peer_version(void) { return "test peer"; }
const char *ridge_peer_path(void) { return state; }
void ridge_peer_threads(int n, const int *cpus) {}
void ridge_peer_refilled(void) {}
void ridge_peer_finish(void) {
  if (!last) return;
  for (int64_t m = 0; m < last->M; m++)
    memcpy((float *)last->C + m * last->ldc, own + m * last->N, (size_t)last->N * sizeof *own);
  if (FAULT == 2) ((float *)last->C)[last->M * last->ldc] = 0;
  state = "finished";
}
void ridge_peer_release(void) { last = NULL; }
