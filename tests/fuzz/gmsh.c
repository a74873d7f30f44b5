/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes of Gmsh, read by the examples' reader: all numbers of an accepted mesh are in range. */
#define _POSIX_C_SOURCE 200809L
#include "fuzz.h"

#include "fem/gmsh.h"

static void CheckMembers(const FemMember *member, PoiseInt members, PoiseInt all)
{
  for (PoiseInt k = 0; k < members; k++) {
    DEMAND(member[k].of >= 0 && member[k].of < all);
    DEMAND(k == 0 || member[k - 1].of < member[k].of ||
           (member[k - 1].of == member[k].of && member[k - 1].group < member[k].group));
  }
}

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
    char quoted[sizeof mesh->group->name + 2]; /* another group may have this name as its number */
    int number;
    DEMAND(strlen(mesh->group[g].name) > 0);
    snprintf(quoted, sizeof quoted, "\"%s\"", mesh->group[g].name);
    DEMAND(!FemMeshGroup(mesh, mesh->group[g].dim, quoted, &number));
  }
  CheckMembers(mesh->cellMember, mesh->cellMembers, mesh->cells);
  CheckMembers(mesh->facetMember, mesh->facetMembers, mesh->facets);
}

int FuzzOne(const uint8_t *data, size_t size)
{
  const char *path = FuzzFile("input.msh");
  FemMesh mesh;
  DEMAND(!setenv("PATH", "/nonexistent", 1)); /* no program gmsh reads the inputs */
  FuzzBegin();
  FuzzWrite(path, data, size);
  PoiseErr err = FemMeshGmsh(FuzzContext(), path, &mesh);
  DEMAND(!err || err == POISE_ERR_FORMAT || err == POISE_ERR_NUMERIC);
  if (!err) CheckMesh(&mesh);
  FemMeshFree(&mesh);
  FuzzNothingLeft();
  return 0;
}
