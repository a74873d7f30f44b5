/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernels that number rows of other ranks and their columns, and what else products do by rows. */
#include "mat/assembly/shared_rows_kernels.h"
#include "mat/csr/joined_kernels.h"
#include "mat/multiply/fetched_rows_kernels.h"
#include "mat/multiply/same_pattern_kernels.h"
#include "items.h"

/* Traffic: 16 bytes and two offsets per row. */
extern "C" PoiseErr poiseCuda_fetched_lengths(Device *dev, const void *args)
{
  return LaunchItems<WantedRowsArgs, fetched_lengths_item>(dev, args);
}

/* Traffic: 16 bytes per entry, and an offset per row. Lists of ghosts stay in L2, here and below. */
extern "C" PoiseErr poiseCuda_fetched_columns(Device *dev, const void *args)
{
  return LaunchRows<WantedRowsArgs, fetched_columns_row>(dev, args);
}

/* Traffic: 20 bytes per column. */
extern "C" PoiseErr poiseCuda_fetched_keys(Device *dev, const void *args)
{
  return LaunchItems<ColumnPlacesArgs, fetched_keys_item>(dev, args);
}

/* Traffic: 12 bytes per column. */
extern "C" PoiseErr poiseCuda_fetched_places(Device *dev, const void *args)
{
  return LaunchItems<ColumnPlacesArgs, fetched_places_item>(dev, args);
}

/* Traffic: 8 bytes per entry, and two offsets per row. */
extern "C" PoiseErr poiseCuda_fetched_own(Device *dev, const void *args)
{
  return LaunchItems<OwnRowsArgs, fetched_own_item>(dev, args);
}

/* Traffic: 4 bytes per entry, 12 that are written, and 16 per row; keys received stay in L2. */
extern "C" PoiseErr poiseCuda_shared_keys(Device *dev, const void *args)
{
  return LaunchRows<SharedKeysArgs, shared_keys_row>(dev, args);
}

/* Traffic: 8 bytes per row. */
extern "C" PoiseErr poiseCuda_shared_before(Device *dev, const void *args)
{
  return LaunchItems<SharedKeysArgs, shared_before_item>(dev, args);
}

extern "C" PoiseErr poiseCuda_shared_received(Device *dev, const void *args)
{
  return LaunchItems<SharedKeysArgs, shared_received_item>(dev, args);
}

/* Traffic: 20 bytes per entry, and an offset per row. */
extern "C" PoiseErr poiseCuda_global_entries(Device *dev, const void *args)
{
  return LaunchRows<GlobalEntriesArgs, global_entries_row>(dev, args);
}

/* Traffic: 8 bytes per entry, and two offsets per row. */
extern "C" PoiseErr poiseCuda_same_pattern(Device *dev, const void *args)
{
  return LaunchItems<SamePatternArgs, same_pattern_item>(dev, args);
}

/* Traffic: two offsets per row. */
extern "C" PoiseErr poiseCuda_joined_offsets(Device *dev, const void *args)
{
  return LaunchItems<JoinedOffsetsArgs, joined_offsets_item>(dev, args);
}

/* Traffic: an offset per row, and the rows of entries once, as neighbours search the same places. */
extern "C" PoiseErr poiseCuda_rows_offsets(Device *dev, const void *args)
{
  return LaunchItems<RowsOffsetsArgs, rows_offsets_item>(dev, args);
}

/* Traffic: 8 bytes per entry. Lists of ghosts stay in L2. */
extern "C" PoiseErr poiseCuda_joined_columns(Device *dev, const void *args)
{
  return LaunchItems<JoinedColumnsArgs, joined_columns_item>(dev, args);
}
