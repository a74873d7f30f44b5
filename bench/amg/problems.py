#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The model problems of run.py: matrices that make multigrid work, or fail.

    bench/amg/problems.py --cache /tmp/amg [NAME ...]       write those that are not there

Of each there is NAME.petsc (A) and NAME.b (b) in PETSc's binary form, NAME.json (unknowns of a node, kind,
dimension, and which vectors A makes zero), and NAME.xyz where the nodes have places: numbers of 8 bytes, a
node a row. All are drawn from seeds of their own, so the same wherever they are made. NumPy, SciPy,
scikit-fem and NetworkX are needed.
"""
import argparse
import json
import os
import typing
import zlib

import numpy as np
import scipy.sparse as sp

MATRIX, VECTOR = 1211216, 1211214  # how PETSc's files begin
PROBLEMS = {}  # by name: (function, kind, dimension)


class Problem(typing.NamedTuple):
    """What a function below makes."""
    A: sp.csr_matrix
    block: int = 1
    places: np.ndarray = None
    parts: tuple = ()  # sizes of blocks of A whose constants A makes zero


def problem(dimension, kind="spd"):
    """Of a function of a generator of random numbers that returns a matrix or a Problem. Kinds: spd,
    singular (semidefinite), nonsymmetric, indefinite. Dimension: 2, 3, or graph."""
    def register(function):
        PROBLEMS[function.__name__] = (function, kind, str(dimension))
        return function
    return register


def named(name, dimension, kind, function):
    """The same of a function without a name."""
    PROBLEMS[name] = (function, kind, str(dimension))


# ---- finite volumes -------------------------------------------------------------------------------------


def volumes(k, edges="held"):
    """Cells with coefficients k[axis] of the shape of the grid, harmonic means between cells. Edges are held
    (u = 0), free, or periodic."""
    shape = k[0].shape
    number, n = np.arange(k[0].size).reshape(shape), k[0].size
    rows, columns, values, diagonal = [], [], [], np.zeros(shape)
    for axis, coefficient in enumerate(k):
        if shape[axis] == 1:
            continue
        c, at, total = (np.moveaxis(a, axis, 0) for a in (coefficient, number, diagonal))
        near, far = np.arange(shape[axis] - 1), np.arange(1, shape[axis])
        if edges == "periodic":
            near, far = np.append(near, shape[axis] - 1), np.append(far, 0)
        w = 2 * c[near] * c[far] / (c[near] + c[far])
        np.add.at(total, near, w)
        np.add.at(total, far, w)
        if edges == "held":
            total[0] += 2 * c[0]
            total[-1] += 2 * c[-1]
        rows += [at[near].ravel(), at[far].ravel()]
        columns += [at[far].ravel(), at[near].ravel()]
        values += [-w.ravel(), -w.ravel()]
    rows, columns = (np.concatenate(part + [number.ravel()]) for part in (rows, columns))
    return sp.csr_matrix((np.concatenate(values + [diagonal.ravel()]), (rows, columns)), shape=(n, n))


def uniform(shape, edges="held"):
    return volumes([np.ones(shape)] * len(shape), edges)


def balls(random, inside, side=40, count=60):
    """A cube of ones with balls in it."""
    k, points = np.ones((side,) * 3), np.indices((side,) * 3)
    for _ in range(count):
        centre, radius = random.uniform(0, side, 3), random.uniform(2, 5)
        k[((points - centre[:, None, None, None])**2).sum(0) < radius**2] = inside
    return volumes([k] * 3)


@problem(3)
def poisson3d_40(_):
    return uniform((40,) * 3)


@problem(3)
def jump3d_1e6(random):
    return balls(random, 1e6)


@problem(3)
def jump3d_1em6(random):
    return balls(random, 1e-6)


@problem(3)
def lognormal3d(random):
    return volumes([np.exp(3 * random.standard_normal((40,) * 3))] * 3)


@problem(3)
def checker3d_cells(random):
    return volumes([np.where(random.random((40,) * 3) < .5, 1, 1e6)] * 3)


@problem(3)
def spe10like(random):
    """Flat cells of a reservoir, coefficients smooth along its layers."""
    from scipy.ndimage import gaussian_filter
    f = gaussian_filter(random.standard_normal((60, 100, 12)), (2, 6, .3))
    k = 10**(4 * f / f.std() / 1.5)
    return volumes([k * 400, k * 400, k * 400])


@problem(3)
def massplus_stiff(_):
    return .3 * uniform((40,) * 3) + sp.eye(40**3)


@problem(3)
def stretched_1_1e4(_):
    k = np.ones((40,) * 3)
    return volumes([k, 1e2 * k, 1e4 * k])


@problem(2)
def varaniso2d(_):
    """Strong along x in one half, along y in another."""
    x, y = np.meshgrid(*[np.linspace(0, 1, 200)] * 2, indexing="ij")
    return volumes([np.where(x < .5, 1, 1e4), np.where(y < .5, 1e4, 1)])


@problem(3)
def badscaled(random):
    """D A D with D from 1e-6 to 1e6."""
    D = sp.diags(10**random.uniform(-6, 6, 36**3))
    return D @ uniform((36,) * 3) @ D


@problem(2)
def reaction_system(random):
    """Four fields a node, their diffusion 1 to 1e4, coupled by a dense matrix."""
    R = random.standard_normal((4, 4))
    R = R @ R.T + .1 * np.eye(4)
    diffusion = sp.kron(uniform((100, 100)), np.diag([1, 10, 100, 1e4]))
    return Problem(diffusion + sp.kron(sp.eye(10000), .05 * R), 4)


@problem(3, "singular")
def neumann3d(_):
    return Problem(uniform((36,) * 3, "free"), parts=(36**3,))


@problem(2, "singular")
def neumann2d_jump(random):
    """Stiff cells strewn among soft ones."""
    k = np.where(random.random((180, 180)) < .3, 1e4, 1)
    return Problem(volumes([k] * 2, "free"), parts=(180**2,))


@problem(3, "singular")
def periodic3d(_):
    return Problem(uniform((36,) * 3, "periodic"), parts=(36**3,))


@problem(3, "singular")
def periodic_two_components(_):
    A, B = uniform((36,) * 3, "periodic"), uniform((160, 160), "free")
    return Problem(sp.block_diag([A, B]), parts=(36**3, 160**2))


@problem(2, "indefinite")
def helmholtz_indef(_):
    return uniform((100, 100)) - .05 * sp.eye(10000)


# ---- differences ----------------------------------------------------------------------------------------


def second(n):
    return sp.diags([-1, 2, -1], [-1, 0, 1], shape=(n, n))


@problem(3)
def rot3d_fd(_):
    """1 : 1e-3 : 1e-3 along a diagonal of xy, with positive entries beside the diagonal."""
    n, thin = 36, 1e-3
    D, C, I = second(n), sp.diags([-1, 1], [-1, 1], shape=(n, n)) / 2, sp.eye(n)
    along, across = (1 + thin) / 2, (1 - thin) / 2
    return (along * sp.kron(sp.kron(D, I), I) + along * sp.kron(sp.kron(I, D), I) -
            2 * across * sp.kron(sp.kron(C, C), I) + thin * sp.kron(sp.kron(I, I), D))


@problem(2)
def bilaplacian13(_):
    D, I = second(90), sp.eye(90)
    A = sp.csr_matrix(sp.kron(D, I) + sp.kron(I, D))
    return A @ A


def upwind(peclet, swirl, n=150):
    """Convection and diffusion on the unit square, upwind; a swirl, or a constant direction."""
    h = 1 / (n + 1)
    x, y = np.meshgrid(*[(np.arange(n) + 1) * h] * 2, indexing="ij")
    if swirl:
        speed = peclet * (2 * y - 1) * (1 - (2 * x - 1)**2), -peclet * (2 * x - 1) * (1 - (2 * y - 1)**2)
    else:
        speed = np.full((n, n), peclet), np.full((n, n), peclet / 2)
    number, diagonal = np.arange(n * n).reshape(n, n), np.full((n, n), 4 / h**2)
    rows, columns, values = [], [], []
    for axis, v in enumerate(speed):
        diagonal += np.abs(v) / h
        at, v = np.moveaxis(number, axis, 0), np.moveaxis(v, axis, 0)
        lower, upper = slice(None, -1), slice(1, None)
        for here, there, inflow in ((upper, lower, v), (lower, upper, -v)):
            rows.append(at[here].ravel())
            columns.append(at[there].ravel())
            values.append((-1 / h**2 - np.maximum(inflow, 0) / h)[here].ravel())
    rows, columns = (np.concatenate(part + [number.ravel()]) for part in (rows, columns))
    return sp.csr_matrix((np.concatenate(values + [diagonal.ravel()]) * h * h, (rows, columns)))


for _peclet in (1, 30, 1000, 30000):
    named(f"convdiff_swirl_{_peclet}", 2, "nonsymmetric", lambda _, p=_peclet: upwind(p, True))
for _peclet in (30, 1000, 30000):
    named(f"convdiff_const_{_peclet}", 2, "nonsymmetric", lambda _, p=_peclet: upwind(p, False))


@problem(2, "indefinite")
def stokes_mac(_):
    """Velocities and pressures of a staggered grid; one pressure is held."""
    n = 48
    u = sp.kron(second(n - 1), sp.eye(n)) + sp.kron(sp.eye(n - 1), second(n))
    v = sp.kron(second(n), sp.eye(n - 1)) + sp.kron(sp.eye(n), second(n - 1))
    G = sp.diags([-1, 1], [0, 1], shape=(n - 1, n))
    B = sp.hstack([sp.kron(G, sp.eye(n)).T, sp.kron(sp.eye(n), G).T])
    return sp.csr_matrix(sp.bmat([[sp.block_diag([u, v]), B.T], [B, None]]))[:-1, :-1]


@problem(2, "indefinite")
def stokes_th_stab(random):
    """The same with a stabilised block of pressures."""
    A = stokes_mac(random)
    return A - 1e-2 * sp.diags((np.arange(A.shape[0]) >= 2 * 48 * 47).astype(float))


# ---- graphs ---------------------------------------------------------------------------------------------


def grounded(G):
    """The Laplacian of a graph with these weights, without its first node: definite."""
    G = sp.csr_matrix(G)
    G.setdiag(0)
    G.eliminate_zeros()
    return sp.csr_matrix(sp.diags(np.asarray(G.sum(1)).ravel()) - G)[1:, 1:]


def from_pairs(i, j, n):
    """Weight 1 for each pair, however often it comes."""
    G = sp.csr_matrix((np.ones(2 * len(i)), (np.r_[i, j], np.r_[j, i])), shape=(n, n))
    G.data[:] = 1
    return G


def connected(G):
    """The largest component of a graph."""
    from scipy.sparse.csgraph import connected_components
    label = connected_components(G)[1]
    keep = np.flatnonzero(label == np.argmax(np.bincount(label)))
    return sp.csr_matrix(G)[keep][:, keep]


def network(graph):
    import networkx
    return networkx.to_scipy_sparse_array(graph, dtype=float)


@problem("graph")
def graph_geometric(random):
    from scipy.spatial import cKDTree
    pairs = cKDTree(random.random((40000, 2))).query_pairs(.01, output_type="ndarray")
    return grounded(connected(from_pairs(pairs[:, 0], pairs[:, 1], 40000)))


@problem("graph")
def graph_powerlaw(_):
    import networkx
    return grounded(network(networkx.barabasi_albert_graph(40000, 4, seed=1)))


@problem("graph")
def graph_powerlaw_weighted(random):
    """Weights from 1e-3 to 1e3."""
    import networkx
    W = sp.coo_matrix(sp.triu(network(networkx.barabasi_albert_graph(30000, 3, seed=2))))
    W.data = 10**random.uniform(-3, 3, W.nnz)
    return grounded(W + W.T)


@problem("graph")
def graph_smallworld(_):
    import networkx
    return grounded(network(networkx.watts_strogatz_graph(40000, 6, .05, seed=3)))


@problem("graph")
def graph_tree(random):
    child = np.arange(1, 40000)
    return grounded(from_pairs(child, random.integers(0, child), 40000))


@problem("graph")
def graph_grid_chords(random):
    n = 180
    i, j = sp.kron(sp.eye(n), second(n)).nonzero(), sp.kron(second(n), sp.eye(n)).nonzero()
    chords = random.integers(0, n * n, (2, 2000))
    return grounded(from_pairs(np.r_[i[0], j[0], chords[0]], np.r_[i[1], j[1], chords[1]], n * n))


# ---- finite elements ------------------------------------------------------------------------------------


def even(cells, end=1.0):
    return np.linspace(0, end, cells + 1)


def box(cell, *lines):
    import skfem
    return getattr(skfem, "Mesh" + cell).init_tensor(*lines)


def basis_of(mesh, element):
    import skfem
    return skfem.Basis(mesh, getattr(skfem, "Element" + element)())


def free(A, basis):
    """A without the unknowns of the boundary."""
    keep = basis.complement_dofs(basis.get_dofs())
    return sp.csr_matrix(A)[keep][:, keep]


def laplace(mesh, element):
    from skfem.models.poisson import laplace as form
    basis = basis_of(mesh, element)
    return free(form.assemble(basis), basis)


def rotated(cell, thin, degrees, n=200):
    """1 : thin, the strong direction at this angle to the grid."""
    import skfem
    basis = basis_of(box(cell, even(n), even(n)), {"Tri": "TriP1", "Quad": "Quad1"}[cell])
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    K = np.array([[c * c + thin * s * s, (1 - thin) * c * s], [(1 - thin) * c * s, s * s + thin * c * c]])

    @skfem.BilinearForm
    def form(u, v, _):
        return sum(K[i, j] * u.grad[j] * v.grad[i] for i in range(2) for j in range(2))

    return free(form.assemble(basis), basis)


named("rot45_q1_1e3", 2, "spd", lambda _: rotated("Quad", 1e-3, 45))
named("rot30_q1_1e3", 2, "spd", lambda _: rotated("Quad", 1e-3, 30))
named("rot30_p1_1e3", 2, "spd", lambda _: rotated("Tri", 1e-3, 30))
named("rot45_p1_1e2", 2, "spd", lambda _: rotated("Tri", 1e-2, 45))
named("rot30_q1_1e1", 2, "spd", lambda _: rotated("Quad", 1e-1, 30))
named("p2_tri", 2, "spd", lambda _: laplace(box("Tri", even(90), even(90)), "TriP2"))
named("p3_tri", 2, "spd", lambda _: laplace(box("Tri", even(60), even(60)), "TriP3"))
named("p4_tri", 2, "spd", lambda _: laplace(box("Tri", even(40), even(40)), "TriP4"))
named("p2_tet", 3, "spd", lambda _: laplace(box("Tet", *[even(14)] * 3), "TetP2"))
named("q2_hex", 3, "spd", lambda _: laplace(box("Hex", *[even(14)] * 3), "Hex2"))
named("q1_3d_stretch30", 3, "spd", lambda _: laplace(box("Hex", even(33, 30), even(33), even(33)), "Hex1"))
named("p1_graded2d", 2, "spd", lambda _: laplace(box("Tri", even(160)**4, even(160)**4), "TriP1"))


@problem(3)
def p1_slivers(random):
    """Delaunay's tetrahedra of random points, flat ones among them."""
    import skfem
    from scipy.spatial import Delaunay
    points = np.vstack([random.random((6000, 3)), np.indices((2, 2, 2)).reshape(3, -1).T])
    cells = Delaunay(points).simplices
    volume = np.abs(np.linalg.det(points[cells[:, 1:]] - points[cells[:, :1]]))
    return laplace(skfem.MeshTet(points.T.copy(), cells[volume > 1e-9].T.copy()), "TetP1")


