/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the log, over all ranks: as a text, CSV or JSON, by PoiseLogView and -log_view. */
#include "files.h"
#include "log_counters.h"
#include "numbers.h"

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
  COPY, /* from here on: omitted in the text if the device is the host */
  BYTE_TO_DEVICE,
  BYTE_TO_HOST,
  WAIT,
  COLUMNS
};

static const struct {
  const char *title, *key;
  int width;
  const char *format; /* of the text */
} columns[COLUMNS] = {[CALLS] = {"calls", "calls", 9, " %*.0f"},
                      [SECONDS] = {"seconds", "seconds", 10, " %*.3e"},
                      [FLOP] = {"flops", "flops", 10, " %*.3e"},
                      [BYTE] = {"bytes", "bytes", 10, " %*.3e"},
                      [GB_PER_SECOND] = {"GB/s", "gb_per_second", 9, " %*.4g"},
                      [MESSAGE] = {"messages", "messages", 9, " %*.0f"},
                      [MESSAGE_BYTE] = {"msg bytes", "message_bytes", 10, " %*.3e"},
                      [ALLOCATION] = {"allocs", "allocations", 8, " %*.0f"},
                      [LAUNCH] = {"launches", "launches", 9, " %*.0f"},
                      [COPY] = {"copies", "copies", 8, " %*.0f"},
                      [BYTE_TO_DEVICE] = {"to device", "to_device_bytes", 10, " %*.3e"},
                      [BYTE_TO_HOST] = {"to host", "to_host_bytes", 10, " %*.3e"},
                      [WAIT] = {"waits", "waits", 8, " %*.0f"}};

typedef struct Row {
  const char *name;
  double min[COLUMNS], max[COLUMNS]; /* over ranks */
} Row;

typedef struct Writer {
  void (*head)(PoiseContext, FILE *);
  void (*row)(PoiseContext, const Row *, FILE *, bool first); /* first: is it the first row? */
  void (*tail)(FILE *);
} Writer;

static int TextColumns(PoiseContext ctx)
{
  return ctx->device->ops->is_host ? COPY : COLUMNS;
}

static void HeadText(PoiseContext ctx, FILE *out)
{
  bool several = ctx->comm->size > 1;
  bool late = !ctx->device->ops->is_host && !ctx->log_device_time;
  fprintf(out, "Poise log: device %s, ranks %d (%s)%s. Events include what is nested in them%s.\n",
          ctx->device->ops->name, ctx->comm->size, ctx->comm->ops->name,
          several ? ", maximum and minimum over ranks" : "",
          late ? "; GB/s only of those that waited for their work (all: -log_device_time)" : "");
  fprintf(out, "%-20s%s", "event", several ? "    " : "");
  for (int c = 0; c < TextColumns(ctx); c++) fprintf(out, " %*s", columns[c].width, columns[c].title);
  fprintf(out, "\n");
}

static void LineText(PoiseContext ctx, const char *name, const char *which, const double *v, FILE *out)
{
  fprintf(out, "%-20s%s", name, which);
  for (int c = 0; c < TextColumns(ctx); c++) fprintf(out, columns[c].format, columns[c].width, v[c]);
  fprintf(out, "\n");
}

static void RowText(PoiseContext ctx, const Row *row, FILE *out, bool first)
{
  bool several = ctx->comm->size > 1;
  (void)first;
  LineText(ctx, row->name, several ? " max" : "", row->max, out);
  if (several) LineText(ctx, "", " min", row->min, out);
}

static void TailText(FILE *out)
{
  (void)out;
}

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
  for (int c = 0; c < COLUMNS; c++) fprintf(out, ",%s_min,%s_max", columns[c].key, columns[c].key);
  fprintf(out, "\n");
}

