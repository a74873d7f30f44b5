/* SPDX-License-Identifier: BSD-3-Clause */
/* Meshes from files of Gmsh, with a reader of our own. */
#ifndef FEM_GMSH_H
#define FEM_GMSH_H

#include "element.h"

/*
  The mesh of a .msh file. Versions 2.x and 4.1 as text are read here. Others and binary files are first
  saved as text by the program gmsh, where it is installed. Collective. Every rank must see the same file,
  reads all of it, and keeps its part; rank 0 alone runs gmsh. METIS decides the parts if the build has it.
  Otherwise cells are sorted by their centres along the longest side of the mesh, and each rank takes an equal
  part.

  Cells are the elements of the highest dimension, all of one kind (see FemCell). A mesh in a plane of equal
  z gets z = 0. Cells that are seen from behind (clockwise; of negative volume) are turned round. Physical
  groups become groups under their names, or under their numbers if they have none. An element may be in
  several. Cells in no group are in group 0, "rest". The facets of a group must all lie on the boundary, or
  all inside the body. Groups inside are left out, as is everything of lower dimension. All cells must be
  connected by their nodes.

  POISE_ERR_FILE: it cannot be read, or ranks see different ones. POISE_ERR_FORMAT names file and line.
  POISE_ERR_NUMERIC: a cell is inverted or flat, at one of its nodes or at a point of integration.
*/
PoiseErr FemMeshGmsh(PoiseContext ctx, const char *path, FemMesh *mesh);

/* ---- the text (gmsh_text.c) ------------------------------------------------------------------ */

/* The text of a file, the same on all ranks, with a 0 behind it. */
typedef struct GmshText {
  char *text;
  size_t size;
  char name[512]; /* for messages */
} GmshText;

/* Collective. After an error there is nothing to free. */
PoiseErr GmshReadText(PoiseContext ctx, const char *path, GmshText *text);

/* ---- what it holds (gmsh.c) ------------------------------------------------------------------ */

typedef struct GmshElement {
  int64_t number, line; /* in the file */
  int kind;             /* of GmshKindOf */
  int group;            /* number of its physical group; 0: none. It is given once for each group */
  int32_t next;         /* 1 + the same in its next group; 0: none (GmshCheck) */
  int further;          /* it is such a next one (GmshCheck) */
  int32_t node[FEM_MAX_NODES];
} GmshElement;

/* Kinds of elements that are read; nodes beyond the corners are the middles of edges. */
typedef struct GmshKind {
  int type; /* Gmsh's number */
  const char *name;
  int dim, nodes, corners;
} GmshKind;
const GmshKind *GmshKindOf(int kind);

typedef struct GmshFile {
  const char *path; /* lent */
  int foreign;      /* not read because it is binary, or of another version */
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

/* ---- the body that it describes (gmsh_body.c) ------------------------------------------------ */

/* A facet of the boundary: an element of the file, and side `side` of the element that is its cell. */
typedef struct GmshFacet {
  int32_t element, cell;
  int side;
} GmshFacet;

typedef struct GmshBody {
  GmshFile *file; /* lent */
  FemCell kind;
  const FemCellInfo *info; /* of the kind */
  int32_t cells, *cell;    /* elements that are cells, as in the file */
  int32_t facets;          /* on the boundary, in groups */
  GmshFacet *facet;
  int32_t furtherCells, furtherFacets; /* elements that say that these are in further groups */
  int groups, inside;                  /* as FemMesh has them */
  FemGroup *group;
  char hinge[320];
} GmshBody;

/* Find and check the body. Elements of the file are turned round where they must be. GmshBodyFree takes a
   zeroed or partly filled body too. */
PoiseErr GmshCheck(GmshFile *file, GmshBody *body);
void GmshBodyFree(GmshBody *body);

/* POISE_ERR_NUMERIC if the cell, an element, is inverted or flat at a node or a point of integration. The
   references are of its kind. */
typedef struct GmshShapes {
  FemReference rule, fine, nodes;
} GmshShapes;
PoiseErr GmshCheckShape(const GmshBody *body, const GmshShapes *shapes, int32_t cell);

#endif
