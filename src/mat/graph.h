/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of a matrix' pattern: a node is the rows (and columns) of one block, for ordering and
   partitioning. */
#ifndef POISE_GRAPH_H
#define POISE_GRAPH_H

#include "mat.h"

/* of nodes 0 .. n - 1, those next to node i being adj[start[i]] .. adj[start[i + 1] - 1] */
typedef struct Adjacency {
  int64_t n, *start;
  int32_t *adj;
} Adjacency;

void poiseGraphDestroy(PoiseContext ctx, Adjacency *g);
/* This rank's rows as nodes that point at columns' nodes: of the owned columns with their local numbers, or
   of all columns with their global ones. Columns of a node may come several times, in any order. Local. */
PoiseErr poiseGraphOfRows(PoiseMat A, bool owned, Adjacency *g);
/* The graph of A + A^T without its diagonal, neighbours ascending, from the pattern of A, which is
   released. */
PoiseErr poiseGraphSymmetric(PoiseContext ctx, Adjacency *pattern, Adjacency *g);
/* A symmetric graph with the neighbours of every node in the order that they have in the list of all nodes
   (NULL: ascending). */
PoiseErr poiseGraphSort(PoiseContext ctx, const Adjacency *g, const int32_t *order, Adjacency *sorted);

/* rcm.c: order[k] = the node that comes k-th, from the pattern of a matrix, which is released. */
PoiseErr poiseReverseCuthillMcKee(PoiseContext ctx, Adjacency *pattern, int32_t *order);

/* metis.c, or metis_none.c where the library was built without METIS: part[i] of node i of a symmetric graph
   with edges, parts of about equal weight between which few edges run. Local. */
PoiseErr poiseMetisPartition(PoiseContext ctx, const Adjacency *g, const int64_t *weight, int parts,
                             int32_t *part);
PoiseErr poiseMetisCheck(void); /* POISE_ERR_UNSUPPORTED without METIS, saying how to get it */

/* partition.c: the rank that each node of this rank's rows goes to. Collective; agrees. */
PoiseErr poiseMatPartition(PoiseMat A, PoisePartition partition, int32_t *to);

#endif
