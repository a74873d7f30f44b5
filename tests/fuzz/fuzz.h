/* SPDX-License-Identifier: BSD-3-Clause */
/*
  A fuzz target is one file with FuzzOne. It takes any bytes as input, and aborts when a promise is broken.
  libFuzzer makes inputs (cmake --preset fuzz). Every build also links it with replay.c, which runs the inputs
  in the folder of its name: seeds, and inputs found earlier.
*/
#ifndef POISE_FUZZ_H
#define POISE_FUZZ_H

#include "mat/object/mat.h"

#define FuzzOne LLVMFuzzerTestOneInput /* as libFuzzer calls it */
int FuzzOne(const uint8_t *data, size_t size);

/* Must hold, whatever the input. */
#define DEMAND(cond)                                    \
  do {                                                  \
    if (!(cond)) FuzzBroken(#cond, __FILE__, __LINE__); \
  } while (0)
_Noreturn void FuzzBroken(const char *promise, const char *file, int line);

/* One rank on the host; the same in every call. Nothing goes to a terminal. */
PoiseContext FuzzContext(void);
/* Around what an input causes: in the end the context holds what it held. */
void FuzzBegin(void);
void FuzzNothingLeft(void);
/* The path of a file of this process for scratch, kept until the process ends. */
const char *FuzzFile(const char *name);
void FuzzWrite(const char *path, const void *data, size_t size);

/* Saved there and loaded again, it has the same sizes and bits. Destroys it. */
void FuzzMatrixStays(PoiseMat *A, const char *path);
void FuzzVectorStays(PoiseVec *x, const char *path);

#endif
