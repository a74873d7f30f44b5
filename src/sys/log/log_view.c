/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the log, over all ranks: as a text, CSV or JSON, by PoiseLogView and -log_view. */
#include "log_counters.h"
#include "sys/base/files.h"
#include "sys/base/numbers.h"
#include "sys/sys.h"

/* ---- the table ------------------------------------------------------------------------------- */

enum {
  CALLS,
  SECONDS,
  FLOP,
  BYTE,
  GB_PER_SECOND,
  MESSAGE,
  MESSAGE_BYTE,
  ALLOCATION,
  LAUNCH,
  COPY,
  BYTE_TO_DEVICE,
  BYTE_TO_HOST,
  WAIT,
  OWN_SECONDS,
  COLUMNS
};

static const char *const keys[COLUMNS] = {[CALLS] = "calls",
                                          [SECONDS] = "seconds",
                                          [FLOP] = "flops",
                                          [BYTE] = "bytes",
                                          [GB_PER_SECOND] = "gb_per_second",
                                          [MESSAGE] = "messages",
                                          [MESSAGE_BYTE] = "message_bytes",
                                          [ALLOCATION] = "allocations",
                                          [LAUNCH] = "launches",
                                          [COPY] = "copies",
                                          [BYTE_TO_DEVICE] = "to_device_bytes",
                                          [BYTE_TO_HOST] = "to_host_bytes",
                                          [WAIT] = "waits",
                                          [OWN_SECONDS] = "own_seconds"};

typedef struct Row {
  const char *name, *words;
  double min[COLUMNS], max[COLUMNS]; /* over ranks */
  double seconds, own;               /* of all ranks together */
  bool late;                         /* on some rank the time of an event is not that of its work */
} Row;

typedef struct Table {
  PoiseContext ctx;
  Row *rows; /* the first is that of all */
  int count;
} Table;

typedef struct Writer {
  void (*head)(PoiseContext, FILE *);
  void (*row)(PoiseContext, const Row *, FILE *, const Row *all); /* all: the first row */
  void (*tail)(FILE *);
  bool sorts; /* the slowest event first */
} Writer;

/* ---- for people ------------------------------------------------------------------------------ */

enum { NAME = 20, WIDE = 9, NARROW = 7 };

/* At least three digits, in a fixed place. */
static void Number(double v, FILE *out)
{
  fprintf(out, " %*.*f", WIDE, v == 0 || v >= 100 ? 0 : v >= 10 ? 1 : v >= 1 ? 2 : 3, v);
}

/* "12.3 us"; 0: nobody knows. */
static void Seconds(double seconds, FILE *out)
{
  static const struct {
    double seconds;
    const char *word;
  } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}};
  char text[32] = "-";
  int k = 0;
  while (k < 2 && seconds < units[k].seconds) k++;
  if (seconds > 0) snprintf(text, sizeof text, "%.3g %s", seconds / units[k].seconds, units[k].word);
  fprintf(out, " %*s", WIDE, text);
}

static void Share(double part, double all, bool shown, FILE *out)
{
  char text[32] = "";
  if (shown) snprintf(text, sizeof text, "%.1f", all > 0 ? 100 * part / all : 0);
  fprintf(out, " %*s", NARROW, text);
}

static void Titles(PoiseContext ctx, FILE *out)
{
  bool several = ctx->comm->size > 1;
  fprintf(out, "%-*s%s %*s %*s %*s %*s %*s %*s %*s %*s", NAME, "event", several ? "    " : "", WIDE, "calls",
          WIDE, "seconds", NARROW, "time %", NARROW, "own %", WIDE, "per call", WIDE, "Mflop", WIDE, "MB",
          WIDE, "GB/s");
  if (several) fprintf(out, " %*s %*s", WIDE, "messages", WIDE, "MB sent");
  fprintf(out, " %*s %*s", WIDE, "allocs", WIDE, "launches");
  if (!ctx->device->ops->is_host)
    fprintf(out, " %*s %*s %*s %*s", WIDE, "copies", WIDE, "MB to dev", WIDE, "to host", WIDE, "waits");
  fprintf(out, "  what\n");
}

