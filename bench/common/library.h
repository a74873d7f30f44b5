/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the library's own work is done. */
#ifndef BENCH_LIBRARY_H
#define BENCH_LIBRARY_H

#include "peer.h"

typedef struct Library {
  PoiseVec one, flush;
  Lane lane;
} Library;

/* The device that option -device asks for, "host" if none does, and who competes there: the C loops, or
   cuSPARSE with cuBLAS. */
const char *DeviceOf(PoiseContext ctx);
const Peer *PeerOn(const char *device);
/* cache: bytes of the largest one. Leaves *library to be closed also when it fails. */
PoiseErr OpenLibrary(PoiseContext ctx, double cache, Library *library);
void CloseLibrary(Library *library);
/* What a view prints; to be freed. */
PoiseErr ViewText(PoiseContext ctx, PoiseErr (*view)(void *object), void *object, char **text);
PoiseErr ViewMat(void *A);
PoiseErr ViewPC(void *pc);
PoiseErr ViewKSP(void *ksp);
PoiseErr ViewContext(void *ctx);

/* A field between the commas of a file. */
void PlainField(const char *text, char *field, size_t size);
/* Is a name, or what stands in it before a dot, among the words? Always where there are none. */
bool Asked(const char *words, const char *name);
/* "who:", "date:", ... lines that say what was measured where, behind "# " in the file and plainly on the
   screen. file may be NULL. */
PoiseErr DescribeRun(PoiseContext ctx, const Peer *peer, void *peer_data, int argc, char **argv, FILE *file);

#endif
