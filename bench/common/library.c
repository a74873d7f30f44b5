/* SPDX-License-Identifier: BSD-3-Clause */
#define _POSIX_C_SOURCE 200809L
#include "library.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef POISE_HAVE_CUDA
static const Peer *const gpu_peer = &peer_cuda;
#else
static const Peer *const gpu_peer = NULL; /* there is no device cuda, and no context */
#endif

const char *DeviceOf(PoiseContext ctx)
{
  const char *given;
  return PoiseOptionsHas(ctx, NULL, "device", &given) ? given : "host";
}

const Peer *PeerOn(const char *device)
{
  return strcmp(device, "cuda") ? &peer_plain : gpu_peer;
}

static PoiseErr Wait(void *arg)
{
  double dot;
  return PoiseVecDot(((Library *)arg)->one, ((Library *)arg)->one, &dot);
}

static PoiseErr Flush(void *arg)
{
  return PoiseVecSet(((Library *)arg)->flush, 1);
}

PoiseErr OpenLibrary(PoiseContext ctx, double cache, Library *l)
{
  l->lane = (Lane){.arg = l, .synchronous = !strcmp(DeviceOf(ctx), "host"), .wait = Wait, .flush = Flush};
  if (PoiseSize(ctx) == 1)
    l->lane.recorder = PeerOn(DeviceOf(ctx))->recorder, l->lane.stream = PoiseStream(ctx);
  POISE_TRY(PoiseVecCreate(ctx, 1, POISE_DECIDE, &l->one));
  return PoiseVecCreate(ctx, (PoiseInt)(CACHES * cache) / (PoiseInt)sizeof(double), POISE_DECIDE, &l->flush);
}

void CloseLibrary(Library *l)
{
  PoiseVecDestroy(&l->one);
  PoiseVecDestroy(&l->flush);
}

void PlainField(const char *text, char *field, size_t size)
{
  snprintf(field, size, "%s", text);
  for (char *at = field; *at; at++)
    if (*at == ',' || *at == '"') *at = ';';
}

bool Asked(const char *only, const char *name)
{
  char words[POISE_OPTION_LENGTH], *rest = words;
  bool asked = !*only;
  snprintf(words, sizeof words, "%s", only);
  for (char *word = strtok_r(words, " ,", &rest); word; word = strtok_r(NULL, " ,", &rest)) {
    size_t length = strlen(word);
    asked = asked || (!strncmp(name, word, length) && (!name[length] || name[length] == '.'));
  }
  return asked;
}

PoiseErr ViewText(PoiseContext ctx, PoiseErr (*view)(void *object), void *object, char **text)
{
  size_t size = 0;
  *text = NULL;
  FILE *stream = open_memstream(text, &size);
  if (!stream) POISE_FAIL(POISE_ERR_MEMORY, "the text of a view");
  PoiseSetOutput(ctx, stream);
  PoiseErr e = view(object);
  PoiseSetOutput(ctx, NULL);
  fclose(stream);
  return e;
}

PoiseErr ViewMat(void *A)
{
  return PoiseMatView(A);
}

PoiseErr ViewPC(void *pc)
{
  return PoisePCView(pc);
}

PoiseErr ViewKSP(void *ksp)
{
  return PoiseKSPView(ksp);
}

PoiseErr ViewContext(void *ctx)
{
  return PoiseView(ctx);
}

/* Lines, changed. */
static void Tell(char *text, const char *before, FILE *file)
{
  char *rest = text;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    printf("%s%s\n", before, line);
    if (file) fprintf(file, "# %s%s\n", before, line);
  }
}

PoiseErr DescribeRun(PoiseContext ctx, const Peer *peer, void *peer_data, int argc, char **argv, FILE *file)
{
  char text[2048], date[32], *view;
  time_t now = time(NULL);
  strftime(date, sizeof date, "%Y-%m-%d %H:%M:%S", gmtime(&now));
  peer->machine(peer_data, text, sizeof text - 64);
  snprintf(text + strlen(text), 64, "date: %s\n", date);
  Tell(text, "", file);
  if (file) {
    fprintf(file, "# command:");
    for (int k = 0; k < argc; k++) fprintf(file, " %s", argv[k]);
    fprintf(file, "\n");
  }
  PoiseErr e = ViewText(ctx, ViewContext, ctx, &view);
  if (!e) Tell(view, "  ", file);
  free(view);
  return e;
}
