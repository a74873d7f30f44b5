/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: what is counted, and the table in its three forms. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <math.h>
#include <unistd.h>

#include "files.h"
#include "sys/base/files.h"
#include "sys/sys.h"
#include "vec/vec_kernels.h"

enum { TEXT = 1 << 16 };

static const char *View(PoiseContext ctx, PoiseLogFormat format, char text[TEXT])
{
  FILE *f = tmpfile();
  text[0] = 0;
  CHECK_OK(PoiseLogView(ctx, f, format));
  Content(f, text, TEXT);
  CHECK(!text[0] == (PoiseRank(ctx) > 0)); /* rank 0 writes */
  fclose(f);
  return text;
}

/* The line of a CSV table that begins with "event", quotes included. */
static const char *Line(const char *csv, const char *event)
{
  char start[80];
  snprintf(start, sizeof start, "\n\"%s\",", event);
  const char *line = strstr(csv, start);
  return line ? line + strlen(start) : NULL;
}

/* A number of the table, on rank 0; NaN when it is not there. */
static double Value(const char *csv, const char *event, const char *column)
{
  const char *line = Line(csv, event), *head = strchr(csv, ',');
  size_t n = strlen(column);
  if (!line || !head) return NAN;
  for (head++; strncmp(head, column, n) || !strchr(",\n", head[n]); head++) {
    head += strcspn(head, ",\n");
    line += strcspn(line, ",\n") + 1;
    if (*head != ',') return NAN;
  }
  return strtod(line, NULL);
}

static bool Is(PoiseContext ctx, const char *csv, const char *event, const char *column, double min,
               double max)
{
  char name[64];
  if (PoiseRank(ctx)) return true;
  snprintf(name, sizeof name, "%s_min", column);
  double least = Value(csv, event, name);
  snprintf(name, sizeof name, "%s_max", column);
  return least == min && Value(csv, event, name) == max;
}

static void Wait(double seconds)
{
  double end = PoiseTime() + seconds;
  while (PoiseTime() < end) continue;
}

static void TestTime(PoiseContext ctx)
{
  char csv[TEXT];
  CHECK_OK(PoiseLogBegin(ctx, "outer"));
  for (int i = 0; i < 3; i++) {
    CHECK_OK(PoiseLogBegin(ctx, "inner"));
    Wait(1e-3);
    CHECK_OK(PoiseLogEnd(ctx, "inner"));
  }
  Wait(2e-3);
  CHECK_OK(PoiseLogEnd(ctx, "outer"));
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "outer", "calls", 1, 1));
  CHECK(Is(ctx, csv, "inner", "calls", 3, 3));
  if (PoiseRank(ctx)) return;
  double inner = Value(csv, "inner", "seconds_min"), outer = Value(csv, "outer", "seconds_min");
  CHECK(inner >= 3e-3);
  CHECK(outer >= 5e-3);
  CHECK(Value(csv, "inner", "seconds_max") >= inner);
  CHECK(Value(csv, "outer", "seconds_max") <= Value(csv, "Total", "seconds_max"));
}

/* Flops, bytes and calls that differ by rank; events around include them. */
static void TestCounts(PoiseContext ctx)
{
  char csv[TEXT];
  double r = PoiseRank(ctx), size = PoiseSize(ctx);
  CHECK_OK(PoiseLogBegin(ctx, "section"));
  for (int i = 0; i <= PoiseRank(ctx); i++) {
    poiseLogBegin(ctx, EVENT_KSPSolve);
    poiseLogBegin(ctx, EVENT_MatMult);
    Wait(1e-5);
    poiseLogEnd(ctx, EVENT_MatMult, 100, 800);
    poiseLogEnd(ctx, EVENT_KSPSolve, 1, 8);
  }
  CHECK_OK(PoiseLogEnd(ctx, "section"));
  poiseLogBegin(ctx, EVENT_MatMult);
  poiseLogEnd(ctx, EVENT_MatMult, 1000 - 100 * (r + 1), 0);
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "MatMult", "calls", 2, size + 1));
  CHECK(Is(ctx, csv, "KSPSolve", "calls", 1, size));
  CHECK(Is(ctx, csv, "section", "calls", 1, 1));
  CHECK(Is(ctx, csv, "MatMult", "flops", 1000, 1000));
  CHECK(Is(ctx, csv, "MatMult", "bytes", 800, 800 * size));
  CHECK(Is(ctx, csv, "KSPSolve", "flops", 101, 101 * size));
  CHECK(Is(ctx, csv, "section", "flops", 101, 101 * size));
  CHECK(Is(ctx, csv, "section", "bytes", 808, 808 * size));
  CHECK(Is(ctx, csv, "Total", "flops", 1001, 1000 + size));
  if (PoiseRank(ctx)) return;
  CHECK(!Line(csv, "MatLoad")); /* did not happen */
  if (size > 1) return;
  double rate = 1e-9 * Value(csv, "MatMult", "bytes_max") / Value(csv, "MatMult", "seconds_max");
  CHECK_NEAR(Value(csv, "MatMult", "gb_per_second_max"), rate, 1e-6 * rate);
}

