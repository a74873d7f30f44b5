/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors inside the library. An error is a thread's, and may be handed to the thread that waits for it. */
#ifndef POISE_ERROR_H
#define POISE_ERROR_H

#include <stdbool.h>

#include "poise/sys.h"

#define TRY  POISE_TRY
#define FAIL POISE_FAIL

enum {
  POISE_ERROR_MESSAGE = 1024,
  POISE_ERROR_LINE = 1152,
  POISE_ERROR_TRACE = 6144,
  POISE_ERROR_DROPPED = 64
};

typedef struct ErrorState {
  PoiseErr code;
  char message[POISE_ERROR_MESSAGE];
  char line[POISE_ERROR_LINE]; /* with its code */
  /* the line and the trace; the last bytes are reserved for the count of dropped frames */
  char text[POISE_ERROR_TRACE + POISE_ERROR_DROPPED];
  size_t used; /* of text */
  int frames, dropped;
} ErrorState;

/* Has PoiseErrorText the trace, in the whole process? A context with -error_trace turns it on. */
void poiseErrorShowTrace(bool on);
void poiseErrorSave(ErrorState *state);
void poiseErrorRestore(const ErrorState *state);
/* The first failure of steps that all take place, as other ranks wait for what they send. A later step may
   call the application's functions, which forget the error. Set code to POISE_OK before. */
typedef struct KeptError {
  PoiseErr code;
  ErrorState state;
} KeptError;
void poiseKeep(KeptError *kept, PoiseErr e);
PoiseErr poiseKept(const KeptError *kept); /* that failure, which is the thread's error again, or POISE_OK */
/* The error of a user's function ("a monitor"), called after PoiseErrorClear. If the function has set this
   error, add the function to the trace. Otherwise return POISE_ERR_USER naming the function; it may have
   set and handled another error. */
PoiseErr poiseErrorOfUser(PoiseErr e, const char *function);

#endif
