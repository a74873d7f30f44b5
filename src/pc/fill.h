/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns of incomplete factors with fill. */
#ifndef POISE_FILL_H
#define POISE_FILL_H

#include "triangles.h"

/* Replace the triangles t of P's block, which are its own, by those of its factors with fill of levels up to
   `levels`, and find their levels in so many directions. mirrored: the pattern is symmetric. After a failure
   t is to be set up anew. Local. */
PoiseErr poiseFill(PoisePC pc, Triangular *t, PoiseInt levels, bool mirrored, int directions);
/* Only count the entries that the factors will have. */
PoiseErr poiseFillCount(PoisePC pc, Triangular *t, PoiseInt levels, bool mirrored, int64_t *entries);

#endif