/* y += the sum of a_j x_j, k vectors of n entries: 2 k n flops; k + 1 vectors are read and y is written. */
static void TestCountsOfSums(PoiseContext ctx)
{
  char csv[TEXT];
  double a[3] = {1, 2, 3}, size = PoiseSize(ctx);
  PoiseVec x[4];
  if (!CHECK_OK(PoiseVecCreate(ctx, 10 * (PoiseRank(ctx) + 1), POISE_DECIDE, &x[0]))) return;
  for (int k = 1; k < 4; k++)
    if (!CHECK_OK(PoiseVecDuplicate(x[0], &x[k]))) return;
  for (int k = 0; k < 4; k++) CHECK_OK(PoiseVecSet(x[k], 1));
  CHECK_OK(PoiseLogBegin(ctx, "sum"));
  CHECK_OK(PoiseVecMAXPY(x[0], 3, a, x + 1));
  CHECK_OK(PoiseLogEnd(ctx, "sum"));
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "sum", "flops", 60, 60 * size));
  CHECK(Is(ctx, csv, "sum", "bytes", 400, 400 * size));
  for (int k = 0; k < 4; k++) PoiseVecDestroy(&x[k]);
}

static void Recurse(PoiseContext ctx, int levels)
{
  CHECK_OK(PoiseLogBegin(ctx, "recursion"));
  poiseLogBegin(ctx, EVENT_VecDot);
  poiseLogEnd(ctx, EVENT_VecDot, 7, 0);
  if (levels) Recurse(ctx, levels - 1);
  Wait(2e-4);
  CHECK_OK(PoiseLogEnd(ctx, "recursion"));
}

/* An event inside itself counts what it includes once. */
static void TestRecursion(PoiseContext ctx)
{
  char csv[TEXT];
  double begin = PoiseTime();
  Recurse(ctx, 9);
  double took = PoiseTime() - begin;
  CHECK_OK(PoiseMax(ctx, 1, &took));
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "recursion", "calls", 10, 10));
  CHECK(Is(ctx, csv, "recursion", "flops", 70, 70));
  if (PoiseRank(ctx)) return;
  CHECK(Value(csv, "recursion", "seconds_min") >= 2e-3);
  CHECK(Value(csv, "recursion", "seconds_max") <= took);
}

/* Errors skip ends: later events are counted as before. */
static void TestAbandoned(PoiseContext ctx)
{
  char csv[TEXT];
  CHECK_OK(PoiseLogBegin(ctx, "around"));
  poiseLogBegin(ctx, EVENT_PCApply);
  poiseLogBegin(ctx, EVENT_PCApply);
  CHECK_OK(PoiseLogEnd(ctx, "around"));
  for (int i = 0; i < 300; i++) poiseLogBegin(ctx, i % 2 ? EVENT_MatMult : EVENT_VecNorm);
  for (int i = 0; i < 5; i++) {
    poiseLogBegin(ctx, EVENT_MatMult);
    Wait(1e-4);
    poiseLogEnd(ctx, EVENT_MatMult, 3, 0);
  }
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "around", "calls", 1, 1));
  CHECK(Is(ctx, csv, "MatMult", "calls", 5, 5));
  CHECK(Is(ctx, csv, "MatMult", "flops", 15, 15));
  CHECK(PoiseRank(ctx) || Value(csv, "MatMult", "seconds_min") >= 5e-4);
  CHECK(PoiseRank(ctx) || !Line(csv, "PCApply"));
}

