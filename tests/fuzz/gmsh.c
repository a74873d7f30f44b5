/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes of Gmsh, read by the examples' reader: all numbers of an accepted mesh are in range. */
#include "fuzz.h"

#include "fem/gmsh.h"

static void CheckMesh(const FemMesh *mesh)
{
  const FemCellInfo *info = FemCellInfoOf(mesh->cell);
  DEMAND(mesh->dim == info->dim && mesh->cells > 0 && mesh->cells == mesh->allCells && mesh->firstCell == 0);
  DEMAND(mesh->nodes >= info->nodes && mesh->owned == mesh->nodes && mesh->allNodes == mesh->nodes &&
         mesh->begin == 0);
  for (PoiseInt i = 0; i < mesh->nodes; i++) DEMAND(mesh->global[i] == i);
  for (PoiseInt k = 0; k < mesh->cells * info->nodes; k++)
    DEMAND(mesh->cellNodes[k] >= 0 && mesh->cellNodes[k] < mesh->nodes);
  for (PoiseInt k = 0; k < mesh->facets * info->facetNodes; k++) {
    DEMAND(mesh->facetNodes[k] >= 0 && mesh->facetNodes[k] < mesh->nodes);
  }
  for (int g = 0; g < mesh->groups; g++) {
    int number;
    DEMAND(strlen(mesh->group[g].name) > 0);
    if (mesh->group[g].dim == mesh->dim - 1)
      DEMAND(!FemMeshGroup(mesh, mesh->dim - 1, mesh->group[g].name, &number));
  }
}

int FuzzOne(const uint8_t *data, size_t size)
{
  const char *path = FuzzFile("input.msh");
  FemMesh mesh;
  FuzzBegin();
  FuzzWrite(path, data, size);
  PoiseErr err = FemMeshGmsh(FuzzContext(), path, &mesh);
  DEMAND(!err || err == POISE_ERR_FORMAT || err == POISE_ERR_NUMERIC);
  if (!err) CheckMesh(&mesh);
  FemMeshFree(&mesh);
  FuzzNothingLeft();
  return 0;
}
