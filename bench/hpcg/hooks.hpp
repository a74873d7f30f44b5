/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Included before each source of HPCG: vectors and matrices that Poise has, too, once OptimizeProblem has run.

  A Vector has a PoiseVec beside its array, made when an optimised routine first sees it. HPCG's own inline
  functions read and write that array on the host; so each is wrapped, and asks for the newest numbers first.
  Copies and zeros are made where the newest numbers are.
*/
#ifndef BENCH_HPCG_HOOKS_HPP
#define BENCH_HPCG_HOOKS_HPP

#define CopyVector            ReferenceCopyVector
#define ZeroVector            ReferenceZeroVector
#define ScaleVectorValue      ReferenceScaleVectorValue
#define FillRandomVector      ReferenceFillRandomVector
#define DeleteVector          ReferenceDeleteVector
#define CopyMatrixDiagonal    ReferenceCopyMatrixDiagonal
#define ReplaceMatrixDiagonal ReferenceReplaceMatrixDiagonal
#define DeleteMatrix          ReferenceDeleteMatrix
#include "SparseMatrix.hpp"
#undef CopyVector
#undef ZeroVector
#undef ScaleVectorValue
#undef FillRandomVector
#undef DeleteVector
#undef CopyMatrixDiagonal
#undef ReplaceMatrixDiagonal
#undef DeleteMatrix

/* The array is the host's to read or write, until an optimised routine takes it back. */
void TakeToHost(const Vector &v);
/* Both have a PoiseVec, or the first has: done there. Otherwise false. */
bool CopyOnDevice(const Vector &v, Vector &w);
bool ZeroOnDevice(Vector &v);
void Forget(Vector &v);
void ReplaceDiagonal(SparseMatrix &A);
void ForgetMatrix();
void ForgetRows(SparseMatrix &A);

inline void CopyVector(const Vector &v, Vector &w)
{
  if (CopyOnDevice(v, w)) return;
  TakeToHost(v);
  TakeToHost(w);
  ReferenceCopyVector(v, w);
}

inline void ZeroVector(Vector &v)
{
  if (!ZeroOnDevice(v)) ReferenceZeroVector(v);
}

inline void ScaleVectorValue(Vector &v, local_int_t index, double value)
{
  TakeToHost(v);
  ReferenceScaleVectorValue(v, index, value);
}

inline void FillRandomVector(Vector &v)
{
  TakeToHost(v);
  ReferenceFillRandomVector(v);
}

inline void DeleteVector(Vector &v)
{
  Forget(v);
  ReferenceDeleteVector(v);
}

inline void CopyMatrixDiagonal(SparseMatrix &A, Vector &diagonal)
{
  TakeToHost(diagonal);
  ReferenceCopyMatrixDiagonal(A, diagonal);
}

inline void ReplaceMatrixDiagonal(SparseMatrix &A, Vector &diagonal)
{
  TakeToHost(diagonal);
  ReferenceReplaceMatrixDiagonal(A, diagonal);
  ReplaceDiagonal(A);
}

inline void DeleteMatrix(SparseMatrix &A)
{
  ForgetMatrix();
  ForgetRows(A);
  ReferenceDeleteMatrix(A);
}

#endif
