/* SPDX-License-Identifier: BSD-3-Clause */
/* Where matrices of cells are computed: on the host, or by kernels on a GPU. */
#ifndef FEM_DEVICE_H
#define FEM_DEVICE_H

#include "cells.h"

/* Functions return NULL, or what went wrong. Work is done in the order of the stream (PoiseStream). */
typedef struct FemPlace {
  /* *array = memory there */
  const char *(*alloc)(size_t bytes, void *array);
  /* after the work before it */
  void (*release)(void *array);
  /* from the host, or back to it */
  const char *(*copy)(void *to, const void *from, size_t bytes, int back, void *stream);
  const char *(*triplets)(const FemWork *work, void *stream);
  const char *(*values)(const FemWork *work, void *stream);
} FemPlace;

#ifdef __cplusplus
extern "C" const FemPlace femCuda;
#else
extern const FemPlace femHost, femCuda; /* the latter in a build with CUDA */
#endif

#endif