/* Deeper than is kept. */
static void TestDeep(PoiseContext ctx)
{
  char name[16], csv[TEXT];
  for (int i = 0; i < 200; i++) {
    snprintf(name, sizeof name, "s%d", i);
    CHECK_OK(PoiseLogBegin(ctx, name));
  }
  int ended = 0;
  for (int i = 199; i >= 0; i--) {
    snprintf(name, sizeof name, "s%d", i);
    PoiseErr e = PoiseLogEnd(ctx, name);
    CHECK(e == POISE_OK || e == POISE_ERR_STATE);
    CHECK(e || ended == 199 - i); /* the innermost ones are kept */
    ended += !e;
  }
  PoiseErrorClear();
  CHECK(ended >= 32 && ended < 200);
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "s199", "calls", 1, 1));
}

static void TestResources(PoiseContext ctx)
{
  char csv[TEXT];
  double v[7] = {0}, before[7], after[7];
  double *p[3] = {NULL, NULL, NULL};
  Buffer buffer = {0};
  CHECK_OK(PoiseLogBegin(ctx, "work")); /* allocates the list of sections */
  CHECK_OK(PoiseLogEnd(ctx, "work"));
  double *now[2] = {before, after};
  for (int i = 0; i < 2; i++) {
    if (i) {
      CHECK_OK(PoiseLogBegin(ctx, "work"));
      for (int k = 0; k < 3; k++) CHECK_OK(poiseAlloc(ctx, 64, "block", &p[k]));
      double *host;
      const double *device;
      CHECK_OK(poiseBufferCreate(ctx->device, 64, "buffer", &buffer));
      CHECK_OK(poiseBufferUpdate(&buffer, HOST, &host));
      CHECK_OK(poiseBufferRead(&buffer, DEVICE, &device));
      CHECK_OK(poiseBufferUpdate(&buffer, DEVICE, &host));
      CHECK_OK(LAUNCH(ctx->device, phase, &(PhaseArgs){.id = PHASE_vec_set, .n = 8, .out = {host}}));
      CHECK_OK(poiseBufferRead(&buffer, HOST, &device));
      CHECK_OK(LAUNCH(ctx->device, gather, &(GatherArgs){.n = 0}));
      CHECK_OK(poiseDeviceSync(ctx->device));
      CHECK_OK(PoiseSum(ctx, 4, v));
      CHECK_OK(PoiseLogEnd(ctx, "work"));
    }
    now[i][0] = (double)ctx->memory.calls;
    now[i][1] = (double)ctx->comm->messages;
    now[i][2] = (double)ctx->comm->message_bytes;
    now[i][3] = (double)ctx->device->copies;
    now[i][4] = (double)ctx->device->copied[COPY_TO_DEVICE];
    now[i][5] = (double)ctx->device->copied[COPY_TO_HOST];
    now[i][6] = (double)ctx->device->waits;
  }
  for (int k = 0; k < 3; k++) poiseFree(ctx, &p[k]);
  poiseBufferDestroy(&buffer);
  static const char *const columns[] = {"allocations",     "messages",      "message_bytes", "copies",
                                        "to_device_bytes", "to_host_bytes", "waits"};
  double away = !ctx->device->ops->is_host;
  for (int c = 0; c < 7; c++) v[c] = after[c] - before[c];
  CHECK(v[0] >= 4 && v[3] == 2 * away && v[4] == 64 * away && v[5] == 64 * away && v[6] >= 2 * away &&
        v[6] <= 4 * away);
  CHECK((PoiseSize(ctx) > 1) == (v[1] > 0) && (PoiseSize(ctx) > 1) == (v[2] > 0));
  double most[7], least[7];
  for (int c = 0; c < 7; c++) most[c] = v[c], least[c] = -v[c];
  CHECK_OK(PoiseMax(ctx, 7, most));
  CHECK_OK(PoiseMax(ctx, 7, least));
  View(ctx, POISE_LOG_CSV, csv);
  for (int c = 0; c < 7; c++) CHECK(Is(ctx, csv, "work", columns[c], -least[c], most[c]));
  CHECK(Is(ctx, csv, "work", "launches", 2, 2));
}

