/* SPDX-License-Identifier: BSD-3-Clause */
/* Data of groups of a mesh, from the text of an option. */
#ifndef FEM_CLAUSES_H
#define FEM_CLAUSES_H

#include "mesh.h"

/*
  The text has clauses, separated by ';'. A clause names groups, separated by ',', then may have ':' and keys
  with numbers:
    steel: E = 210e9, nu = 0.3; rubber, foam: E = 1e7, nu = 0.45
    top: traction = 0 0 -1000; hole
  A text "@name" stands for the content of this file, which every rank reads; '#' begins a comment there.
  Blanks and ends of lines around names, keys and numbers have no meaning. Each key is an entry of a table. It
  has one number, or as many as the mesh has dimensions, separated by blanks.
*/
enum { FEM_MAX_KEYS = 12 };

typedef struct FemKey {
  const char *name;
  int vector;         /* it has mesh->dim numbers, else one */
  double least, most; /* of each number */
} FemKey;

typedef struct FemClause {
  int number;                    /* of its case, from 0 */
  int groups, *group;            /* numbers of its groups */
  int given[FEM_MAX_KEYS];       /* is key k there? */
  double value[FEM_MAX_KEYS][3]; /* its numbers, else 0 */
} FemClause;

typedef struct FemClauses {
  int count, cases; /* clauses; cases, 1 at least once it is read */
  FemClause *clause;
} FemClauses;

/*
  Read the value of -<option>. keys ends with a NULL name. Groups are of dimension dim (FemMeshGroup). once:
  no group may be in two clauses. An empty text has no clauses. POISE_ERR_OPTION names the option, the clause
  and what is wrong. Not collective, but all ranks get the same result. FemClausesFree takes a zeroed or
  partly read one too.
*/
PoiseErr FemReadClauses(const FemMesh *mesh, int dim, const char *option, const char *text,
                        const FemKey *keys, int once, FemClauses *clauses);
/* The same of several cases, separated by '|'. A case may be empty. */
PoiseErr FemReadCases(const FemMesh *mesh, int dim, const char *option, const char *text, const FemKey *keys,
                      FemClauses *clauses);
void FemClausesFree(FemClauses *clauses);

/* The first clause with this group, or NULL. */
const FemClause *FemClauseOf(const FemClauses *clauses, int group);

#endif
