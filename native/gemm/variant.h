// How a variant file names itself. Compiled normally it is the kernel for its instruction
// set; included by models.c it becomes <name>_model, the same code without the instruction
// set (GNU vectors are lowered by the compiler, special instructions have a definition in
// plain C), so that packing, tails and blocking are proven on any machine.
#ifdef GEMM_MODEL
#define GEMM_KERNEL(name) name##_model
#define GEMM_ON(...)
#else
#define GEMM_KERNEL(name) name
#define GEMM_ON(...) __attribute__((target(__VA_ARGS__)))
#endif
