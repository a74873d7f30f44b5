/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory that processes share is a file without a name, mapped by all. Others find it by its path among the
  files that its owner has open, which Linux has. No directory limits its size.
*/
#define _GNU_SOURCE /* memfd_create */
#include "shared_file.h"

#include <string.h>

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD = 4096 }; /* bytes in front, with the number of the owner's file */

static void *Map(int file, size_t bytes)
{
  char *base = mmap(NULL, HEAD + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? NULL : base + HEAD;
}

void poiseSharedFileClose(size_t bytes, void *p)
{
  (void)munmap((char *)p - HEAD, HEAD + bytes);
}

/* A new file has zeros. */
PoiseErr poiseSharedFileCreate(size_t bytes, const char *what, char name[POISE_SHARED_NAME], void **p)
{
  *p = NULL;
  int file = memfd_create("poise", MFD_CLOEXEC);
  if (file >= 0 && !ftruncate(file, (off_t)(HEAD + bytes))) *p = Map(file, bytes);
  int code = errno;
  if (!*p) {
    if (file >= 0) (void)close(file);
    FAIL(POISE_ERR_MEMORY, "%zu bytes that processes share for %s: %s", bytes, what, strerror(code));
  }
  memcpy((char *)*p - HEAD, &file, sizeof file);
  snprintf(name, POISE_SHARED_NAME, "/proc/%lld/fd/%d", (long long)getpid(), file);
  return POISE_OK;
}

void poiseSharedFileFree(size_t bytes, void *p)
{
  int file;
  memcpy(&file, (char *)p - HEAD, sizeof file);
  poiseSharedFileClose(bytes, p);
  (void)close(file);
}

PoiseErr poiseSharedFileOpen(const char *name, size_t bytes, void **p)
{
  int file = open(name, O_RDWR | O_CLOEXEC);
  *p = file >= 0 ? Map(file, bytes) : NULL;
  int code = errno;
  if (file >= 0) (void)close(file);
  if (!*p) FAIL(POISE_ERR_DEVICE, "opening memory of another process, %s: %s", name, strerror(code));
  return POISE_OK;
}

#else

PoiseErr poiseSharedFileCreate(size_t bytes, const char *what, char name[POISE_SHARED_NAME], void **p)
{
  (void)bytes, (void)name;
  *p = NULL;
  FAIL(POISE_ERR_UNSUPPORTED, "processes share no memory on this system (%s)", what);
}

PoiseErr poiseSharedFileOpen(const char *name, size_t bytes, void **p)
{
  return poiseSharedFileCreate(bytes, name, NULL, p);
}

void poiseSharedFileClose(size_t bytes, void *p)
{
  (void)bytes, (void)p;
}

void poiseSharedFileFree(size_t bytes, void *p)
{
  (void)bytes, (void)p;
}

#endif