static void HeadText(PoiseContext ctx, FILE *out)
{
  bool several = ctx->comm->size > 1;
  bool late = !ctx->device->ops->is_host && !ctx->log_device_time;
  fprintf(out,
          "Poise log: device %s, ranks %d (%s)%s. Events include nested ones; \"own %%\" does not, and "
          "adds up to 100.\n",
          ctx->device->ops->name, ctx->comm->size, ctx->comm->ops->name,
          several ? ", maximum and minimum over ranks" : "");
  if (late)
    fprintf(out,
            "Times are the host's, which does not wait for the device. Where an event has not waited, GB/s "
            "and time per call are unknown: -. All are known with -log_device_time.\n");
  Titles(ctx, out);
}

/* v: of one or other rank; shares: are they printed in this line? */
static void LineText(PoiseContext ctx, const char *name, const char *which, const Row *row, const double *v,
                     const Row *all, bool shares, FILE *out)
{
  fprintf(out, "%-*s%s %*.0f %*.4f", NAME, name, which, WIDE, v[CALLS], WIDE, v[SECONDS]);
  Share(row->seconds, all->seconds, shares, out);
  Share(row->own, all->seconds, shares, out);
  Seconds(!row->late && v[CALLS] > 0 ? v[SECONDS] / v[CALLS] : 0, out);
  Number(1e-6 * v[FLOP], out);
  Number(1e-6 * v[BYTE], out);
  if (v[GB_PER_SECOND] > 0)
    Number(v[GB_PER_SECOND], out);
  else
    fprintf(out, " %*s", WIDE, "-");
  if (ctx->comm->size > 1) {
    fprintf(out, " %*.0f", WIDE, v[MESSAGE]);
    Number(1e-6 * v[MESSAGE_BYTE], out);
  }
  fprintf(out, " %*.0f %*.0f", WIDE, v[ALLOCATION], WIDE, v[LAUNCH]);
  if (!ctx->device->ops->is_host) {
    fprintf(out, " %*.0f", WIDE, v[COPY]);
    Number(1e-6 * v[BYTE_TO_DEVICE], out);
    Number(1e-6 * v[BYTE_TO_HOST], out);
    fprintf(out, " %*.0f", WIDE, v[WAIT]);
  }
  fprintf(out, "%s%s\n", shares && *row->words ? "  " : "", shares ? row->words : "");
}

static void RowText(PoiseContext ctx, const Row *row, FILE *out, const Row *all)
{
  bool several = ctx->comm->size > 1;
  LineText(ctx, row->name, several ? " max" : "", row, row->max, all, true, out);
  if (several) LineText(ctx, "", " min", row, row->min, all, false, out);
}

static void TailText(FILE *out)
{
  (void)out;
}

/* ---- for programs ---------------------------------------------------------------------------- */

/* Write a text in double quotes, with `escape` before each quote and each `escape`. */
static void Quoted(const char *text, char escape, FILE *out)
{
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"' || *text == escape) fputc(escape, out);
    fputc(*text, out);
  }
  fputc('"', out);
}

static void HeadCsv(PoiseContext ctx, FILE *out)
{
  (void)ctx;
  fprintf(out, "event");
  for (int c = 0; c < COLUMNS; c++) fprintf(out, ",%s_min,%s_max", keys[c], keys[c]);
  fprintf(out, "\n");
}

static void RowCsv(PoiseContext ctx, const Row *row, FILE *out, const Row *all)
{
  (void)ctx, (void)all;
  Quoted(row->name, '"', out);
  for (int c = 0; c < COLUMNS; c++) fprintf(out, ",%.15g,%.15g", row->min[c], row->max[c]);
  fprintf(out, "\n");
}

static void HeadJson(PoiseContext ctx, FILE *out)
{
  fprintf(out, "{\"poise\": \"%d.%d.%d\", \"device\": \"%s\", \"ranks\": %d, \"comm\": \"%s\", \"events\": [",
          POISE_VERSION_MAJOR, POISE_VERSION_MINOR, POISE_VERSION_PATCH, ctx->device->ops->name,
          ctx->comm->size, ctx->comm->ops->name);
}

static void RowJson(PoiseContext ctx, const Row *row, FILE *out, const Row *all)
{
  (void)ctx;
  fprintf(out, "%s\n  {\"name\": ", row == all ? "" : ",");
  Quoted(row->name, '\\', out);
  for (int c = 0; c < COLUMNS; c++)
    fprintf(out, ", \"%s\": {\"min\": %.15g, \"max\": %.15g}", keys[c], row->min[c], row->max[c]);
  fprintf(out, "}");
}

