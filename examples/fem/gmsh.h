/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes from files of Gmsh, with a reader of our own. */
#ifndef FEM_GMSH_H
#define FEM_GMSH_H

#include "mesh.h"

/*
  The mesh of a .msh file, versions 2.x and 4.1, as text. Collective. Every rank must see the same file, reads
  all of it, and keeps its part. METIS decides the parts if the build has it. Otherwise cells are sorted by
  their centres along the longest side of the mesh, and each rank takes an equal part.

  Cells are the elements of the highest dimension, all of one kind (see FemCell). A mesh in the plane has z =
  0, and clockwise cells are turned round. Physical groups become groups under their names, or under their
  numbers if they have none. Cells in no group are in group 0, "rest". A group of facets must lie on the
  boundary. One that lies inside is left out, as is everything of lower dimension. All cells must be connected
  by their nodes.

  POISE_ERR_FILE: it cannot be read, or ranks see different ones. POISE_ERR_FORMAT names file and line.
  POISE_ERR_NUMERIC: a cell is inverted or flat, at its first corner or at a point of integration.
*/
PoiseErr FemMeshGmsh(PoiseContext ctx, const char *path, FemMesh *mesh);

/* ---- what such a file holds, for who makes a mesh of it -------------------------------------- */

typedef struct GmshElement {
  int64_t number, line; /* in the file */
  int kind;             /* of GmshKindOf */
  int group;            /* number of its physical group; 0: none; GMSH_MANY: more than one */
  int32_t node[FEM_MAX_NODES];
} GmshElement;
enum { GMSH_MANY = -1 };

/* Kinds of elements that are read; nodes beyond the corners are the middles of edges. */
typedef struct GmshKind {
  int type; /* Gmsh's number */
  const char *name;
  int dim, nodes, corners;
} GmshKind;
const GmshKind *GmshKindOf(int kind);

typedef struct GmshFile {
  const char *path; /* lent */
  int32_t nodes;
  double *x; /* [nodes][3] */
  int32_t elements;
  GmshElement *element; /* of dimension 1 and more */
  int names;
  FemGroup *name; /* names that were given to groups */
} GmshFile;

/* Parse `size` bytes of text with a 0 behind them. GmshFree takes a zeroed or partly filled file too. */
PoiseErr GmshParse(const char *path, const char *text, size_t size, GmshFile *file);
void GmshFree(GmshFile *file);

#endif
