/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Solutions in time on a small mesh, written by examples/fem/output.c, for tests/fem/output.sh, which reads
  them. The names of files, fields and groups have letters that XML must not have.
*/
#include "../../examples/fem/program.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Settings {
  PoiseInt steps;
  char output[POISE_OPTION_LENGTH];
} Settings;

static const PoiseOption options[] = {
    {"steps", POISE_OPTION_INT, offsetof(Settings, steps), "3", 0, 100, NULL, "moments to write"},
    {"output", POISE_OPTION_STRING, offsetof(Settings, output), "", 0, 0, NULL, "name of the files"},
    {0}};

static PoiseErr WriteMoment(const FemMesh *mesh, const char *output, PoiseInt step, double *u,
                            FemSeries *series)
{
  char name[POISE_OPTION_LENGTH + 32];
  const FemField field = {"u <\"&\"> [K]", 1, 0, u};
  for (PoiseInt i = 0; i < mesh->nodes; i++) u[i] = (double)step * mesh->x[3 * i];
  snprintf(name, sizeof name, "%s_%04" PRId64, output, step);
  POISE_TRY(FemWriteMesh(mesh, name, 1, &field));
  return FemWriteSeries(mesh->ctx, series, output, 0.25 * (double)step, name);
}

static PoiseErr Run(PoiseContext ctx, void *arg)
{
  Settings set;
  FemMesh mesh = {.ctx = ctx};
  FemSeries series = {.count = 0};
  double *u = NULL;
  const FemBox box = {.cell = FEM_QUAD4, .n = {3, 3, 3}, .length = {1, 1, 1}};
  (void)arg;
  POISE_TRY(PoiseOptionsDefaults(options, &set));
  POISE_TRY(PoiseOptionsRead(ctx, NULL, options, &set));
  PoiseErr err = FemMeshBox(ctx, &box, &mesh);
  for (int g = 0; g < mesh.groups && err == POISE_OK; g++)
    if (mesh.group[g].dim == mesh.dim)
      snprintf(mesh.group[g].name, sizeof mesh.group[g].name, "%s", "<\"body\" & soul>");
  if (err == POISE_OK) err = PoiseAgree(ctx, FemAlloc(mesh.nodes, sizeof *u, &u));
  for (PoiseInt step = 1; step <= set.steps && err == POISE_OK; step++)
    err = WriteMoment(&mesh, set.output, step, u, &series);
  free(u);
  FemSeriesFree(&series);
  FemMeshFree(&mesh);
  return err;
}

int main(int argc, char **argv)
{
  return FemMain(argc, argv, "Solutions in time, for a test.", options, Run);
}