def elasticity(mesh, element, poisson_ratio):
    """A body held at x = 0, the unknowns of a node together, with the places of the nodes."""
    import skfem
    from skfem.models.elasticity import lame_parameters, linear_elasticity
    vector = skfem.ElementVector(getattr(skfem, "Element" + element)())
    basis = skfem.Basis(mesh, vector, intorder={"Hex2": 4, "Quad2": None}.get(element, 2))
    A = sp.csr_matrix(linear_elasticity(*lame_parameters(1, poisson_ratio)).assemble(basis))
    places, node = np.unique(np.round(basis.doflocs.T, 10), axis=0, return_inverse=True)
    unknowns = np.argsort(node.ravel(), kind="stable").reshape(len(places), -1)
    keep = ~np.isin(unknowns, basis.get_dofs(lambda x: x[0] < 1e-9).all()).any(1)
    order = unknowns[keep].ravel()
    return Problem(A[order][:, order], unknowns.shape[1], places[keep])


def cube(side):
    return box("Hex", *[even(side)] * 3)


def plate(cells, layers):
    return box("Hex", even(cells), even(cells), even(layers, .01))


named("elast_q2_nu049", 2, "spd", lambda _: elasticity(box("Quad", even(44), even(44)), "Quad2", .49))
named("elast_q1_3d_nu049", 3, "spd", lambda _: elasticity(cube(16), "Hex1", .49))
named("elast_q1_3d_nu03", 3, "spd", lambda _: elasticity(cube(18), "Hex1", .3))
named("elast_p2tet_nu03", 3, "spd", lambda _: elasticity(box("Tet", *[even(7)] * 3), "TetP2", .3))
named("plate_1_100", 3, "spd", lambda _: elasticity(plate(40, 2), "Hex1", .3))
named("plate_1_100_q2", 3, "spd", lambda _: elasticity(plate(20, 1), "Hex2", .3))
named("beam_1_50", 3, "spd", lambda _: elasticity(box("Hex", even(300, 50), even(6), even(6)), "Hex1", .3))
named("elast_q1_3d_nu03_nocoords", 3, "spd", lambda _: elasticity(cube(18), "Hex1", .3)._replace(places=None))
named("elast_q1_3d_nu03_asscalar", 3, "spd", lambda _: elasticity(cube(18), "Hex1", .3).A)
named("plate_1_100_nocoords", 3, "spd", lambda _: elasticity(plate(40, 2), "Hex1", .3)._replace(places=None))