/* The time of an event that leaves work on the device says nothing about that work. */
static void TestDeviceTime(PoiseContext ctx)
{
  char csv[TEXT];
  double *p;
  Buffer buffer = {0};
  bool late = !ctx->device->ops->is_host, seen = !late || ctx->device->ops->poison; /* p can be read here */
  CHECK_OK(poiseBufferCreate(ctx->device, 64, "buffer", &buffer));
  CHECK_OK(poiseBufferUpdate(&buffer, DEVICE, &p));
  CHECK_OK(poiseDeviceSync(ctx->device));
  for (int k = 0; k < 3; k++) { /* the event waits; it is waited for; nobody waits */
    static const int events[] = {EVENT_VecDot, EVENT_VecUpdate, EVENT_MatMult};
    ctx->log_device_time = k == 1;
    poiseLogBegin(ctx, events[k]);
    PhaseArgs a = {.id = PHASE_vec_set, .n = 8, .out = {p}, .c = {{.value = k}}};
    CHECK_OK(LAUNCH(ctx->device, phase, &a));
    Wait(1e-5);
    if (k == 0) CHECK_OK(poiseDeviceSync(ctx->device));
    int64_t waits = ctx->device->waits;
    poiseLogEnd(ctx, events[k], 0, 1e6);
    CHECK_INT(ctx->device->waits, waits); /* that of the log is not the library's */
    CHECK(k == 2 || !seen || p[7] == k);
    CHECK(ctx->device->busy == (late && k == 2));
  }
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(PoiseRank(ctx) || Value(csv, "VecDot", "gb_per_second_min") > 0);
  CHECK(PoiseRank(ctx) || Value(csv, "VecUpdate", "gb_per_second_min") > 0);
  CHECK(PoiseRank(ctx) || (Value(csv, "MatMult", "gb_per_second_max") > 0) == !late);
  poiseBufferDestroy(&buffer);
}

static int ranges;
static char latest[64];

static void Range(const char *name)
{
  ranges += name ? 1 : -1;
  if (name) snprintf(latest, sizeof latest, "%s", name);
}

/* A device is told of each event, and of no end twice. */
static void TestRanges(PoiseContext ctx)
{
  const DeviceOps *whole = ctx->device->ops;
  DeviceOps ops = *whole;
  ops.range = Range;
  ctx->device->ops = &ops;
  CHECK_OK(PoiseLogBegin(ctx, "around"));
  CHECK(ranges == 1 && !strcmp(latest, "around"));
  poiseLogBegin(ctx, EVENT_MatMult);
  CHECK(ranges == 2 && !strcmp(latest, "MatMult"));
  poiseLogEnd(ctx, EVENT_MatMult, 0, 0);
  CHECK_INT(ranges, 1);
  poiseLogEnd(ctx, EVENT_MatMult, 0, 0); /* without a begin */
  CHECK_INT(ranges, 1);
  for (int k = 0; k < 3; k++) poiseLogBegin(ctx, EVENT_PCApply); /* whose ends an error skips */
  CHECK_INT(ranges, 4);
  CHECK_OK(PoiseLogEnd(ctx, "around"));
  CHECK_INT(ranges, 0);
  ctx->device->ops = whole;
}

/* An event allocates nothing. */
static void TestCheap(PoiseContext ctx)
{
  int64_t calls;
  CHECK_OK(PoiseLogBegin(ctx, "first"));
  CHECK_OK(PoiseLogEnd(ctx, "first"));
  calls = ctx->memory.calls;
  for (int i = 0; i < 1000; i++) {
    poiseLogBegin(ctx, EVENT_MatMult);
    CHECK_OK(PoiseLogBegin(ctx, "first"));
    CHECK_OK(PoiseLogEnd(ctx, "first"));
    poiseLogEnd(ctx, EVENT_MatMult, 1, 1);
  }
  CHECK_INT(ctx->memory.calls, calls);
}

/* Sections in rank 0's order; names that rank 0 lacks are left out. */
static void TestMerge(PoiseContext ctx)
{
  static const char *const zero[] = {"b", "a", "zero", NULL}, *const others[] = {"a", "other", "b", NULL};
  char csv[TEXT];
  double several = PoiseSize(ctx) > 1;
  for (const char *const *name = PoiseRank(ctx) ? others : zero; *name; name++) {
    CHECK_OK(PoiseLogBegin(ctx, *name));
    poiseLogBegin(ctx, EVENT_VecDot);
    poiseLogEnd(ctx, EVENT_VecDot, **name, 0);
    CHECK_OK(PoiseLogEnd(ctx, *name));
  }
  View(ctx, POISE_LOG_CSV, csv);
  CHECK(Is(ctx, csv, "a", "flops", 'a', 'a'));
  CHECK(Is(ctx, csv, "b", "flops", 'b', 'b'));
  CHECK(Is(ctx, csv, "zero", "calls", several ? 0 : 1, 1));
  CHECK(PoiseRank(ctx) || (!Line(csv, "other") && Line(csv, "b") < Line(csv, "a")));
}

