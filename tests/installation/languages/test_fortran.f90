! SPDX-License-Identifier: BSD-3-Clause
! The Fortran module: solves, callbacks, options, vectors and errors, on one rank and on threads.
!
!   test_fortran -ksp_rtol 1e-10        with the folder to write to in POISE_TEST_DIR
module callbacks
  use poise
  implicit none

  integer, parameter :: n = 40
  integer :: monitored = 0

contains

  ! y = A x of tridiag(-1, 2, -1), on one rank
  integer(c_int) function laplace(arg, x, y) bind(c) result(err)
    type(c_ptr), value :: arg, x, y
    real(c_double), pointer :: px(:), py(:)
    type(c_ptr) :: ax, ay
    err = PoiseVecGetRead(x, ax)
    if (err /= POISE_OK) return
    err = PoiseVecGetWrite(y, ay)
    if (err /= POISE_OK) return
    call c_f_pointer(ax, px, [n])
    call c_f_pointer(ay, py, [n])
    py = 2 * px
    py(2:) = py(2:) - px(:n - 1)
    py(:n - 1) = py(:n - 1) - px(2:)
    err = PoiseVecRestore(x, ax)
    if (err == POISE_OK) err = PoiseVecRestore(y, ay)
    if (c_associated(ax) .or. c_associated(ay)) err = POISE_ERR_USER
    if (.not. c_associated(arg)) err = POISE_ERR_USER
  end function

  ! z = r / 2
  integer(c_int) function halve(arg, r, z) bind(c) result(err)
    type(c_ptr), value :: arg, r, z
    err = PoiseVecAXPBY(z, 0.5_c_double, 0.0_c_double, r)
    if (c_associated(arg)) err = POISE_ERR_USER
  end function

  ! keeps the norms in the array that arg is the address of
  integer(c_int) function monitor(ksp, iteration, norm, arg) bind(c) result(err)
    type(c_ptr), value :: ksp, arg
    integer(POISE_INT), value :: iteration
    real(c_double), value :: norm
    real(c_double), pointer :: norms(:)
    call c_f_pointer(arg, norms, [1000])
    monitored = monitored + 1
    norms(iteration + 1) = norm
    err = merge(POISE_OK, POISE_ERR_USER, c_associated(ksp))
  end function

  integer(c_int) function stop_at_five(ksp, iteration, norm, reason, arg) bind(c) result(err)
    type(c_ptr), value :: ksp, arg
    integer(POISE_INT), value :: iteration
    real(c_double), value :: norm
    integer(c_int), intent(inout) :: reason
    if (iteration == 5 .and. norm > 0) reason = POISE_CONVERGED_USER
    err = merge(POISE_OK, POISE_ERR_USER, c_associated(ksp) .and. .not. c_associated(arg))
  end function

  integer(c_int) function refuse(arg, x, y) bind(c) result(err)
    type(c_ptr), value :: arg, x, y
    err = merge(POISE_ERR_USER, POISE_ERR_INTERNAL, c_associated(x) .and. c_associated(y))
    if (c_associated(arg)) err = POISE_ERR_INTERNAL
  end function

  ! Sums and layouts of three ranks, which are threads: several are in this function at once
  recursive integer(c_int) function on_ranks(ranks, arg) bind(c) result(err)
    type(c_ptr), value :: ranks, arg
    real(c_double) :: sums(2)
    integer(POISE_INT) :: begin, rows
    call PoiseSplit(ranks, 10_POISE_INT, begin, rows)
    sums = [1.0_c_double, real(rows, c_double)]
    err = PoiseSum(ranks, 2_c_int, sums)
    if (any(nint(sums) /= [3, 10]) .or. c_associated(arg)) err = POISE_ERR_USER
  end function
end module

program test_fortran
  use, intrinsic :: iso_fortran_env, only: error_unit
  use poise
  use callbacks
  implicit none

  type(c_ptr) :: ctx
  character(:), allocatable :: folder
  integer :: failed = 0, checks = 0

  call need(poise_begin(ctx, PoiseInit(serial=1)))
  call find_folder()
  call vectors()
  call options()
  call arrays()
  call functions()
  call errors()
  call files()
  call need(PoiseOptionsSet(ctx, "ranks", "3"))
  call need(PoiseRun(ctx, c_funloc(on_ranks), c_null_ptr))
  call need(PoiseFinalize(ctx))
  deallocate (folder) ! which a main program does not do at its end
  call check(.not. c_associated(ctx), "Finalize nulls")
  print '(i0, a, i0, a)', checks, " checks, ", failed, " failed"
  if (failed > 0) stop 1