@problem(2)
def dg_p2(_):
    """Discontinuous Galerkin, symmetric interior penalty."""
    import skfem
    from skfem.helpers import dot, grad, jump
    mesh, penalty = box("Tri", even(40), even(40)), 20
    element = skfem.ElementTriDG(skfem.ElementTriP2())
    sides = [skfem.InteriorFacetBasis(mesh, element, side=i) for i in (0, 1)]

    @skfem.BilinearForm
    def inside(u, v, _):
        return dot(grad(u), grad(v))

    @skfem.BilinearForm
    def between(u, v, w):
        ju, jv = jump(w, u, v)
        return penalty / w.h * ju * jv - dot(grad(u), w.n) * jv / 2 - dot(grad(v), w.n) * ju / 2

    @skfem.BilinearForm
    def boundary(u, v, w):
        return penalty / w.h * u * v - dot(grad(u), w.n) * v - dot(grad(v), w.n) * u

    A = (skfem.asm(inside, skfem.Basis(mesh, element)) + skfem.asm(between, sides, sides) +
         skfem.asm(boundary, skfem.FacetBasis(mesh, element)))
    return (A + A.T) / 2


@problem(3)
def curlcurl_n0(_):
    import skfem
    from skfem.helpers import curl, dot
    basis = basis_of(box("Tet", *[even(14)] * 3), "TetN0")

    @skfem.BilinearForm
    def form(u, v, _):
        return dot(curl(u), curl(v)) + 1e-2 * dot(u, v)

    return free(form.assemble(basis), basis)


