/* SPDX-License-Identifier: BSD-3-Clause */
/*
  The error of a thread. Message and trace are in fixed buffers, so that running out of memory can be reported
  too. The trace grows as text while the error is returned upwards.
*/
#include <stdarg.h>
#include <stdatomic.h>

#include "sys/sys.h"

enum { MESSAGE = POISE_ERROR_MESSAGE, TEXT = POISE_ERROR_TRACE, DROPPED = POISE_ERROR_DROPPED, FRAMES = 32 };

static _Thread_local ErrorState error;
static atomic_bool traced; /* does PoiseErrorText have the trace? */

const char *PoiseErrorString(PoiseErr code)
{
#define POISE_ERROR_TEXT(c, text) [c] = text,
  static const char *const texts[] = {POISE_ERROR_LIST(POISE_ERROR_TEXT)};
#undef POISE_ERROR_TEXT
  size_t i = (size_t)code;
  return i < sizeof texts / sizeof *texts ? texts[i] : "unknown error code";
}

/* The path from "src/" on, as the part before it depends on the build machine. */
static const char *ShortPath(const char *file)
{
  const char *from = file;
  for (const char *p = strstr(file, "/src/"); p; p = strstr(p + 1, "/src/")) from = p + 1;
  if (*from == '/') from = strrchr(from, '/') + 1;
  return from;
}

static void AddFrame(const char *function, const char *file, int line)
{
  int room = (int)(TEXT - error.used), n = -1;
  if (error.frames < FRAMES)
    n = snprintf(error.text + error.used, (size_t)room, "  at %s (%s:%d)\n", function, ShortPath(file), line);
  if (n < 0 || n >= room) {
    error.text[error.used] = 0;
    error.dropped++;
    return;
  }
  error.used += (size_t)n;
  error.frames++;
}

static void Start(PoiseErr code, const char *message)
{
  error.code = code;
  error.frames = error.dropped = 0;
  snprintf(error.message, sizeof error.message, "%s", message);
  int n = snprintf(error.line, sizeof error.line, "poise: %s%s%s\n", PoiseErrorString(code),
                   *message ? ": " : "", message);
  error.used = n > 0 ? (size_t)n : 0;
  memcpy(error.text, error.line, error.used + 1);
}

PoiseErr PoiseErrorSet(PoiseErr code, const char *function, const char *file, int line, const char *format,
                       ...)
{
  char message[MESSAGE]; /* a buffer of its own, as the arguments may be the older message */
  va_list args;
  va_start(args, format);
  int n = vsnprintf(message, sizeof message, format, args);
  va_end(args);
  if (n < 0) message[0] = 0;
  if (n >= MESSAGE) memcpy(message + MESSAGE - 4, "...", 4);
  Start(code, message);
  AddFrame(function, file, line);
  return code;
}

PoiseErr PoiseErrorTrace(PoiseErr code, const char *function, const char *file, int line)
{
  if (error.code != code) Start(code, ""); /* a callback returned a code without a message */
  AddFrame(function, file, line);
  return code;
}

const char *PoiseErrorMessage(void)
{
  return error.message;
}

void poiseErrorShowTrace(bool on)
{
  traced = on;
}

/* An internal error is for those who mend the library. */
const char *PoiseErrorText(void)
{
  if (!traced && error.code != POISE_ERR_INTERNAL) return error.line;
  if (error.dropped) snprintf(error.text + error.used, DROPPED, "  ... and %d more\n", error.dropped);
  return error.text;
}

void PoiseErrorClear(void)
{
  error.code = POISE_OK;
  error.message[0] = error.line[0] = error.text[0] = 0;
  error.used = 0;
  error.frames = error.dropped = 0;
}

void poiseErrorSave(ErrorState *state)
{
  *state = error;
}

void poiseErrorRestore(const ErrorState *state)
{
  error = *state;
}

void poiseKeep(KeptError *kept, PoiseErr e)
{
  if (!e || kept->code) return;
  kept->code = e;
  poiseErrorSave(&kept->state);
}

PoiseErr poiseKept(const KeptError *kept)
{
  if (kept->code) poiseErrorRestore(&kept->state);
  return kept->code;
}

PoiseErr poiseErrorOfUser(PoiseErr e, const char *function)
{
  if (!e) return POISE_OK;
  /* it has said why */
  if (error.message[0] && error.code == e) return PoiseErrorTrace(e, function, __FILE__, __LINE__);
  FAIL(POISE_ERR_USER, "%s returned %d", function, (int)e);
}