static void TestNames(PoiseContext ctx)
{
  char name[100];
  memset(name, 'n', sizeof name);
  name[64] = 0;
  CHECK_ERR(PoiseLogBegin(ctx, name), POISE_ERR_ARG, "64 characters");
  name[63] = 0;
  CHECK_OK(PoiseLogBegin(ctx, name));
  CHECK_OK(PoiseLogEnd(ctx, name));
  CHECK_ERR(PoiseLogEnd(ctx, name), POISE_ERR_STATE, name);
  CHECK_ERR(PoiseLogEnd(ctx, "never"), POISE_ERR_STATE, "\"never\"");
  CHECK_ERR(PoiseLogBegin(ctx, ""), POISE_ERR_ARG, "0 characters");
  CHECK_ERR(PoiseLogBegin(ctx, "a\nb"), POISE_ERR_ARG, "control character");
  CHECK_ERR(PoiseLogBegin(ctx, NULL), POISE_ERR_ARG, "NULL");
  CHECK_ERR(PoiseLogBegin(NULL, "a"), POISE_ERR_ARG, "NULL");
  CHECK_ERR(PoiseLogEnd(ctx, NULL), POISE_ERR_ARG, "NULL");
}

/* ---- the forms ------------------------------------------------------------------------------- */

/* The end of a JSON value at s, or NULL when there is none. */
static const char *Json(const char *s);

static const char *Space(const char *s)
{
  while (*s == ' ' || *s == '\n') s++;
  return s;
}

static const char *JsonString(const char *s)
{
  if (*s++ != '"') return NULL;
  for (; *s && *s != '"'; s++) {
    if ((unsigned char)*s < ' ') return NULL;
    if (*s == '\\' && !strchr("\"\\", *++s)) return NULL;
  }
  return *s ? s + 1 : NULL;
}

static const char *JsonList(const char *s, char close, bool keys)
{
  s = Space(s + 1);
  if (*s == close) return s + 1;
  for (;;) {
    if (keys) {
      s = JsonString(Space(s));
      if (!s || *Space(s) != ':') return NULL;
      s = Space(s) + 1;
    }
    s = Json(Space(s));
    if (!s) return NULL;
    s = Space(s);
    if (*s == close) return s + 1;
    if (*s++ != ',') return NULL;
  }
}

static const char *Json(const char *s)
{
  char *end;
  if (*s == '{') return JsonList(s, '}', true);
  if (*s == '[') return JsonList(s, ']', false);
  if (*s == '"') return JsonString(s);
  if (*s != '-' && !isdigit((unsigned char)*s)) return NULL;
  (void)strtod(s, &end);
  return end;
}

static void Fill(PoiseContext ctx)
{
  static const char *const names[] = {"plain", "with space", "q\"uo\"te", "back\\slash", "comma, and 'more'"};
  for (int i = 0; i < 5; i++) {
    CHECK_OK(PoiseLogBegin(ctx, names[i]));
    poiseLogBegin(ctx, EVENT_MatMult);
    poiseLogEnd(ctx, EVENT_MatMult, 1e12 / 7, 1e15 / 9);
    CHECK_OK(PoiseLogEnd(ctx, names[i]));
  }
}

static void TestJson(PoiseContext ctx)
{
  char text[TEXT], words[64];
  View(ctx, POISE_LOG_JSON, text);
  CHECK(PoiseRank(ctx) || (Json(text) && !*Space(Json(text))));
  Fill(ctx);
  View(ctx, POISE_LOG_JSON, text);
  if (PoiseRank(ctx)) return;
  const char *end = Json(text);
  CHECK(end && !*Space(end));
  CHECK(strstr(text, "\"q\\\"uo\\\"te\"") && strstr(text, "\"back\\\\slash\""));
  CHECK(
      strstr(text, "{\"name\": \"MatMult\", \"calls\": {\"min\": 5, \"max\": 5}, \"seconds\": {\"min\": ") !=
      NULL);
  snprintf(words, sizeof words, "\"ranks\": %d", PoiseSize(ctx));
  CHECK(strstr(text, words) != NULL);
}

static void TestCsv(PoiseContext ctx)
{
  char text[TEXT];
  Fill(ctx);
  View(ctx, POISE_LOG_CSV, text);
  if (PoiseRank(ctx)) return;
  CHECK(strstr(text, "\n\"q\"\"uo\"\"te\",") && strstr(text, "\n\"back\\slash\","));
  int commas = 0, rows = 0;
  for (const char *s = text; *s; s++) { /* as many fields in each row */
    bool quoted = false;
    int count = 0;
    for (; quoted || *s != '\n'; s++) {
      if (!CHECK(*s)) return;
      if (*s == '"') quoted = !quoted;
      count += *s == ',' && !quoted;
    }
    if (rows++) CHECK_INT(count, commas);
    commas = count;
  }
  CHECK_INT(commas, 28);
  CHECK_INT(rows, 1 + 1 + 1 + 5);
}