static void RowCsv(PoiseContext ctx, const Row *row, FILE *out, bool first)
{
  (void)ctx, (void)first;
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

static void RowJson(PoiseContext ctx, const Row *row, FILE *out, bool first)
{
  (void)ctx;
  fprintf(out, "%s\n  {\"name\": ", first ? "" : ",");
  Quoted(row->name, '\\', out);
  for (int c = 0; c < COLUMNS; c++)
    fprintf(out, ", \"%s\": {\"min\": %.15g, \"max\": %.15g}", columns[c].key, row->min[c], row->max[c]);
  fprintf(out, "}");
}

static void TailJson(FILE *out)
{
  fprintf(out, "\n]}\n");
}

static const Writer writers[] = {[POISE_LOG_TEXT] = {HeadText, RowText, TailText},
                                 [POISE_LOG_CSV] = {HeadCsv, RowCsv, TailText},
                                 [POISE_LOG_JSON] = {HeadJson, RowJson, TailJson}};

/* Minimum and maximum over ranks of one event. */
static PoiseErr Gather(PoiseContext ctx, const Event *e, Row *row)
{
  const double *t = e->total;
  double v[2 * COLUMNS] = {[CALLS] = e->calls,
                           [SECONDS] = t[TIME],
                           [FLOP] = t[FLOPS],
                           [BYTE] = t[BYTES],
                           [GB_PER_SECOND] = t[TIME] > 0 && !e->late ? 1e-9 * t[BYTES] / t[TIME] : 0,
                           [MESSAGE] = t[MESSAGES],
                           [MESSAGE_BYTE] = t[MESSAGE_BYTES],
                           [ALLOCATION] = t[ALLOCATIONS],
                           [LAUNCH] = t[LAUNCHES],
                           [COPY] = t[COPIES],
                           [BYTE_TO_DEVICE] = t[TO_DEVICE],
                           [BYTE_TO_HOST] = t[TO_HOST],
                           [WAIT] = t[WAITS]};
  for (int c = 0; c < COLUMNS; c++) v[COLUMNS + c] = -v[c];
  TRY(poiseCommMax(ctx->comm, v, 2 * COLUMNS));
  for (int c = 0; c < COLUMNS; c++) {
    row->max[c] = v[c];
    row->min[c] = 0 - v[COLUMNS + c]; /* not -0 */
  }
  return POISE_OK;
}

typedef struct View {
  PoiseContext ctx;
  FILE *out; /* NULL on other ranks than 0 */
  const Writer *writer;
  bool first;
} View;

static PoiseErr ViewEvent(View *v, const char *name, const Event *e)
{
  Row row = {.name = name};
  TRY(Gather(v->ctx, e, &row));
  if (!v->out || row.max[CALLS] == 0) return POISE_OK;
  v->writer->row(v->ctx, &row, v->out, v->first);
  v->first = false;
  return POISE_OK;
}

static PoiseErr ViewTotal(View *v, const Log *log)
{
  Event total = {.calls = 1, .late = poiseLogIsLate(log)};
  poiseLogNow(log, total.total);
  for (int c = 0; c < COUNTERS; c++) total.total[c] -= log->begin[c];
  return ViewEvent(v, "Total", &total);
}

/* Write the sections in the order of rank 0. Names that only other ranks have are left out. */
static PoiseErr ViewSections(View *v, const Log *log)
{
  static const Event none;
  Comm *comm = v->ctx->comm;
  char name[NAME_LENGTH];
  int n = log->nsection;
  TRY(comm->ops->bcast(comm, &n, sizeof n, 0));
  for (int i = 0; i < n; i++) {
    if (!comm->rank) memcpy(name, log->section[i].name, NAME_LENGTH);
    TRY(comm->ops->bcast(comm, name, NAME_LENGTH, 0));
    int section = poiseLogFindSection(log, name);
    TRY(ViewEvent(v, name, section < 0 ? &none : &log->section[section]));
  }
  return POISE_OK;
}

static PoiseErr ViewAll(View *v)
{
  const Log *log = v->ctx->log;
  if (v->out) v->writer->head(v->ctx, v->out);
  TRY(ViewTotal(v, log));
  for (int i = 0; i < EVENT_COUNT; i++) TRY(ViewEvent(v, poiseLogName(log, i), &log->event[i]));
  TRY(ViewSections(v, log));
  if (v->out) v->writer->tail(v->out);
  return POISE_OK;
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
  e = ViewAll(
      &(View){.ctx = ctx, .out = ctx->comm->rank ? NULL : out, .writer = &writers[format], .first = true});
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