@problem(2)
def morley(_):
    """A plate that bends."""
    import skfem
    from skfem.helpers import dd, ddot
    basis = basis_of(box("Tri", even(50), even(50)), "TriMorley")

    @skfem.BilinearForm
    def form(u, v, _):
        return ddot(dd(u), dd(v))

    return free(form.assemble(basis), basis)


def held_cube():
    """The Laplacian of a cube of hexahedra with all its nodes, and which of them are held."""
    from skfem.models.poisson import laplace as form
    basis = basis_of(cube(30), "Hex1")
    return sp.csr_matrix(form.assemble(basis)), basis.get_dofs().all()


def penalty(value):
    A, held = held_cube()
    d = np.zeros(A.shape[0])
    d[held] = value
    return A + sp.diags(d)


named("penalty_1e30", 3, "spd", lambda _: penalty(1e30))
named("penalty_1e10", 3, "spd", lambda _: penalty(1e10))


@problem(3, "nonsymmetric")
def identity_rows(_):
    """Rows of held nodes are those of the identity, their columns are left."""
    A, held = held_cube()
    rows = np.ones(A.shape[0])
    rows[held] = 0
    return sp.diags(rows) @ A + sp.diags(1 - rows)


# ---- files ----------------------------------------------------------------------------------------------


def right_hand_side(name, kind, A):
    """Random; of rows that are badly scaled A times random, else only the largest rows would count; of
    singular A in its range."""
    random = np.random.default_rng(3)
    b = random.standard_normal(A.shape[0])
    if kind == "singular":
        b = A @ b
    if name == "badscaled" or name.startswith("penalty"):
        x = 1 + random.random(A.shape[0])
        x[A.diagonal() > 1e8] *= not name.startswith("penalty")
        b = A @ x
    return b


