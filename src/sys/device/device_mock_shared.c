/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a mock device that mocks of other processes reach: memory that processes share. */
#include "link_device.h"
#include "sys/base/shared_file.h"
#include "sys/sys.h"

enum { UNIT = 4096 }; /* bytes of a block */

static PoiseErr Alloc(Device *dev, size_t bytes, const char *what, LinkHandle *handle, void **p)
{
  _Static_assert(sizeof handle->bytes >= POISE_SHARED_NAME, "a name has room");
  *p = NULL;
  if (!bytes) return POISE_OK;
  TRY(poiseAllocCount(dev->ctx, bytes, what));
  PoiseErr e = poiseSharedFileCreate(bytes, what, handle->bytes, p);
  if (e) poiseFreeCount(dev->ctx);
  return e;
}

static void Free(Device *dev, size_t bytes, void *p)
{
  poiseSharedFileFree(bytes, p);
  poiseFreeCount(dev->ctx);
}

static PoiseErr Open(Device *dev, const LinkHandle *handle, size_t bytes, void **p)
{
  (void)dev;
  return poiseSharedFileOpen(handle->bytes, bytes, p);
}

static void Close(Device *dev, size_t bytes, void *p)
{
  (void)dev;
  poiseSharedFileClose(bytes, p);
}

extern const LinkProcesses poiseMockProcesses;
const LinkProcesses poiseMockProcesses = {
    .patience = 10, .unit = UNIT, .alloc = Alloc, .free = Free, .open = Open, .close = Close};
