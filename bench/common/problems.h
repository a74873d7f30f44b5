/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices to measure with, the same in every run, given as this rank's rows. Those of differences and
  elements have the size asked for or just above; all but those from a file are made on any number of ranks.
*/
#ifndef BENCH_PROBLEMS_H
#define BENCH_PROBLEMS_H

#include <poise.h>
#include <stdbool.h>

enum {
  FIVE,  /* difference Laplacian on a square */
  SEVEN, /* on a cube */
  /* trilinear hexahedra on a cube, 1 unknown per node, with some mass so that nothing is singular */
  TWENTY_SEVEN,
  ELASTICITY, /* the same with 3 unknowns: E = 1, nu = 0.3, 81 entries per row */
  /* 16 draws per row of a recursive matrix (.57 .19 .19 .05), equal ones once; hubs are neighbours */
  RMAT,
  RMAT_SCRAMBLED, /* the same, with vertices renumbered */
  ARROW,          /* 0, +-1, +-1000 around the diagonal (cyclically), and 4 full rows */
  /* rows of floor(u^(-1 / 1.4)) entries, at most 4700, half within 1000 of the diagonal, half anywhere */
  TAIL,
  /* rows of 3 entries, and in the second half of 30, all within 1000 of the diagonal: half of the parts have
     a tenth of the nonzeros */
  HALVES,
  PROBLEMS
};

/* As options and rows of results call them, in this order. */
#define PROBLEM_WORDS "5|7|27|elasticity|rmat|rmat_scrambled|arrow|tail|halves"
extern const char *const problem_words[PROBLEMS];

enum { CORNERS = 8, MAX_DOFS = 24 };

typedef struct Rows { /* this rank's rows of a square matrix: CSR with global columns, ascending */
  int64_t n, N, begin;
  int block; /* unknowns per node */
  int32_t *ptr, *col;
  double *val;
} Rows;

typedef struct Mesh { /* k^dim nodes; this rank's are whole planes of the last direction, or lines */
  int dim, dofs;
  bool elements, vary;
  int64_t k, nodes, begin, n; /* nodes: of all ranks */
  double element[MAX_DOFS * MAX_DOFS];
} Mesh;

/* The bytes of a matrix: 12 per entry and 4 per row. vary: coefficients between 0.5 and 1.5, by a hash of the
   edge or the element; else 1. For FIVE to ELASTICITY. */
void CreateMesh(PoiseContext ctx, int problem, bool vary, double bytes, Mesh *m);
PoiseErr CreateMeshRows(const Mesh *m, Rows *r);
/* The same for any problem (vary is for those of meshes). */
PoiseErr CreateRows(PoiseContext ctx, int problem, bool vary, double bytes, Rows *r);
/* As RMAT or RMAT_SCRAMBLED, of 2^levels rows and so many draws for each. */
PoiseErr CreateRecursive(PoiseContext ctx, int levels, int draws, bool scrambled, Rows *r);
/* One rank. */
PoiseErr LoadRows(PoiseContext ctx, const char *path, Rows *r);
void DestroyRows(Rows *r);

/* For whoever makes others: n + 1 counts of 0; counts, held one place later, become offsets; then arrays for
   the entries. */
PoiseErr CountRows(Rows *r);
PoiseErr OffsetRows(Rows *r);
PoiseErr ReserveRows(Rows *r);
/* In [0, 1), by two numbers. */
double RandomAt(int64_t i, int64_t j);

/* The neighbours of a node with entries, ascending, and their values for unknown a. Returns the number of
   entries. col, val may be NULL. */
int NodeRow(const Mesh *m, int64_t node, int a, int32_t *col, double *val);
/* Is there an element whose lowest node this is? Its rows. */
bool HasElement(const Mesh *m, int64_t node);
void ElementRows(const Mesh *m, int64_t node, PoiseInt *rows);

typedef struct Coo { /* the entries of this rank's elements one by one */
  int64_t n;
  PoiseInt *rows, *cols;
  double *v;
} Coo;

PoiseErr CreateCoo(const Mesh *m, bool shuffle, Coo *c);
void DestroyCoo(Coo *c);

#endif
