/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of a matrix' pattern, for ordering and partitioning. A node is the rows (and columns) of one
   block. */
#ifndef POISE_GRAPH_H
#define POISE_GRAPH_H

#include "mat/csr/shares.h"

typedef struct Adjacency { /* nodes 0 .. n - 1; the neighbours of node i are adj[start[i]] .. adj[start[i +
                              1] - 1] */
  int64_t n, *start;
  int32_t *adj;
  bool lent; /* adj is the matrix' */
} Adjacency;

void poiseGraphDestroy(PoiseContext ctx, Adjacency *g);
/* This rank's rows as nodes that point to nodes of columns. owned: only owned columns, by local number;
   otherwise all columns, by global number. Columns of a node may be repeated, in any order. They may be those
   of A itself. Local. */
PoiseErr poiseGraphOfRows(PoiseMat A, bool owned, Adjacency *g);
/* The graph of A + A^T without its diagonal, with neighbours ascending, from the pattern of A. The pattern
   is released. */
PoiseErr poiseGraphSymmetric(PoiseContext ctx, Adjacency *pattern, Adjacency *g);
/* The same; but a pattern that is symmetric becomes the graph as it is, with its diagonal. */
PoiseErr poiseGraphForOrder(PoiseContext ctx, Adjacency *pattern, Adjacency *g);

/* rcm.c: order[k] = the k-th node of the new order, from the pattern of a matrix. The pattern is released. */
PoiseErr poiseReverseCuthillMcKee(PoiseContext ctx, Adjacency *pattern, int32_t *order);

/* amd.c, or amd_none.c in a library without AMD: the same, by approximate minimum degree. */
PoiseErr poiseAmd(PoiseContext ctx, Adjacency *pattern, int32_t *order);
bool poiseAmdIsThere(void);
PoiseErr poiseAmdCheck(void); /* POISE_ERR_UNSUPPORTED without AMD, saying how to get it */

/* metis.c, or metis_none.c in a library without METIS: part[i] is the part of node i of a symmetric graph
   with edges. Parts have about the weight of their shares, and few edges run between them. Local. */
PoiseErr poiseMetisPartition(PoiseContext ctx, const Adjacency *g, const int64_t *weight,
                             const Shares *shares, int32_t *part);
/* to[i]: the place of node i in a nested dissection of a symmetric graph, whose elimination fills little.
   Local. */
PoiseErr poiseMetisOrder(PoiseContext ctx, const Adjacency *g, int32_t *to);
bool poiseMetisIsThere(void);
PoiseErr poiseMetisCheck(void); /* POISE_ERR_UNSUPPORTED without METIS, saying how to get it */

/* partition.c: to[i] = the rank that node i of this rank's rows goes to. Collective; agrees. */
PoiseErr poiseMatPartition(PoiseMat A, PoisePartition partition, int32_t *to);

#endif
