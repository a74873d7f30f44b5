/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, for the rest of the library. */
#ifndef POISE_OPTIONS_H
#define POISE_OPTIONS_H

#include <stdbool.h>

#include "sys/base/error.h"

typedef struct Options Options;

PoiseErr poiseOptionsCreate(PoiseContext ctx, const PoiseInit *init, int argc, char **argv,
                            Options **options);
void poiseOptionsDestroy(Options **options);
/* Register a table, which -help lists and with which unknown keys are compared. `heading` is e.g. "KSP:
   gmres". Static storage. */
PoiseErr poiseOptionsRegister(PoiseContext ctx, const char *heading, const PoiseOption *table);
/* The word of a CHOICE value ("preconditioned"). */
const char *poiseOptionsChoice(const PoiseOption *table, const char *key, int value);
/* Write the reference of all registered options as Markdown. Rank 0 writes. */
PoiseErr poiseOptionsMarkdown(PoiseContext ctx, FILE *out);
/* Drop the options that a thread rank has set from code, when it ends. */
void poiseOptionsLeave(PoiseContext ctx);
bool poiseOptionsApplicationHas(const Options *o, const char *key); /* is it in the application's table? */
/* prefix of every option of the context; "": none */
const char *poiseOptionsPrefix(PoiseContext ctx);
/* Return e, the error of a call caused by the value of an option. POISE_ERR_OPTION and
   POISE_ERR_UNSUPPORTED then also name the option and its source. */
PoiseErr poiseOptionsRefuse(PoiseContext ctx, const char *prefix, const char *key, PoiseErr e);
/* POISE_ERR_OPTION if an unknown key is clearly a misspelt one of the library's. Rank 0 names other
   unknown ones to out, which may be NULL. */
PoiseErr poiseOptionsCheck(PoiseContext ctx, FILE *out);
/* The same at once, if the application has a table: of any unknown key that resembles a known one. Those that
   resemble none are named. For rank 0. */
PoiseErr poiseOptionsCheckListed(PoiseContext ctx, FILE *out);
/* The number of options that nobody has asked for. Rank 0 names those that it has not warned of to out,
   which may be NULL. */
int poiseOptionsLeft(PoiseContext ctx, FILE *out);
/* "-ksp_type" with the prefixes of context and object (may be NULL), for messages. A message may use up to
   4. */
const char *poiseOptionsName(PoiseContext ctx, const char *prefix, const char *key);
/* Copy the fields of a table's rows from one struct to another. Returns whether any differed. */
bool poiseOptionsCopy(const PoiseOption *table, const void *from, void *to);
bool poiseOptionsYesNo(const char *text, int *value); /* parse as a BOOL; false: neither yes nor no */

#endif