contains

  subroutine need(err)
    integer(c_int), intent(in) :: err
    if (err == POISE_OK) return
    write (error_unit, '(a)') PoiseErrorText()
    error stop
  end subroutine

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    checks = checks + 1
    if (ok) return
    failed = failed + 1
    write (error_unit, '(2a)') "failed: ", what
  end subroutine

  logical function near(a, b)
    real(c_double), intent(in) :: a, b
    near = abs(a - b) <= 1e-12_c_double * max(1.0_c_double, abs(b))
  end function

  subroutine find_folder()
    integer :: length
    call get_environment_variable("POISE_TEST_DIR", length=length)
    allocate (character(length) :: folder)
    call get_environment_variable("POISE_TEST_DIR", folder)
  end subroutine

  subroutine vectors()
    type(c_ptr) :: x, y, xs(2), place
    real(c_double), target :: lent(n)
    real(c_double) :: v(3), norm, dots(2)
    real(c_double), pointer :: entries(:)
    integer(POISE_INT) :: begin, end
    type(PoiseBytes) :: bytes
    integer :: i
    lent = [(real(i, c_double), i=1, n)]
    call need(PoiseVecCreateArray(ctx, int(n, POISE_INT), POISE_DECIDE, c_loc(lent), POISE_BORROW, x))
    call need(PoiseVecDuplicate(x, y))
    call check(PoiseVecSize(y) == n .and. PoiseVecLocalSize(y) == n, "sizes")
    call PoiseVecRange(y, begin, end)
    call check(begin == 0 .and. end == n, "range")
    call check(c_associated(PoiseVecContext(y), ctx), "context")
    call need(PoiseVecSet(y, 2.0_c_double))
    call need(PoiseVecAXPY(y, 3.0_c_double, x)) ! y_i = 2 + 3 i
    call need(PoiseVecGetValues(y, 3_POISE_INT, [0_POISE_INT, -1_POISE_INT, int(n - 1, POISE_INT)], v))
    call check(near(v(1), 5.0_c_double) .and. near(v(3), 2.0_c_double + 3 * n), "values count from 0")
    call need(PoiseVecNorm(x, POISE_NORM_2, norm))
    call check(near(norm, norm2(lent)), "norm")
    xs = [x, y]
    call need(PoiseVecMDot(x, 2_c_int, xs, dots))
    call check(near(dots(1), norm2(lent)**2) .and. near(dots(2), sum(lent * (2 + 3 * lent))), "two dots")
    call need(PoiseVecGetUpdate(x, place))
    call c_f_pointer(place, entries, [n])
    entries = -entries
    call need(PoiseVecRestore(x, place))
    call check(near(lent(n), -real(n, c_double)), "a lent array is changed in place")
    call need(PoiseVecSetValues(x, 1_POISE_INT, [2_POISE_INT], [7.0_c_double]))
    call need(PoiseVecAssemble(x))
    call check(near(lent(3), 7.0_c_double), "an entry is set")
    call need(PoiseVecBytes(x, bytes))
    call check(bytes%host == 8 * n .and. bytes%device == 0, "bytes")
    call need(PoiseVecDestroy(x))
    call need(PoiseVecDestroy(y))
    call check(.not. c_associated(x), "Destroy nulls")
  end subroutine

  subroutine options()
    type(c_ptr) :: value
    integer(c_int) :: unused
    call need(PoiseOptionsSetString(ctx, "-mine_key word # a comment"))
    call check(PoiseOptionsHas(ctx, "mine_", "key", value) == 1, "an option")
    call check(poise_text(value) == "word", "an option's value")
    call check(PoiseOptionsHas(ctx, "mine_", "other", value) == 0, "an option that is not given")
    call check(PoiseOptionsHas(ctx, key="mine_key") == 1, "a prefix and a value may be left out")
    call need(PoiseOptionsSet(ctx, "mine_alone")) ! without a value
    call check(PoiseOptionsHas(ctx, "mine_", "alone", value) == 1, "a key alone")
    call check(poise_text(value) == "", "has no value")
    call check(PoiseOptionsHas(ctx, "ksp_", "rtol", value) == 1, "the command line")
    call check(poise_text(value) == "1e-10", "its value")
    call need(PoiseOptionsSet(ctx, "mine_forgotten", "1"))
    call need(poise_options_unused(ctx, unused))
    call check(unused == 1, "one option is not used")
    call check(PoiseOptionsHas(ctx, "mine_", "forgotten") == 1, "now it is")
  end subroutine

  ! A x = b of arrays that count from 1: x is known
  subroutine arrays()
    integer(c_int32_t), target :: ptr(n + 1), col(3 * n)
    real(c_double), target :: val(3 * n), b(n), u(n), norms(1000)
    type(PoiseCSR) :: csr
    type(c_ptr) :: A, rhs, x, ksp, pc, null
    integer(POISE_INT) :: rows, cols, nz
    integer :: i, j, k
    k = 0
    do i = 1, n
      ptr(i) = k + 1
      do j = max(1, i - 1), min(n, i + 1)
        k = k + 1
        col(k) = j
        val(k) = merge(2.5_c_double, -1.0_c_double, i == j)
      end do
    end do
    ptr(n + 1) = k + 1
    b = 0.5_c_double ! A 1 = b, but for the first and last row
    b(1) = 1.5_c_double
    b(n) = 1.5_c_double
    u = -3
    csr = PoiseCSR(ptr32=c_loc(ptr), col32=c_loc(col), val=c_loc(val))
    rows = n
    call need(PoiseMatCreateCSR(ctx, rows, rows, rows, rows, csr, POISE_BORROW, A))
    call PoiseMatSizes(A, M=nz)
    call PoiseMatLocalSizes(A, rows, cols)
    call check(rows == n .and. cols == n .and. nz == n, "sizes of a matrix")
    call need(PoiseMatNonzeros(A, nz))
    call check(nz == 3 * n - 2, "nonzeros")
    call check(PoiseMatType(A) == "auto", "type")
    rows = n
    call need(PoiseVecCreateArray(ctx, rows, rows, c_loc(b), POISE_BORROW, rhs))
    call need(PoiseVecCreateArray(ctx, rows, rows, c_loc(u), POISE_BORROW, x))
    call need(PoiseKSPCreate(ctx, ksp))
    call need(PoiseKSPSetType(ksp, "cg"))
    call need(PoiseKSPGetPC(ksp, pc))
    call need(PoisePCSetType(pc, "jacobi"))
    call check(PoiseKSPType(ksp) == "cg" .and. PoisePCType(pc) == "jacobi", "types by name")
    call need(PoiseKSPSetOperators(ksp, A, c_null_ptr))
    call need(PoiseKSPSetFromOptions(ksp)) ! -ksp_rtol 1e-10
    call need(PoiseKSPAddMonitor(ksp, c_funloc(monitor), c_loc(norms)))
    call need(PoiseKSPSolve(ksp, rhs, x))
    call check(maxval(abs(u - 1)) < 1e-9_c_double, "the solution")
    call check(PoiseKSPConvergedReason(ksp) == POISE_CONVERGED_RTOL, "reason")
    call check(PoiseKSPReasonString(POISE_CONVERGED_RTOL) == "CONVERGED_RTOL", "word of the reason")
    call check(monitored == PoiseKSPIterations(ksp) + 1, "the monitor sees all iterations")
    call check(near(norms(monitored), PoiseKSPResidualNorm(ksp)), "and their norms")
    call need(PoiseKSPSetConvergenceTest(ksp, c_funloc(stop_at_five), c_null_ptr))
    call need(PoiseKSPSolve(ksp, rhs, x))
    call check(PoiseKSPIterations(ksp) == 5 .and. PoiseKSPConvergedReason(ksp) == POISE_CONVERGED_USER, &
               "a convergence test")
    call need(PoiseMatScale(A, 2.0_c_double))
    call check(near(val(1), 5.0_c_double), "lent values are changed in place")
    null = c_null_ptr
    call need(PoiseKSPDestroy(null))
    call need(PoiseKSPDestroy(ksp))
    call need(PoiseVecDestroy(x))
    call need(PoiseVecDestroy(rhs))
    call need(PoiseMatDestroy(A))
  end subroutine

  ! A and M are functions of this program
  subroutine functions()
    type(c_ptr) :: A, b, x, ksp, pc
    type(PoiseShell) :: given
    real(c_double) :: norm
    integer, target :: mine
    integer(POISE_INT) :: rows
    rows = n
    given%mult = c_funloc(laplace)
    call need(PoiseMatCreateShell(ctx, rows, rows, rows, rows, given, c_loc(mine), A))
    call need(PoiseMatCreateVecs(A, y=b))
    call need(PoiseMatCreateVecs(A, x))
    call need(PoiseVecSet(b, 1.0_c_double))
    call need(PoiseKSPCreate(ctx, ksp))
    call need(PoiseKSPSetType(ksp, "cg"))
    call need(PoiseKSPSetOperators(ksp, A, c_null_ptr))
    call need(PoiseKSPGetPC(ksp, pc))
    call need(PoisePCSetShell(pc, PoiseShellPC(apply=c_funloc(halve)), c_null_ptr))
    call need(PoiseKSPSolve(ksp, b, x))
    call need(PoiseKSPTrueResidual(ksp, b, x, norm))
    call check(norm < 1e-4_c_double, "a solve with functions")
    call need(PoiseKSPDestroy(ksp))
    call need(PoiseMatDestroy(A))

    given%mult = c_funloc(refuse)
    call need(PoiseMatCreateShell(ctx, rows, rows, rows, rows, given, c_null_ptr, A))
    call check(PoiseMatMult(A, x, b) == POISE_ERR_USER, "an error of a function comes out of the call")
    call need(PoiseMatDestroy(A))
    call need(PoiseVecDestroy(x))
    call need(PoiseVecDestroy(b))
  end subroutine

  subroutine errors()
    type(c_ptr) :: x, A, null
    call need(PoiseVecCreate(ctx, 5_POISE_INT, POISE_DECIDE, x))
    call need(PoiseMatCreate(ctx, 3_POISE_INT, 3_POISE_INT, POISE_DECIDE, POISE_DECIDE, A))
    call check(PoiseMatSetType(A, "crs") /= POISE_OK, "an unknown type")
    call check(index(PoiseErrorMessage(), "crs") > 0, "is named")
    call check(index(PoiseErrorText(), "PoiseMatSetType") > 0, "and where it was")
    call check(PoiseErrorString(POISE_ERR_MEMORY) == "out of memory", "the text of a code")
    null = c_null_ptr
    call check(PoiseVecSet(null, 1.0_c_double) == POISE_ERR_ARG, "no object")
    call check(PoiseVecSet(A, 1.0_c_double) == POISE_ERR_ARG, "an object of another kind")
    call PoiseErrorClear()
    call check(PoiseErrorMessage() == "", "cleared")
    call check(PoiseFinalize(ctx) == POISE_ERR_STATE, "objects are left")
    call need(PoiseMatDestroy(A))
    call need(PoiseVecDestroy(x))
  end subroutine

  ! Views go to a file by name
  subroutine files()
    type(c_ptr) :: A, file
    integer(POISE_INT) :: row
    character(200) :: line
    integer :: unit
    call need(PoiseMatCreate(ctx, 2_POISE_INT, 2_POISE_INT, POISE_DECIDE, POISE_DECIDE, A))
    row = 1
    call need(PoiseMatAddBlock(A, 1_c_int, [row], 1_c_int, [row], [4.0_c_double]))
    call need(PoiseMatAssemble(A))
    call need(poise_open_output(ctx, folder // "/view.txt", file))
    call need(PoiseMatView(A))
    call need(poise_close_output(ctx, file))
    open (newunit=unit, file=folder // "/view.txt", status="old")
    read (unit, '(a)') line
    close (unit)
    call check(len_trim(line) > 0, "a view in a file")
    call need(poise_log_view(ctx, folder // "/log.csv", POISE_LOG_CSV))
    open (newunit=unit, file=folder // "/log.csv", status="old")
    read (unit, '(a)') line
    close (unit)
    call check(index(line, ",") > 0, "a log in a file")
    call check(poise_log_view(ctx, folder // "/no/log", POISE_LOG_CSV) == POISE_ERR_FILE, "no such folder")
    call need(PoiseMatDestroy(A))
  end subroutine
end program
