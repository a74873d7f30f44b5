! SPDX-License-Identifier: BSD-3-Clause
! A Fortran code that owns its arrays, counted from 1, and calls Poise for the linear system: -div(k grad u) = 1 on the unit
! square, u = 0 around it, k ten times larger in one direction than in the other; five-point differences on n x n points.
!
!   ./diffusion -ksp_monitor
!   mpirun -n 2 ./diffusion      where the library has MPI, which it starts and ends here
program diffusion
  use, intrinsic :: iso_fortran_env, only: error_unit
  use poise
  implicit none

  integer, parameter :: n = 60, rows = n * n
  ! This rank's rows. Lent to the library, so they have the attribute target.
  integer(c_int32_t), allocatable, target :: ptr(:), col(:)
  real(c_double), allocatable, target :: val(:), b(:), u(:)
  integer :: first, m      ! they are rows first .. first + m - 1 of 1 .. rows
  type(c_ptr) :: ctx
  real(c_double) :: residual
  integer(c_int) :: err

  residual = huge(residual)
  err = poise_begin(ctx) ! PoiseInitialize with the words of the command line
  call stop_if(err)
  running: block
    call assemble()
    err = refused()
    if (err /= POISE_OK) exit running
    err = solve()
  end block running
  if (err /= POISE_OK) write (error_unit, '(a)') PoiseErrorText()
  call stop_if(PoiseFinalize(ctx))
  if (err /= POISE_OK .or. .not. residual < 1e-8_c_double) stop 1

contains

  ! The program decides what an error means: here, that it is at an end.
  subroutine stop_if(code)
    integer(c_int), intent(in) :: code
    if (code == POISE_OK) return
    write (error_unit, '(a)') PoiseErrorText()
    stop 1
  end subroutine

  subroutine assemble()
    real(c_double), parameter :: kx = 10, ky = 1
    integer(POISE_INT) :: begin, mine
    integer :: row, i, j, nz
    call PoiseSplit(ctx, int(rows, POISE_INT), begin, mine)
    first = int(begin) + 1
    m = int(mine)
    allocate (ptr(m + 1), col(5 * m), val(5 * m), b(m), u(m))
    nz = 0
    do row = first, first + m - 1
      i = (row - 1) / n + 1
      j = row - (i - 1) * n
      ptr(row - first + 1) = nz + 1
      if (i > 1) call add(nz, row - n, -ky)
      if (j > 1) call add(nz, row - 1, -kx)
      call add(nz, row, 2 * (kx + ky))
      if (j < n) call add(nz, row + 1, -kx)
      if (i < n) call add(nz, row + n, -ky)
    end do
    ptr(m + 1) = nz + 1
    b = 1 / real(n + 1, c_double)**2
    u = 0
  end subroutine

  subroutine add(nz, column, v)
    integer, intent(inout) :: nz
    integer, intent(in) :: column
    real(c_double), intent(in) :: v
    nz = nz + 1
    col(nz) = column
    val(nz) = v
  end subroutine

  function arrays() result(csr)
    type(PoiseCSR) :: csr ! its base is 1, see the module
    csr%ptr32 = c_loc(ptr)
    csr%col32 = c_loc(col)
    csr%val = c_loc(val)
  end function

  ! An error that the program lives with: the same arrays, said to be counted from 0. The library answers with a code and words,
  ! on all ranks, and takes nothing.
  integer(c_int) function refused() result(answer)
    type(PoiseCSR) :: wrong
    type(c_ptr) :: A
    wrong = arrays()
    wrong%base = 0
    answer = PoiseMatCreateCSR(ctx, int(m, POISE_INT), int(m, POISE_INT), int(rows, POISE_INT), int(rows, POISE_INT), wrong, &
                               POISE_COPY, A)
    if (answer == POISE_OK) error stop "arrays with a wrong base were taken"
    if (PoiseRank(ctx) == 0) print '(2a)', "Fortran: refused, as it should be: ", PoiseErrorMessage()
    answer = POISE_OK
  end function

  ! What is created is released at the end, after an error too: Destroy passes over what is c_null_ptr.
  integer(c_int) function solve() result(answer)
    type(c_ptr) :: A, rhs, solution, ksp, pc
    integer(c_int) :: released
    integer(POISE_INT) :: local, all
    A = c_null_ptr
    rhs = c_null_ptr
    solution = c_null_ptr
    ksp = c_null_ptr
    local = m
    all = rows
    solving: block
      ! The values and both vectors are used where they are; offsets and columns, counted from 1, are converted once.
      answer = PoiseMatCreateCSR(ctx, local, local, all, all, arrays(), POISE_BORROW, A)
      if (answer /= POISE_OK) exit solving
      answer = PoiseVecCreateArray(ctx, local, all, c_loc(b), POISE_BORROW, rhs)
      if (answer /= POISE_OK) exit solving
      answer = PoiseVecCreateArray(ctx, local, all, c_loc(u), POISE_BORROW, solution)
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPCreate(ctx, ksp)
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPSetType(ksp, "cg")
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPGetPC(ksp, pc)
      if (answer /= POISE_OK) exit solving
      answer = PoisePCSetType(pc, "bjacobi")
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPSetOperators(ksp, A, c_null_ptr)
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPSetTolerances(ksp, 1e-10_c_double, -1.0_c_double, -1.0_c_double, -1_POISE_INT)
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPSetErrorIfNotConverged(ksp, 1_c_int)
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPSetFromOptions(ksp)
      if (answer /= POISE_OK) exit solving
      answer = PoiseKSPSolve(ksp, rhs, solution)
      if (answer /= POISE_OK) exit solving
      answer = find_residual(solution)
      if (answer /= POISE_OK) exit solving
      if (PoiseRank(ctx) == 0) then
        print '(a, i0, a, i0, a, es8.1)', "Fortran: ", PoiseKSPIterations(ksp), " iterations on ", PoiseSize(ctx), &
          " ranks, residual ", residual
      end if
    end block solving
    released = PoiseKSPDestroy(ksp)
    released = PoiseVecDestroy(solution)
    released = PoiseVecDestroy(rhs)
    released = PoiseMatDestroy(A)
  end function

  ! |b - A u| / |b| from the code's own arrays. Of u it has its own rows; those of others come from the library.
  integer(c_int) function find_residual(solution) result(answer)
    type(c_ptr), intent(in) :: solution
    real(c_double) :: whole(rows), r, sums(2)
    integer :: i, k
    answer = PoiseVecGetValues(solution, int(rows, POISE_INT), [(int(i - 1, POISE_INT), i=1, rows)], whole)
    if (answer /= POISE_OK) return
    whole(first:first + m - 1) = u
    sums = 0
    do i = 1, m
      r = b(i)
      do k = ptr(i), ptr(i + 1) - 1
        r = r - val(k) * whole(col(k))
      end do
      sums = sums + [r**2, b(i)**2]
    end do
    answer = PoiseSum(ctx, 2_c_int, sums)
    residual = sqrt(sums(1) / sums(2))
  end function
end program