/* A line of the table for people. */
typedef struct Shown {
  double calls, seconds, time, own, per_call;
} Shown;

static bool ReadShown(const char *line, int name, Shown *v)
{
  static const char *const units[] = {"s", "ms", "us"};
  char unit[4] = "";
  int n = sscanf(line + name, "%lf %lf %lf %lf %lf %3s", &v->calls, &v->seconds, &v->time, &v->own,
                 &v->per_call, unit);
  for (int k = 0; k < 3; k++)
    if (!strcmp(unit, units[k])) v->per_call *= pow(1e-3, k);
  return n == 6;
}

/* Shares of one's own add up to 100 %, those of time are of the first row, calls and times are those of the
   CSV, and the slowest event comes first. */
static void TestTable(PoiseContext ctx)
{
  char text[TEXT], csv[TEXT], name[24] = "";
  int rows = 0, several = PoiseSize(ctx) > 1, width = 20 + 4 * several;
  double sum = 0, last = INFINITY;
  Shown all = {0}, v;
  Fill(ctx);
  CHECK_OK(PoiseLogBegin(ctx, "outer"));
  for (int i = 0; i < 3; i++) {
    poiseLogBegin(ctx, EVENT_KSPSolve);
    poiseLogBegin(ctx, EVENT_PCApply);
    Wait(2e-3);
    poiseLogEnd(ctx, EVENT_PCApply, 0, 0);
    Wait(1e-3);
    poiseLogEnd(ctx, EVENT_KSPSolve, 0, 0);
  }
  CHECK_OK(PoiseLogEnd(ctx, "outer"));
  View(ctx, POISE_LOG_TEXT, text);
  View(ctx, POISE_LOG_CSV, csv);
  if (PoiseRank(ctx)) return;
  CHECK(strstr(text, ctx->device->ops->name) && !strstr(text, "MatLoad") && strstr(text, "y = A x"));
  const char *line = strstr(text, "\nTotal") + 1;
  for (; *line; line += strcspn(line, "\n") + 1, rows++) {
    if (several && rows % 2) continue; /* the minimum over ranks */
    if (!CHECK(ReadShown(line, width, &v))) return;
    if (!rows) all = v;
    sum += v.own;
    snprintf(name, 21, "%.20s", line);
    for (size_t n = strlen(name); n > 0 && name[n - 1] == ' '; n--) name[n - 1] = 0;
    CHECK(v.own <= v.time + 0.051 && v.seconds <= (rows ? last : v.seconds) + 1e-4);
    if (rows) last = v.seconds;
    if (!strchr(name, '"')) CHECK_NEAR(v.seconds, Value(csv, name, "seconds_max"), rows ? 5.1e-5 : INFINITY);
    if (!strchr(name, '"')) CHECK_NEAR(v.calls, Value(csv, name, "calls_max"), 0);
    CHECK_NEAR(v.per_call * v.calls, v.seconds, 5.1e-5 + 5e-3 * v.seconds);
    if (!several) CHECK_NEAR(v.time, 100 * v.seconds / all.seconds, 0.06 + 1.1e-2 / all.seconds);
    if (!strcmp(name, "KSPSolve")) CHECK(v.own < v.time && v.seconds >= 9e-3);
  }
  CHECK_INT(rows, 10 * (1 + several));
  CHECK_NEAR(sum, 100, 0.05 * 10 + 0.01);
}

