/* SPDX-License-Identifier: BSD-3-Clause */
/* The products of others that cpu_blocks measures, in the same process on the same ranks. */
#ifndef CPU_BLOCKS_H
#define CPU_BLOCKS_H

#include "common/blocks.h"

typedef struct Other {
  const char *name;
  bool blocks;  /* it keeps blocks, else CSR: so its bytes are counted */
  bool ranks;   /* it works on several */
  bool threads; /* it uses those of a rank */
  /* A matrix from this rank's rows and the same in blocks, which both stay; x is this rank's part. false:
     failed, with a line on stderr. */
  bool (*create)(const Rows *rows, const Blocks *blocks, const double *x);
  bool (*mult)(void);
  bool (*result)(double *y); /* this rank's part of the last product */
  void (*destroy)(void);
} Other;

extern const Other other_aij, other_baij, other_eigen;

/* Before and after everything else: PETSc's own. */
bool StartPetsc(void);
void StopPetsc(void);

#endif
