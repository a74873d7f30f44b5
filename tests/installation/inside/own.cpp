/* SPDX-License-Identifier: BSD-3-Clause */
/* A library of the parent's own. */
int OwnSize();
int OwnSize()
{
  return 50;
}
