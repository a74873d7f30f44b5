/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete sparse approximate inverses of the triangles of incomplete factors. */
#ifndef POISE_ISAI_H
#define POISE_ISAI_H

#include "mat/csr/local_csr.h"
#include "pc.h"

PoiseErr poiseIsaiCheck(PoisePC pc);        /* do the options agree? */
PoiseErr poiseIsaiCheckEntries(PoisePC pc); /* are they for P's present pattern? */
/* Of new factors, which poiseJacobiSweepsScale has scaled, if they are asked for. */
PoiseErr poiseIsai(PoisePC pc, bool symmetric);
/* The two factors of M^-1 = U L of pc, an ilu or icc with approximate inverses that is set up: L, or U
   (upper), as a matrix of this rank's rows and columns; or its values alone, where c has the pattern.
   Local. */
PoiseErr poiseIsaiMatrix(PoisePC pc, bool upper, Csr *c);

#endif