def make(name):
    """The Problem of a name, its matrix in order."""
    function = PROBLEMS[name][0]
    made = function(np.random.default_rng(zlib.crc32(name.encode())))
    made = made if isinstance(made, Problem) else Problem(made)
    A = sp.csr_matrix(made.A)
    A.sum_duplicates()
    A.eliminate_zeros()
    A.sort_indices()
    return made._replace(A=A)


def write(folder, name):
    made, (_, kind, dimension) = make(name), PROBLEMS[name]
    A = made.A
    path = os.path.join(folder, name)
    with open(path + ".petsc", "wb") as file:
        np.array([MATRIX, *A.shape, A.nnz], ">i4").tofile(file)
        np.diff(A.indptr).astype(">i4").tofile(file)
        A.indices.astype(">i4").tofile(file)
        A.data.astype(">f8").tofile(file)
    with open(path + ".b", "wb") as file:
        np.array([VECTOR, A.shape[0]], ">i4").tofile(file)
        right_hand_side(name, kind, A).astype(">f8").tofile(file)
    if made.places is not None:
        np.ascontiguousarray(made.places, "<f8").tofile(path + ".xyz")
    with open(path + ".json", "w", encoding="utf-8") as file:  # last: what is there is whole
        json.dump({"rows": A.shape[0], "nonzeros": int(A.nnz), "block": made.block, "kind": kind,
                   "dimension": dimension, "parts": made.parts, "places": made.places is not None}, file)


