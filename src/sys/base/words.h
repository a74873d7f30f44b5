/* SPDX-License-Identifier: BSD-3-Clause */
/* "Did you mean": which word is near another one. */
#ifndef POISE_WORDS_H
#define POISE_WORDS_H

#include <stdbool.h>

#include "poise/sys.h"

/* Insertions, deletions, replacements and swaps of neighbours between two texts of na and nb letters;
   INT32_MAX for long ones. */
int poiseDistance(const char *a, size_t na, const char *b, size_t nb);
/* Is a text of n letters with so many mistakes still likely to mean the word? */
bool poiseNear(int distance, size_t n);
/* The closest of `count` words to s, or NULL if none is near. */
const char *poiseClosest(const char *s, int count, const char *const *words);
/* POISE_ERR_OPTION: "there is no <what> '<word>'", with the words that exist, and the closest one if it is
   near. */
PoiseErr poiseUnknownWord(const char *what, const char *word, int count, const char *const *words);

#endif