/* Seconds of one's own: of all events those of the whole, whatever is nested in what, or was given up. */
static void TestOwn(PoiseContext ctx)
{
  static const char *const all[] = {"Total", "around", "recursion", "VecDot", "MatMult", "PCApply"};
  char csv[TEXT];
  double sum = 0;
  CHECK_OK(PoiseLogBegin(ctx, "around"));
  Recurse(ctx, 4);
  poiseLogBegin(ctx, EVENT_PCApply); /* is given up, not what has ended in it */
  poiseLogBegin(ctx, EVENT_MatMult);
  Wait(2e-3);
  poiseLogEnd(ctx, EVENT_MatMult, 0, 0);
  Wait(1e-3);
  CHECK_OK(PoiseLogEnd(ctx, "around"));
  View(ctx, POISE_LOG_CSV, csv);
  if (PoiseRank(ctx)) return;
  for (int k = 0; k < 5; k++) {
    double own = Value(csv, all[k], "own_seconds_max");
    CHECK(Value(csv, all[k], "own_seconds_min") > -1e-9 && own <= Value(csv, all[k], "seconds_max") + 1e-9);
    sum += own;
  }
  double whole = Value(csv, "Total", "seconds_max");
  CHECK(Value(csv, "around", "own_seconds_min") >= 1e-3);
  CHECK(Value(csv, "MatMult", "own_seconds_min") >= 2e-3);
  if (PoiseSize(ctx) == 1) CHECK_NEAR(sum, whole, 1e-9);
}

/* ---- where it goes --------------------------------------------------------------------------- */

static void TestViewErrors(PoiseContext ctx)
{
  PoiseErr mine = PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_FILE;
  CHECK_ERR(PoiseLogView(ctx, stdout, (PoiseLogFormat)7), POISE_ERR_ARG, "7 is no format");
  CHECK_ERR(PoiseLogView(NULL, stdout, POISE_LOG_TEXT), POISE_ERR_ARG, "NULL");
  CHECK_ERR(PoiseLogView(ctx, NULL, POISE_LOG_TEXT), PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_ARG,
            "no file");
  FILE *full = fopen("/dev/full", "w");
  if (!full) return;
  CHECK_ERR(PoiseLogView(ctx, full, POISE_LOG_TEXT), mine, "cannot be written");
  fclose(full);
}

static void Name(PoiseContext ctx, char path[32], const char *format, char option[64])
{
  strcpy(path, "test_log_XXXXXX");
  int fd = mkstemp(path); /* only rank 0's is written */
  CHECK(fd >= 0);
  close(fd);
  if (PoiseRank(ctx)) remove(path);
  snprintf(option, 64, ":%s%s", path, format);
}

static void TestOption(PoiseContext ctx)
{
  static const char *const formats[][2] = {
      {"", "Poise log"}, {":text", "Poise log"}, {":csv", "event,"}, {":json", "{\""}};
  char path[32], option[64], text[TEXT];
  for (int i = 0; i < 4; i++) {
    Name(ctx, path, formats[i][0], option);
    CHECK_OK(poiseLogViewOption(ctx, option));
    if (PoiseRank(ctx)) {
      CHECK(access(path, F_OK)); /* rank 0 writes */
      continue;
    }
    CHECK(!strncmp(TextOf(path, text, TEXT), formats[i][1], strlen(formats[i][1])));
    remove(path);
  }
}

/* Where output goes, and in which form: as a word says, or the ending. */
static void TestSplit(PoiseContext ctx)
{
  static const char *const words[] = {"text", "csv"};
  static const struct {
    const char *value, *path;
    int format;
  } cases[] = {{":a", "a", 0},   {":a.csv", "a.csv", 1},     {":a.csv:text", "a.csv", 0}, {":a:csv", "a", 1},
               {"::csv", "", 1}, {":csv.d/a", "csv.d/a", 0}, {":.csv", ".csv", 1},        {":", "", 0}};
  char path[POISE_OPTION_LENGTH];
  (void)ctx;
  for (int k = 0; k < 8; k++) {
    int format = -1;
    CHECK_OK(poiseFileSplit(cases[k].value, 2, words, path, &format));
    CHECK(!strcmp(path, cases[k].path));
    CHECK_INT(format, cases[k].format);
  }
  CHECK_ERR(poiseFileSplit("a", 2, words, path, &(int){0}), POISE_ERR_OPTION, ":file:text|csv");
  CHECK_ERR(poiseFileSplit(":a.csv:json", 2, words, path, &(int){0}), POISE_ERR_OPTION,
            "'json' is not a format");
}

static void TestOptionOutput(PoiseContext ctx)
{
  static const char *const cases[][2] = {
      {NULL, "Poise log"}, {"", "Poise log"}, {":", "Poise log"}, {"::csv", "event,"}, {"::json", "{\""}};
  FILE *old = ctx->out;
  char text[TEXT];
  for (int i = 0; i < 5; i++) {
    FILE *f = tmpfile();
    PoiseSetOutput(ctx, f);
    CHECK_OK(poiseLogViewOption(ctx, cases[i][0]));
    Content(f, text, TEXT);
    CHECK(!strncmp(text, cases[i][1], PoiseRank(ctx) ? 0 : strlen(cases[i][1])));
    fclose(f);
  }
  PoiseSetOutput(ctx, old);
}