def ensure(folder, names):
    """Write those problems that are not there."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        if not os.path.exists(os.path.join(folder, name + ".json")):
            write(folder, name)


class Loaded(typing.NamedTuple):
    A: sp.csr_matrix
    b: np.ndarray
    block: int
    kind: str
    places: np.ndarray
    null: np.ndarray  # orthonormal columns that A makes zero, or None


def about(folder, name):
    """What NAME.json says."""
    with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
        return json.load(file)


def load(folder, name):
    path, said = os.path.join(folder, name), about(folder, name)
    n, nz = said["rows"], said["nonzeros"]
    with open(path + ".petsc", "rb") as file:
        file.seek(16)
        lengths, columns, values = (np.fromfile(file, *a) for a in ((">i4", n), (">i4", nz), (">f8", nz)))
    begin = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    A = sp.csr_matrix((values.astype(float), columns.astype(np.int32), begin), shape=(n, n))
    b = np.fromfile(path + ".b", ">f8", n, offset=8).astype(float)
    places, null = None, None
    if said["places"]:
        places = np.fromfile(path + ".xyz").reshape(n // said["block"], -1)
    if said["parts"]:
        part = np.repeat(np.arange(len(said["parts"])), said["parts"])
        null = (part[:, None] == np.arange(len(said["parts"]))) / np.sqrt(said["parts"])
    return Loaded(A, b, said["block"], said["kind"], places, null)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", required=True, help="folder for the files")
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all")
    given = parser.parse_args()
    for name in given.names or PROBLEMS:
        ensure(given.cache, [name])
        print(name, flush=True)


if __name__ == "__main__":
    main()
