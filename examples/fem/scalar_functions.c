/* SPDX-License-Identifier: BSD-3-Clause */
/*
  EDIT HERE: data of poisson, heat and convection that depend on x.

  Each function gets what -material, -boundary or -initial say, and may change it. As they are, all change
  nothing. Several threads call them at once, for each point of integration or node. Balance and range are
  judged with what they return. An example is in docs/guide.md.
*/
#include "scalar.h"
#include <string.h>

/* Conductivity, source, capacity and velocity at x in a cell of this group. */
void FemMaterialOf(const char *group, const double x[3], FemMaterial *data)
{
  (void)group;
  (void)x;
  (void)data;
}

/* Value, flux, transfer and outside at x on a facet of this group. A value matters only where -boundary gives
   one for the group. */
void FemBoundaryOf(const char *group, const double x[3], FemBoundary *data)
{
  (void)group;
  (void)x;
  (void)data;
}

/* u at time 0. */
void FemInitialOf(const double x[3], double *u)
{
  (void)x;
  (void)u;
}
