/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The finite-element part of the examples. It is not part of the library, and uses only poise.h.

  A mesh has cells of one kind, in parts. Every rank holds its cells and their nodes, and no rank holds the
  whole. A function that makes a FemMesh (FemMeshBox here, or a reader of files) sets every field below.
*/
#ifndef FEM_MESH_H
#define FEM_MESH_H

#include <poise.h>

/*
  Kinds of cells, and the order of their nodes, which is VTK's:
    TRI3   3 corners, anticlockwise
    TRI6   3 corners, then the middles of edges 01 12 20
    QUAD4  4 corners, anticlockwise
    TET4   4 corners, 0 1 2 anticlockwise seen from 3: (x1 - x0) x (x2 - x0) . (x3 - x0) > 0
    TET10  4 corners, then the middles of edges 01 12 20 03 13 23 (Gmsh has the last two in the other order)
    HEX8   0 1 2 3 anticlockwise seen from 4 5 6 7, which lie above them
*/
typedef enum FemCell { FEM_TRI3, FEM_TRI6, FEM_QUAD4, FEM_TET4, FEM_TET10, FEM_HEX8, FEM_CELLS } FemCell;

enum { FEM_MAX_NODES = 10, FEM_MAX_FACET_NODES = 6 }; /* of a cell, of a facet */

/* Properties of a kind of cell: name, dimension, nodes, and nodes of a facet, whose first ones are the
   corners. */
typedef struct FemCellInfo {
  const char *name; /* "tri3" */
  int dim, nodes, corners, facetNodes, facetCorners, facets;
  int facet[6][FEM_MAX_FACET_NODES]; /* nodes of each facet, in the order that FemMesh.facetNodes states */
} FemCellInfo;
const FemCellInfo *FemCellInfoOf(FemCell cell);

/* A named part of the mesh: cells (dim is the mesh's) or facets (one less). Cells and facets refer to it by
   number. */
typedef struct FemGroup {
  int dim, number;
  char name[64];
} FemGroup;

/* Cell or facet `of` is in this group too. */
typedef struct FemMember {
  PoiseInt of;
  int group;
} FemMember;

/*
  Sizes are this rank's, which may be 0, unless they say "all". All arrays are from malloc, and belong to the
  mesh. Nodes of this rank have local numbers 0 .. nodes - 1. The first are those that it owns, in the order
  of their global numbers. Then come nodes of its cells that other ranks own. The mesh has only nodes that a
  cell uses. An owned node is used by a cell of this rank.
*/
typedef struct FemMesh {
  PoiseContext ctx;
  FemCell cell; /* the kind of all cells */
  int dim;      /* 2 or 3, as FemCellInfoOf(cell)->dim */

  PoiseInt nodes, owned, allNodes;
  PoiseInt begin;   /* this rank owns the global nodes begin .. begin + owned - 1, in rank order */
  PoiseInt *global; /* [nodes] global number, from 0; global[i] = begin + i for i < owned */
  double *x;        /* [nodes][3] coordinates; the third is 0 in 2D */

  PoiseInt cells, allCells;
  PoiseInt firstCell;  /* global number of this rank's first cell; cells are counted in rank order */
  PoiseInt *cellNodes; /* [cells][nodes of the kind] this rank's numbers of its nodes */
  int *cellGroup;      /* [cells] number of a group of cells, the least if the cell is in several */

  /* Facets of the boundary that belong to a group, each once, on the rank that has its cell. Their nodes
     are corners, then middles of edges 01 (12 20). The order makes the normal point outwards: (x1 - x0) x
     (x2 - x0); in 2D (x1 - x0) turned clockwise. */
  PoiseInt facets;
  PoiseInt *facetNodes; /* [facets][facet nodes of the kind] this rank's numbers of its nodes */
  int *facetGroup;      /* [facets] number of a group of facets, the least of several */

  /* Further groups of cells and facets that are in several, ascending by `of`, then by group. */
  PoiseInt cellMembers, facetMembers;
  FemMember *cellMember, *facetMember;

  /* The same on all ranks. Behind the groups are so many of facets that lie inside the body. No facet above
     is in one of these; only messages name them. */
  int groups, inside;
  FemGroup *group;

  /* The mesh is half the section of a body of revolution about the y axis, and x the radius. Integrals are
     over that body (FemMeshRevolve). */
  int revolved;

  /* "", or which parts of the body are joined by edges or nodes alone, as by hinges: in elasticity a
     mechanism, unless each part is held. The same on all ranks. */
  char hinge[320];
} FemMesh;

/* Free all arrays. A zeroed or partly filled mesh is legal. */
void FemMeshFree(FemMesh *mesh);

/* Multiply all coordinates, to have a mesh in millimetres in metres. */
void FemMeshScale(FemMesh *mesh, double factor);
/* Make the mesh one of a body of revolution. POISE_ERR_OPTION: it is in space; POISE_ERR_ARG: a radius is
   negative. Collective. */
PoiseErr FemMeshRevolve(FemMesh *mesh);
/* The least box around all nodes. Collective. */
PoiseErr FemMeshBounds(const FemMesh *mesh, double low[3], double high[3]);

/* Find the number of the group of cells (dim is the mesh's) or facets (one less) with this name, or with
   this number as text. A text that is the name of one and the number of another is ambiguous, unless quotes
   are around it: "2" is a name. POISE_ERR_ARG lists the existing ones. Not collective, but all ranks get the
   same result. */
PoiseErr FemMeshGroup(const FemMesh *mesh, int dim, const char *name, int *number);

/* Is this rank's cell or facet in the group? It may be in several. */
int FemCellIn(const FemMesh *mesh, PoiseInt cell, int group);
int FemFacetIn(const FemMesh *mesh, PoiseInt facet, int group);

/*
  A box [0, length[0]] x [0, length[1]] (x [0, length[2]]) of n[0] x n[1] (x n[2]) bricks. A brick is one cell
  (quad4, hex8), two triangles, or six tetrahedra. Every rank makes its own block of bricks. Ranks beyond the
  number of bricks have none.

  Groups of facets: 1 left, 2 right (x); in 2D 3 bottom, 4 top (y); in 3D 3 front, 4 back (y), 5 bottom, 6 top
  (z). Groups of cells: 1 body.
*/
typedef struct FemBox {
  FemCell cell;
  PoiseInt n[3];
  double length[3];
  /* width of the last brick over that of the first, in each direction; 0 or 1: even */
  double grading[3];
  void (*map)(double x[3], void *arg); /* moves every node, also middles of edges; NULL: none; called by
                                          several threads at once */
  void *arg;
} FemBox;
PoiseErr FemMeshBox(PoiseContext ctx, const FemBox *box, FemMesh *mesh); /* collective */

#endif
