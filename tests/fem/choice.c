/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The way of assembly that auto takes (FemChooseAssembly). Where arrays have a device's memory, it is that of
  the device as long as triplets fit there. Meshes of any size are only told of: nothing is assembled.
*/
#include "../../examples/fem/program.h"
#include <inttypes.h>

/* The way that is taken on this device must be `must`. */
static PoiseErr Expect(const FemMesh *mesh, int components, FemAssembly asked, int formula, FemAssembly must)
{
  FemAssembly how;
  POISE_TRY(FemChooseAssembly(mesh, components, asked, formula, &how));
  if (how == must) return POISE_OK;
  POISE_FAIL(POISE_ERR_NUMERIC,
             "%" PRId64 " cells, %d components, way %d was asked for, formula %d: took way %d, must be %d",
             mesh->cells, components, asked, formula, how, must);
}

/* Has the device memory of its own? */
static PoiseErr Apart(PoiseContext ctx, int *apart)
{
  PoiseVec x = NULL;
  PoiseBytes bytes = {0};
  PoiseErr err = PoiseVecCreate(ctx, 1, PoiseSize(ctx), &x);
  if (err == POISE_OK) err = PoiseVecSet(x, 1);
  if (err == POISE_OK) err = PoiseVecToDevice(x);
  if (err == POISE_OK) err = PoiseVecBytes(x, &bytes);
  PoiseVecDestroy(&x);
  *apart = bytes.device > 0;
  return err;
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  int apart;
  int64_t left;
  (void)arg;
  POISE_TRY(Apart(ctx, &apart));
  POISE_TRY(PoiseDeviceMemory(ctx, &left, NULL));
  /* Of 64 triplets a cell, each at least has two indices, and 24 bytes while these are sorted. */
  const PoiseInt most = (PoiseInt)((double)left / (64 * 40)), few = most / 16;
  FemMesh mesh = {.ctx = ctx, .dim = 3, .cell = FEM_HEX8, .allNodes = 1000, .cells = few};
  POISE_TRY(Expect(&mesh, 1, FEM_AUTO, 1, apart ? FEM_DEVICE : FEM_ELEMENTS));
  POISE_TRY(Expect(&mesh, 3, FEM_AUTO, 1, FEM_BLOCKS));
  POISE_TRY(Expect(&mesh, 3, FEM_AUTO, 0, FEM_ELEMENTS));
  for (int asked = FEM_ELEMENTS; asked <= FEM_BLOCKS; asked++)
    POISE_TRY(Expect(&mesh, 3, (FemAssembly)asked, 0, (FemAssembly)asked));
  mesh.cells = PoiseRank(ctx) == 0 ? most + most / 4 : 0; /* too many for one rank: all take another way */
  POISE_TRY(Expect(&mesh, 1, FEM_AUTO, 1, FEM_ELEMENTS));
  mesh.cells = most / 9 * 5; /* of three components a triplet has its place and 72 bytes of values */
  POISE_TRY(Expect(&mesh, 3, FEM_AUTO, 1, apart ? FEM_ELEMENTS : FEM_BLOCKS));
  POISE_TRY(Expect(&mesh, 3, FEM_DEVICE, 1, FEM_DEVICE)); /* as the user wants it */
  mesh.cells = few;
  mesh.allNodes = (PoiseInt)1 << 31;
  POISE_TRY(Expect(&mesh, 3, FEM_AUTO, 1, FEM_ELEMENTS));
  return PoisePrintf(ctx, "All ways are right.\n");
}

int main(int argc, char **argv)
{
  static const PoiseOption none[] = {{0}};
  return FemMain(argc, argv, "The way of assembly that auto takes.", none, Run);
}
