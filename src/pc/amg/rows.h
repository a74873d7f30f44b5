/* SPDX-License-Identifier: BSD-3-Clause */
/* What set-up asks a device for. */
#ifndef POISE_AMG_ROWS_H
#define POISE_AMG_ROWS_H

#include "sys/sys.h"

/* A new buffer of n items, to be written: their place on the device. */
PoiseErr poiseAmgMake(Device *dev, int64_t n, size_t size, const char *what, Buffer *b, void *p);

#endif
