/* SPDX-License-Identifier: BSD-3-Clause */
/* Write the lines of a Matrix Market file as chunks of text. */
#include "mm.h"
#include "sections.h"
#include "sys/base/numbers.h"

static PoiseErr MakeLines(MMLines *lines, char *text, int64_t *bytes)
{
  int length;
  for (*bytes = 0; lines->n && *bytes + MM_LINE <= POISE_CHUNK; lines->n--, *bytes += length)
    TRY(lines->next(lines->from, text + *bytes, &length));
  return POISE_OK;
}

static PoiseErr NextChunk(void *from, char *text, int64_t *bytes, bool *more)
{
  MMLines *lines = from;
  NumberLocale numbers = poiseScalarsBegin();
  PoiseErr e = MakeLines(lines, text, bytes);
  poiseScalarsEnd(numbers);
  *more = lines->n > 0;
  return e;
}

PoiseErr poiseMMWrite(PoiseContext ctx, PoiseErr mine, const char *path, const char *header,
                      const MMLines *lines)
{
  MMLines left = *lines;
  return poiseFileSections(ctx, mine, path, header, strlen(header), 1, &(Section){NextChunk, &left});
}