static void TailJson(FILE *out)
{
  fprintf(out, "\n]}\n");
}

static const Writer writers[] = {[POISE_LOG_TEXT] = {HeadText, RowText, TailText, true},
                                 [POISE_LOG_CSV] = {HeadCsv, RowCsv, TailText, false},
                                 [POISE_LOG_JSON] = {HeadJson, RowJson, TailJson, false}};

/* ---- over ranks ------------------------------------------------------------------------------ */

/* Add the row of an event, if any rank has called it. */
static PoiseErr AddRow(Table *t, const char *name, const char *words, const Event *e)
{
  const double *now = e->total;
  double v[2 * COLUMNS] = {[CALLS] = e->calls,
                           [SECONDS] = now[TIME],
                           [FLOP] = now[FLOPS],
                           [BYTE] = now[BYTES],
                           [GB_PER_SECOND] = now[TIME] > 0 && !e->late ? 1e-9 * now[BYTES] / now[TIME] : 0,
                           [MESSAGE] = now[MESSAGES],
                           [MESSAGE_BYTE] = now[MESSAGE_BYTES],
                           [ALLOCATION] = now[ALLOCATIONS],
                           [LAUNCH] = now[LAUNCHES],
                           [COPY] = now[COPIES],
                           [BYTE_TO_DEVICE] = now[TO_DEVICE],
                           [BYTE_TO_HOST] = now[TO_HOST],
                           [WAIT] = now[WAITS],
                           [OWN_SECONDS] = e->own},
               sum[3] = {now[TIME], e->own, e->late};
  Row *row = &t->rows[t->count];
  for (int c = 0; c < COLUMNS; c++) v[COLUMNS + c] = -v[c];
  TRY(poiseCommMax(t->ctx->comm, v, 2 * COLUMNS));
  TRY(poiseCommSum(t->ctx->comm, sum, 3));
  *row = (Row){.name = name, .words = words, .seconds = sum[0], .own = sum[1], .late = sum[2] > 0};
  for (int c = 0; c < COLUMNS; c++) {
    row->max[c] = v[c];
    row->min[c] = 0 - v[COLUMNS + c]; /* not -0 */
  }
  t->count += row->max[CALLS] > 0;
  return POISE_OK;
}

/* All since the start. Its own time is that of no event. */
static PoiseErr AddTotal(Table *t, const Log *log)
{
  Event total = {.calls = 1, .late = poiseLogIsLate(log)};
  poiseLogNow(log, total.total);
  for (int c = 0; c < COUNTERS; c++) total.total[c] -= log->begin[c];
  total.own = total.total[TIME];
  for (int i = 0; i < EVENT_COUNT; i++) total.own -= log->event[i].own;
  for (int i = 0; i < log->nsection; i++) total.own -= log->section[i].own;
  return AddRow(t, "Total", "all; own: outside of events", &total);
}

/* The sections in the order of rank 0, n on that. Names that only other ranks have are left out. */
static PoiseErr AddSections(Table *t, const Log *log, int n)
{
  static const Event none;
  Comm *comm = t->ctx->comm;
  char name[NAME_LENGTH];
  for (int i = 0; i < n; i++) {
    if (!comm->rank) memcpy(name, log->section[i].name, NAME_LENGTH);
    TRY(comm->ops->bcast(comm, name, NAME_LENGTH, 0));
    int section = poiseLogFindSection(log, name);
    TRY(AddRow(t, comm->rank ? "" : log->section[i].name, "", section < 0 ? &none : &log->section[section]));
  }
  return POISE_OK;
}

static PoiseErr AddAll(Table *t, const Log *log, int sections)
{
  TRY(AddTotal(t, log));
  for (int i = 0; i < EVENT_COUNT; i++)
    TRY(AddRow(t, poiseLogName(log, i), poiseLogWords(i), &log->event[i]));
  return AddSections(t, log, sections);
}

