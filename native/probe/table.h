#ifndef RIDGE_PROBE_TABLE_H
#define RIDGE_PROBE_TABLE_H
#include "../include/ridge_probe.h"

const ridge_kernel *ridge_probe_table(void);
int ridge_probe_table_len(void);

// Predicates: the arguments ask for this instruction set.
int ridge_peak_is_portable(const void *args);
int ridge_peak_is_sse2(const void *args);
int ridge_peak_is_avx2(const void *args);
int ridge_peak_is_avx512(const void *args);
int ridge_peak_is_avx512fp16(const void *args);
int ridge_peak_is_avx512bf16(const void *args);
int ridge_peak_is_avx512vnni(const void *args);
int ridge_peak_is_avxvnni(const void *args);
int ridge_peak_is_amx(const void *args);
int ridge_peak_is_neon(const void *args);
int ridge_peak_is_dotprod(const void *args);
int ridge_peak_is_bf16arm(const void *args);
int ridge_peak_is_i8mm(const void *args);
int ridge_peak_is_sve(const void *args); // and for this machine's vector length

// SVE vector length in bits; only where the machine has SVE.
int32_t ridge_sve_bits(void);
#endif
