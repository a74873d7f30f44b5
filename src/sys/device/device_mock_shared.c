/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Memory of a mock device that mocks of other processes reach: a file without a name, mapped by all. Its
  handle is the path of the file among those that its owner has open, which Linux has.
*/
#define _GNU_SOURCE /* memfd_create */
#include "link_device.h"
#include "sys/sys.h"

#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HEAD = 64, UNIT = 4096 }; /* bytes in front, with the number of the owner's file; of a block */

static void *Map(int file, size_t bytes)
{
  char *base = mmap(NULL, HEAD + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? NULL : base + HEAD;
}

static void Unmap(size_t bytes, void *p)
{
  (void)munmap((char *)p - HEAD, HEAD + bytes);
}

/* A new file has zeros. */
static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, LinkHandle *handle, void **p)
{
  *p = NULL;
  if (!bytes) return POISE_OK;
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  int file = memfd_create("poise", MFD_CLOEXEC);
  if (file >= 0 && !ftruncate(file, (off_t)(HEAD + bytes))) *p = Map(file, bytes);
  int code = errno;
  if (!*p) {
    if (file >= 0) (void)close(file);
    poiseFreeCount(dev->ctx);
    FAIL(POISE_ERR_MEMORY, "%zu bytes that processes share for %s: %s", bytes, what, strerror(code));
  }
  memcpy((char *)*p - HEAD, &file, sizeof file);
  snprintf(handle->bytes, sizeof handle->bytes, "/proc/%lld/fd/%d", (long long)getpid(), file);
  return POISE_OK;
}

static void Free(Device *dev, size_t bytes, void *p)
{
  int file;
  memcpy(&file, (char *)p - HEAD, sizeof file);
  Unmap(bytes, p);
  (void)close(file);
  poiseFreeCount(dev->ctx);
}

static PoiseErr Open(Device *dev, const LinkHandle *handle, size_t bytes, void **p)
{
  int file = open(handle->bytes, O_RDWR | O_CLOEXEC);
  (void)dev;
  *p = file >= 0 ? Map(file, bytes) : NULL;
  int code = errno;
  if (file >= 0) (void)close(file);
  if (!*p) FAIL(POISE_ERR_DEVICE, "opening memory of another process, %s: %s", handle->bytes, strerror(code));
  return POISE_OK;
}

static void Close(Device *dev, size_t bytes, void *p)
{
  (void)dev;
  Unmap(bytes, p);
}

#else

enum { UNIT = 4096 };

static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, LinkHandle *handle, void **p)
{
  (void)dev, (void)bytes, (void)handle;
  *p = NULL;
  FAIL(POISE_ERR_UNSUPPORTED, "mocks of processes share no memory on this system (%s)", what);
}

static PoiseErr Open(Device *dev, const LinkHandle *handle, size_t bytes, void **p)
{
  return Alloc(dev, bytes, handle->bytes, NULL, p);
}

static void Free(Device *dev, size_t bytes, void *p)
{
  (void)dev, (void)bytes, (void)p;
}

static void Close(Device *dev, size_t bytes, void *p)
{
  Free(dev, bytes, p);
}

#endif

extern const LinkProcesses poiseMockProcesses;
const LinkProcesses poiseMockProcesses = {
    .patience = 10, .unit = UNIT, .alloc = Alloc, .free = Free, .open = Open, .close = Close};
