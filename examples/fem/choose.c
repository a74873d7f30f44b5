/* SPDX-License-Identifier: BSD-3-Clause */
/* The way of assembly that -assembly auto takes. */
#include "assemble.h"
#include <string.h>

/* The device that plays a GPU. */
static int IsMock(PoiseContext ctx)
{
  const char *device;
  return PoiseOptionsHas(ctx, NULL, "device", &device) && strcmp(device, "mock") == 0;
}

/*
  Bound of the device's memory in use at once. Each triplet has two indices, and at most 32 bytes of their
  set-up (PoiseMatSetPatternDeviceCOO). Then it has its values, and at most as many in the matrix.
*/
static double Bytes(const FemMesh *mesh, int components)
{
  const double nodes = FemCellInfoOf(mesh->cell)->nodes, triplets = (double)mesh->cells * nodes * nodes;
  return triplets * (2 * 8 + 32 + 2 * 8.0 * components * components);
}

/* On all ranks. */
static PoiseErr Fits(const FemMesh *mesh, int components, int *fits)
{
  int64_t left = 0;
  POISE_TRY(PoiseAgree(mesh->ctx, PoiseDeviceMemory(mesh->ctx, &left, NULL)));
  double lacks = Bytes(mesh, components) > (double)left;
  POISE_TRY(PoiseMax(mesh->ctx, 1, &lacks));
  *fits = lacks == 0;
  return POISE_OK;
}

PoiseErr FemChooseAssembly(const FemMesh *mesh, int components, FemAssembly asked, int formula,
                           FemAssembly *how)
{
  const int mock = IsMock(mesh->ctx), gpu = FemOperatorOnGpu(mesh->ctx) || mock;
  int can = formula && (gpu || components > 1) && mesh->allNodes <= INT32_MAX;
  *how = asked;
  if (asked != FEM_AUTO) return POISE_OK;
  if (can && (mock || PoiseStream(mesh->ctx) != NULL)) POISE_TRY(Fits(mesh, components, &can));
  *how = !can ? FEM_ELEMENTS : components > 1 ? FEM_BLOCKS : FEM_DEVICE;
  return POISE_OK;
}