static void TestOptionErrors(PoiseContext ctx)
{
  char text[POISE_OPTION_LENGTH + 10] = ":";
  memset(text + 1, 'a', POISE_OPTION_LENGTH);
  CHECK_ERR(poiseLogViewOption(ctx, "elsewhere"), POISE_ERR_OPTION, "-log_view elsewhere: expected :file");
  CHECK_ERR(poiseLogViewOption(ctx, ":f:jsn"), POISE_ERR_OPTION, "did you mean 'json'?");
  CHECK_ERR(poiseLogViewOption(ctx, ":f:"), POISE_ERR_OPTION, "text|csv|json");
  CHECK_ERR(poiseLogViewOption(ctx, text), POISE_ERR_OPTION, "expected");
  CHECK_ERR(poiseLogViewOption(ctx, ":no/such/folder/f:csv"),
            PoiseRank(ctx) ? POISE_ERR_REMOTE : POISE_ERR_FILE, "no/such/folder/f");
}

/* A limit on the size of files, which is the process's, stands in for a full disk. */
static void TestFull(PoiseContext ctx)
{
  char path[32], option[64], text[TEXT], again[TEXT];
  Name(ctx, path, ":json", option);
  CHECK_OK(poiseLogViewOption(ctx, option));
  TextOf(path, text, TEXT);
  LimitFiles(50);
  PoiseErr e = poiseLogViewOption(ctx, option);
  LimitFiles(-1);
  CHECK_ERR(e, POISE_ERR_FILE, "");
  CHECK(*text && !strcmp(TextOf(path, again, TEXT), text)); /* the old file stays */
  remove(path);
}

static PoiseErr BeginNew(PoiseContext ctx, void *arg)
{
  char name[32];
  snprintf(name, sizeof name, "section %d", ++*(int *)arg);
  PoiseErr e = PoiseLogBegin(ctx, name);
  if (!e) e = PoiseLogEnd(ctx, name);
  return PoiseAgree(ctx, e);
}

static PoiseErr ToFile(PoiseContext ctx, void *option)
{
  return poiseLogViewOption(ctx, option);
}

static void TestMemory(PoiseContext ctx)
{
  char path[32], option[64], text[TEXT];
  int sections = 0;
  TestAllocationFailures(ctx, BeginNew, &sections);
  CHECK(sections > 1);
  Name(ctx, path, ":csv", option);
  TestAllocationFailures(ctx, ToFile, option);
  if (PoiseRank(ctx)) return;
  CHECK(Line(TextOf(path, text, TEXT), "section 1") != NULL);
  remove(path);
}

static const Test tests[] = {{"time", TestTime, TEST_HOST_ONLY},
                             {"counts", TestCounts, TEST_HOST_ONLY},
                             {"counts_of_sums", TestCountsOfSums, TEST_HOST_ONLY},
                             {"recursion", TestRecursion, TEST_HOST_ONLY},
                             {"abandoned", TestAbandoned, TEST_HOST_ONLY},
                             {"deep", TestDeep, TEST_HOST_ONLY},
                             {"resources", TestResources, 0},
                             {"cheap", TestCheap, TEST_HOST_ONLY},
                             {"merge", TestMerge, TEST_HOST_ONLY},
                             {"names", TestNames, TEST_HOST_ONLY},
                             {"json", TestJson, 0},
                             {"device_time", TestDeviceTime, 0},
                             {"ranges", TestRanges, TEST_HOST_ONLY | TEST_SERIAL},
                             {"csv", TestCsv, 0},
                             {"table", TestTable, 0},
                             {"own", TestOwn, 0},
                             {"split", TestSplit, TEST_SERIAL | TEST_HOST_ONLY},
                             {"view_errors", TestViewErrors, TEST_HOST_ONLY},
                             {"option", TestOption, TEST_HOST_ONLY},
                             {"option_output", TestOptionOutput, TEST_HOST_ONLY},
                             {"option_errors", TestOptionErrors, TEST_HOST_ONLY},
                             {"full", TestFull, TEST_HOST_ONLY | TEST_SERIAL},
                             {"memory", TestMemory, TEST_HOST_ONLY},
                             {NULL, NULL, 0}};

int main(int argc, char **argv)
{
  return TestMain(argc, argv, "log", tests);
}
