/* SPDX-License-Identifier: BSD-3-Clause */
/* What Poise has of HPCG's problem. */
#ifndef BENCH_HPCG_STATE_HPP
#define BENCH_HPCG_STATE_HPP

#include <poise.h>
#include <vector>
#include "SparseMatrix.hpp"
#include "rows.h"

struct State {
  PoiseContext ctx;
  std::vector<PoiseMat> level; /* the finest first */
  PoisePC mg, sor;
  int vectors; /* that have a PoiseVec */
};
extern State state;

/* Ends the program with Poise's message. */
void Check(PoiseErr e);
/* |r| / |r0| after the reference iterations, or NULL: they are made. */
const char *KnownResidual();
Box BoxOf(const Geometry &g);
/* v's numbers, owned ones, for a call of the library. */
PoiseVec Given(const Vector &v);

#endif