/* The slowest event first, after the row of all. Equal ones stay in their order. */
static void Sort(Table *t)
{
  for (int i = 2; i < t->count; i++) {
    const Row row = t->rows[i];
    int k = i;
    for (; k > 1 && t->rows[k - 1].max[SECONDS] < row.max[SECONDS]; k--) t->rows[k] = t->rows[k - 1];
    t->rows[k] = row;
  }
}

/* out: NULL on other ranks than 0. */
static PoiseErr ViewAll(PoiseContext ctx, FILE *out, const Writer *writer)
{
  const Log *log = ctx->log;
  Table t = {.ctx = ctx};
  int sections = log->nsection;
  TRY(ctx->comm->ops->bcast(ctx->comm, &sections, sizeof sections, 0));
  PoiseErr e = PoiseAgree(
      ctx, poiseAllocArray(ctx, 1 + EVENT_COUNT + sections + 1, sizeof *t.rows, "table of the log", &t.rows));
  if (!e) e = AddAll(&t, log, sections);
  if (!e && out) {
    if (writer->sorts) Sort(&t);
    writer->head(ctx, out);
    for (int k = 0; k < t.count; k++) writer->row(ctx, &t.rows[k], out, t.rows);
    writer->tail(out);
  }
  poiseFree(ctx, &t.rows);
  return e;
}

PoiseErr PoiseLogView(PoiseContext ctx, FILE *out, PoiseLogFormat format)
{
  CALLED(OBJECT(ctx));
  PoiseErr e = POISE_OK;
  if (format < POISE_LOG_TEXT || format > POISE_LOG_JSON)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "%d is no format of the log", (int)format);
  else if (!ctx->comm->rank && !out)
    e = PoiseErrorSet(POISE_ERR_ARG, __func__, __FILE__, __LINE__, "no file to write the log to");
  TRY(PoiseAgree(ctx, e));
  NumberLocale numbers = poiseScalarsBegin();
  e = ViewAll(ctx, ctx->comm->rank ? NULL : out, &writers[format]);
  poiseScalarsEnd(numbers);
  if (!e && !ctx->comm->rank && (fflush(out) || ferror(out)))
    e = PoiseErrorSet(POISE_ERR_FILE, __func__, __FILE__, __LINE__, "the log cannot be written");
  TRY(PoiseAgree(ctx, e));
  return POISE_OK;
}

/* ---- -log_view ------------------------------------------------------------------------------- */

/* An empty path means the context's output. */
static PoiseErr ParseView(PoiseContext ctx, const char *value, char path[POISE_OPTION_LENGTH],
                          PoiseLogFormat *format)
{
  static const char *const words[] = {
      [POISE_LOG_TEXT] = "text", [POISE_LOG_CSV] = "csv", [POISE_LOG_JSON] = "json"};
  int k = POISE_LOG_TEXT;
  path[0] = 0;
  PoiseErr e = *value ? poiseFileSplit(value, 3, words, path, &k) : POISE_OK;
  *format = (PoiseLogFormat)k;
  if (e) FAIL(e, "%s %.80s: %s", poiseOptionsName(ctx, NULL, "log_view"), value, PoiseErrorMessage());
  return POISE_OK;
}

static PoiseErr ViewToFile(PoiseContext ctx, const char *path, PoiseLogFormat format)
{
  OutFile f = {0};
  bool writes = !ctx->comm->rank;
  TRY(PoiseAgree(ctx, writes ? poiseFileBegin(ctx, path, &f) : POISE_OK));
  PoiseErr e = PoiseLogView(ctx, f.stream, format);
  if (writes && !e) e = poiseFileCommit(ctx, &f);
  poiseFileAbort(ctx, &f);
  TRY(PoiseAgree(ctx, e));
  return POISE_OK;
}

PoiseErr poiseLogCheckOption(PoiseContext ctx, const char *value)
{
  char path[POISE_OPTION_LENGTH];
  PoiseLogFormat format;
  TRY(ParseView(ctx, value, path, &format));
  return *path && !ctx->comm->rank ? poiseFileCheck(ctx, path) : POISE_OK;
}

PoiseErr poiseLogViewOption(PoiseContext ctx, const char *value)
{
  char path[POISE_OPTION_LENGTH];
  PoiseLogFormat format;
  TRY(ParseView(ctx, value ? value : "", path, &format));
  return *path ? ViewToFile(ctx, path, format) : PoiseLogView(ctx, ctx->out, format);
}
