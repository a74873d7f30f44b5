/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of options, for the files that read tables and describe them. */
#ifndef POISE_OPTIONS_VALUES_H
#define POISE_OPTIONS_VALUES_H

#include <stdbool.h>

#include "poise/sys.h"

enum { OPTION_REASON = 512, OPTION_WORD = 64 }; /* bytes of a reason; of a word or range for a message */

/* Set the row's field from text (NULL: the key stood alone). If the text is malformed, leave the field and
   give the reason. */
bool poiseOptionParse(const PoiseOption *row, const char *text, void *fields, char reason[OPTION_REASON]);
/* POISE_ERR_ARG unless the row's type is one of PoiseOptionType. */
PoiseErr poiseOptionCheckType(const PoiseOption *row);
/* "3 .. 7", ">= 3", "<= 7", or "" when any value is legal. */
const char *poiseOptionRange(const PoiseOption *row, char text[OPTION_WORD]);

#endif
