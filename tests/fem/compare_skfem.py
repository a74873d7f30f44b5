#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""compare_skfem.py <folder of the examples> [<word>...]: are the systems of the finite-element drivers those
of scikit-fem?

Gmsh meshes a body of two parts with curved sides by cells of each kind. A driver solves a problem on it, and
leaves A, b and x by -save_system. scikit-fem assembles the same problem from the same file, read by meshio,
and SciPy solves it. Nodes are the same where their places are. The table has the largest differences,
relative to the largest entry: at most 1e-14 in A, 1e-11 in b and x. Rows of given values, which have 1 in A,
are compared apart from the others. With words only lines that have one of them are compared. Exit code 77:
scikit-fem, meshio, SciPy or Gmsh is missing.
"""
import datetime
import glob
import math
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import meshio
    import numpy as np
    import scipy
    import scipy.io
    import scipy.sparse.linalg
    import scipy.spatial
    import skfem
    import skfem.io.meshio
except ImportError as error:
    print(f"skipped: {error.name}, which this compares with, is not here")
    sys.exit(77)
if not shutil.which("gmsh"):
    print("skipped: gmsh, which makes the meshes, is not here")
    sys.exit(77)

KINDS = {"tri3": skfem.ElementTriP1(), "tri6": skfem.ElementTriP2(), "quad4": skfem.ElementQuad1(),
         "tet4": skfem.ElementTetP1(), "tet10": skfem.ElementTetP2(), "hex8": skfem.ElementHex1()}
LIMITS = 1e-14, 1e-11, 1e-11

# ---- meshes ----------------------------------------------------------------------------------------

PLATE = """
h = 0.2;
Point(1) = {0.5, 0, 0, h}; Point(2) = {1, 0, 0, h};   Point(3) = {1.5, 0, 0, h}; Point(4) = {1.5, 1, 0, h};
Point(5) = {1.1, 1, 0, h}; Point(6) = {0.5, 1, 0, h}; Point(7) = {1.5, 0.5, 0, h};
Line(1) = {1, 2}; Line(2) = {2, 3}; Line(3) = {3, 4}; Line(4) = {4, 5}; Line(5) = {5, 6}; Line(7) = {2, 5};
Circle(6) = {6, 7, 1};
Curve Loop(1) = {1, 7, 5, 6}; Plane Surface(1) = {1};
Curve Loop(2) = {2, 3, 4, -7}; Plane Surface(2) = {2};
"""
PLANE = """
Physical Surface("core") = {1}; Physical Surface("shell") = {2};
Physical Curve("left") = {6}; Physical Curve("right") = {3}; Physical Curve("side") = {1, 2, 4, 5};
"""
SPACE = """
a[] = Extrude {0.2, 0.1, 0.6} { Surface{1}; %s };
b[] = Extrude {0.2, 0.1, 0.6} { Surface{2}; %s };
Physical Volume("core") = {a[1]}; Physical Volume("shell") = {b[1]};
Physical Surface("left") = {a[5]}; Physical Surface("right") = {b[3]};
Physical Surface("side") = {1, 2, a[0], b[0], a[2], a[4], b[2], b[4]};
"""
QUADS = "Recombine Surface {1, 2}; Mesh.SubdivisionAlgorithm = 1; Mesh.RecombinationAlgorithm = 1;\n"


def make_mesh(kind):
    """<kind>.msh, as Gmsh makes it."""
    solid = kind in ("tet4", "tet10", "hex8")
    layers = "Layers{3}; Recombine;" if kind == "hex8" else ""
    text = PLATE.replace("0.2;", "0.4;" if kind in ("quad4", "hex8") else "0.3;" if solid else "0.2;", 1)
    text += QUADS if kind in ("quad4", "hex8") else ""
    text += SPACE % (layers, layers) if solid else PLANE
    with open(f"{kind}.geo", "w", encoding="utf-8") as file:
        file.write(text)
    order = "2" if kind in ("tri6", "tet10") else "1"
    subprocess.run(["gmsh", f"-{3 if solid else 2}", "-order", order, "-format", "msh41", "-v", "1",
                    f"{kind}.geo", "-o", f"{kind}.msh"], check=True)


# The rules of examples/fem/element.c, where integrands are no polynomials: points and weights.
def gauss(dim, n):
    x, w = np.polynomial.legendre.leggauss(n)
    x, w = (x + 1) / 2, w / 2
    points = np.stack([g.reshape(-1) for g in np.meshgrid(*[x] * dim, indexing="ij")])
    return points, np.prod(np.meshgrid(*[w] * dim, indexing="ij"), axis=0).reshape(-1)


def simplex(dim, degree):
    if dim == 1:
        return gauss(1, 2 if degree == 2 else 3)
    if degree == 2:  # 3 points, 4 points
        orbits = [(1 / 6 if dim == 2 else (5 - math.sqrt(5)) / 20, 1.0)]
    elif dim == 2:  # Radon
        orbits = [((6 - math.sqrt(15)) / 21, (155 - math.sqrt(15)) / 1200),
                  ((6 + math.sqrt(15)) / 21, (155 + math.sqrt(15)) / 1200)]
    else:  # Walkington
        orbits = [(0.31088591926330060980, 0.11268792571801585080),
                  (0.092735250310891226402, 0.073493043116361949544)]
    points, weights = [], []
    for a, weight in orbits:
        for k in range(dim + 1):
            points.append([1 - dim * a if c == k - 1 else a for c in range(dim)])
            weights.append(weight if degree > 2 else 1 / (dim + 1))
    if degree > 2 and dim == 2:
        points.append([1 / 3, 1 / 3])
        weights.append(9 / 40)
    if degree > 2 and dim == 3:
        a = 0.045503704125649649492
        pairs = [(i, j) for i in range(4) for j in range(i)]
        points += [[a if c + 1 in pair else 0.5 - a for c in range(3)] for pair in pairs]
        weights += [0.042546020777081466438] * 6
    return np.array(points).T, np.array(weights) / math.factorial(dim)


def rule(kind, dim):
    if kind in ("quad4", "hex8"):
        return gauss(dim, 2)
    return simplex(dim, 5 if kind in ("tri6", "tet10") else 2)


class Body:
    """A mesh as scikit-fem sees it, and integrals over its groups."""

    def __init__(self, kind):
        self.kind, element = kind, KINDS[kind]
        with open(os.devnull, "w", encoding="utf-8") as nothing:
            out, sys.stdout = sys.stdout, nothing  # meshio prints a blank line
            try:
                file = meshio.read(f"{kind}.msh")
            finally:
                sys.stdout = out
        self.dim = 3 if kind in ("tet4", "tet10", "hex8") else 2
        file.points = file.points[:, :self.dim]
        bare = meshio.Mesh(file.points, [c for c in file.cells if c.dim == self.dim])
        mesh = self.mesh = skfem.io.meshio.from_meshio(bare)
        cell, facet = (self.groups(file, self.dim - codim, np.mean(mesh.p[:, corners], axis=1))
                       for codim, corners in enumerate((mesh.t, mesh.facets)))
        quadrature = rule(kind, self.dim)
        self.cells = {name: skfem.CellBasis(mesh, element, elements=which, quadrature=quadrature)
                      for name, which in cell.items()}
        quadrature = rule(kind, self.dim - 1)
        self.facets = {name: skfem.FacetBasis(mesh, element, facets=which, quadrature=quadrature)
                       for name, which in facet.items()}
        self.fixed = self.facets["left"].get_dofs(facet["left"]).all()
        self.x = self.cells["core"].doflocs
        self.size = self.x.shape[1]

    def groups(self, file, dim, centres):
        """{name: cells or facets}, found by the centres of their corners."""
        found, tree = {}, scipy.spatial.cKDTree(centres.T)
        for name, (number, of) in file.field_data.items():
            if of != dim:
                continue
            nodes = [block.data[tags == number] for block, tags in
                     zip(file.cells, file.cell_data["gmsh:physical"]) if block.dim == dim]
            corners = np.concatenate(nodes)[:, :{1: 2, 2: 3, 3: 4}[dim] if "quad" not in self.kind and
                                            "hex" not in self.kind else 2 ** dim]
            distance, which = tree.query(file.points[corners].mean(axis=1))
            assert distance.max() < 1e-12 and len(set(which)) == len(which), name
            found[name] = np.sort(which)
        return found


def matrix(basis, form, **data):
    return skfem.BilinearForm(form).assemble(basis, **data)


def vector(basis, form, **data):
    return skfem.LinearForm(form).assemble(basis, **data)


def dot(a, b):
    return sum(p * q for p, q in zip(a, b))


def constrained(A, b, fixed, values):
    """Without the rows and columns of fixed unknowns, whose values go to b."""
    x = np.zeros(len(b))
    x[fixed] = values
    b = b - A @ x
    keep = np.ones(len(b))
    keep[fixed] = 0
    free, given = scipy.sparse.diags_array(keep), scipy.sparse.diags_array(1 - keep)
    A = scipy.sparse.csr_array(free @ A @ free + given)
    A.eliminate_zeros()
    return A, free @ b + x


def solve(A, b):
    return scipy.sparse.linalg.spsolve(scipy.sparse.csc_array(A), b)


# ---- problems: the options of a driver, and the same by scikit-fem ---------------------------------

GRAD = lambda u, v, w: dot(u.grad, v.grad)
MASS = lambda u, v, w: u * v
ONE = lambda v, w: v


def poisson_known(body):
    """u is known: sin(pi x) exp(y) cos(z), of the places relative to the longest side."""
    low = body.x.min(axis=1)
    size = (body.x.max(axis=1) - low).max()

    def exact(x):
        s = [(x[c] - low[c]) / size for c in range(body.dim)] + [0 * x[0]] * (3 - body.dim)
        u, c = np.sin(np.pi * s[0]) * np.exp(s[1]) * np.cos(s[2]), np.cos(np.pi * s[0])
        gradient = [np.pi * c * np.exp(s[1]) * np.cos(s[2]) / size, u / size,
                    -np.sin(np.pi * s[0]) * np.exp(s[1]) * np.sin(s[2]) / size]
        return u, gradient[:body.dim], (np.pi ** 2 - (body.dim == 2)) * u / size ** 2

    A = sum(matrix(basis, GRAD) for basis in body.cells.values())
    b = sum(vector(basis, lambda v, w: exact(w.x)[2] * v) for basis in body.cells.values())
    for name in ("right", "side"):
        b += vector(body.facets[name], lambda v, w: dot(exact(w.x)[1], w.n) * v)
    fixed = body.fixed
    A, b = constrained(A, b, fixed, exact(body.x[:, fixed])[0])
    return ["-dirichlet", "left"], A, b, solve(A, b)


CONDITIONS = "left: value = 1.5; right: transfer = 2, outside = 3; side: flux = 0.7"


def conditions(body, A, b):
    A = A + 2 * matrix(body.facets["right"], MASS)
    b = b + 6 * vector(body.facets["right"], ONE) + 0.7 * vector(body.facets["side"], ONE)
    return A, b, body.fixed


def poisson(body):
    """Two materials, a source, and all conditions."""
    A = 3 * matrix(body.cells["core"], GRAD) + 0.5 * matrix(body.cells["shell"], GRAD)
    A, b, fixed = conditions(body, A, 2 * vector(body.cells["core"], ONE))
    A, b = constrained(A, b, fixed, 1.5)
    material = "core: conductivity = 3, source = 2; shell: conductivity = 0.5"
    return ["-material", material, "-boundary", CONDITIONS], A, b, solve(A, b)


def heat(body):
    """The last of five steps: two times two half steps of Euler's, then Crank and Nicolson's."""
    K = 3 * matrix(body.cells["core"], GRAD) + 0.5 * matrix(body.cells["shell"], GRAD)
    K, F, fixed = conditions(body, K, 2 * vector(body.cells["core"], ONE))
    M = 1.2 * matrix(body.cells["core"], MASS) + 0.8 * matrix(body.cells["shell"], MASS)
    u = np.full(body.size, 0.25)
    u[fixed] = 1.5
    steps = [(0.01, 1)] * 4 + [(0.02, 0.5)] * 3
    for dt, theta in steps:
        A, b = constrained(M + theta * dt * K, (M - (1 - theta) * dt * K) @ u + dt * F, fixed, 1.5)
        u = solve(A, b)
    material = ("core: conductivity = 3, source = 2, capacity = 1.2; "
                "shell: conductivity = 0.5, capacity = 0.8")
    return ["-material", material, "-boundary", CONDITIONS, "-initial", "0.25", "-end", "0.1", "-steps",
            "5"], A, b, u


def convection(body):
    """SUPG with two velocities; in the elements that a stream crosses, h is 2 / sum |beta . grad N|."""
    velocity = {"core": (3, 1, 0.5)[:body.dim], "shell": (3, 1, 0.5)[:body.dim]}
    conductivity, source = {"core": 0.05, "shell": 0.2}, {"core": 2, "shell": 0}
    A, b = 0, 0
    for name, basis in body.cells.items():
        beta, k, f = velocity[name], conductivity[name], source[name]
        speed = math.sqrt(dot(beta, beta))
        h = 2 * speed / sum(abs(dot(beta, part[0].grad)) for part in basis.basis)
        s = speed * h / (2 * k)
        tau = h / (2 * speed) * (1 / np.tanh(s) - 1 / s)
        A = A + matrix(basis, lambda u, v, w: k * dot(u.grad, v.grad) +
                       (v + w.tau * dot(beta, v.grad)) * dot(beta, u.grad), tau=tau)
        b = b + f * vector(basis, lambda v, w: v + w.tau * dot(beta, v.grad), tau=tau)
    A, b, fixed = conditions(body, A, b)
    A, b = constrained(A, b, fixed, 1.5)
    words = " ".join(map(str, velocity["core"]))
    material = (f"core: conductivity = 0.05, source = 2, velocity = {words}; "
                f"shell: conductivity = 0.2, velocity = {words}")
    return ["-material", material, "-boundary", CONDITIONS], A, b, solve(A, b)


def mean_dilation(basis, bulk, i, j):
    """bulk (mean d_i v, mean d_j u): resists a mean change of volume of cells, for B-bar."""
    volume = basis.dx.sum(axis=1)
    mean = lambda c: [(part[0].grad[c] * basis.dx).sum(axis=1) / volume for part in basis.basis]
    dofs = basis.element_dofs
    entries = [(bulk * volume * v * u, dofs[a], dofs[b]) for a, v in enumerate(mean(i))
               for b, u in enumerate(mean(j))]
    values, rows, cols = (np.concatenate(part) for part in zip(*entries))
    return scipy.sparse.coo_array((values, (rows, cols)), shape=(basis.N, basis.N)).tocsr()


def elasticity(body, solid, shell=0.25):
    """Two materials that weigh, held on the left, with a pressure, a traction and a force. shell: Poisson's
    ratio of one; from 0.4 on quad4 and hex8 have B-bar."""
    n, dim = body.size, body.dim
    axis = solid == "axisymmetric"
    ring = lambda w: 2 * np.pi * w.x[0] if axis else 1.0
    hoop = lambda u, i, w: u / w.x[0] if axis and i == 0 else 0.0
    A = scipy.sparse.csr_array((dim * n, dim * n))
    b = np.zeros((n, dim))
    gravity, force = (0, -9.81, 2)[:dim], (100, 20, 30)[:dim]
    traction = (2000, 1000, 500)[:dim]
    blocks = lambda: [[0] * dim for _ in range(dim)]
    K = blocks()
    for name, E, nu, density in (("core", 2e5, 0.3, 10), ("shell", 1e5, shell, 3)):
        basis, mu, lame = body.cells[name], E / (2 * (1 + nu)), E * nu / ((1 + nu) * (1 - 2 * nu))
        if solid == "stress":
            lame = 2 * lame * mu / (lame + 2 * mu)
        bulk = E / (3 * (1 - 2 * nu)) if nu >= 0.4 and body.kind in ("quad4", "hex8") else 0
        lame = -2 / 3 * mu if bulk else lame
        for i in range(dim):
            for j in range(dim):
                K[i][j] = K[i][j] + matrix(basis, lambda u, v, w: ring(w) * (
                    lame * (v.grad[i] + hoop(v, i, w)) * (u.grad[j] + hoop(u, j, w)) +
                    mu * (v.grad[j] * u.grad[i] + (dot(u.grad, v.grad) if i == j else 0)) +
                    2 * mu * hoop(v, i, w) * hoop(u, j, w)))
                if bulk:
                    K[i][j] = K[i][j] + mean_dilation(basis, bulk, i, j)
            b[:, i] += density * gravity[i] * vector(basis, lambda v, w: ring(w) * v)
    b += 40 * np.stack([vector(body.cells["shell"], lambda v, w: ring(w) * v)] * dim, axis=1) * (
        np.array([1, 0, 0])[:dim])
    area = np.sum(vector(body.facets["right"], lambda v, w: ring(w) * v))
    for i in range(dim):
        b[:, i] += vector(body.facets["right"], lambda v, w: ring(w) * v) * force[i] / area
        b[:, i] += vector(body.facets["side"], lambda v, w: ring(w) * (traction[i] - 5000 * w.n[i]) * v)
    # Unknown c of node k is dim k + c.
    order = np.arange(dim * n).reshape(dim, n).T.reshape(-1)
    A = scipy.sparse.csr_array(scipy.sparse.bmat(K))[order][:, order]
    fixed = (dim * body.fixed[:, None] + np.arange(dim)).reshape(-1)
    values = np.zeros((len(fixed) // dim, dim))
    values[:, 1] = 0.001
    A, b = constrained(A, b.reshape(-1), fixed, values.reshape(-1))
    words = lambda v: " ".join(map(str, v))
    options = ["-material", "core: E = 2e5, nu = 0.3, density = 10; "
               f"shell: E = 1e5, nu = {shell}, density = 3",
               "-support", f"left: x = 0, y = 0.001{', z = 0' if dim == 3 else ''}",
               "-loads",
               f"right: force = {words(force)}; side: traction = {words(traction)}, pressure = 5000",
               "-body", f"core, shell: gravity = {words(gravity)}; shell: force = {words((40, 0, 0)[:dim])}"]
    return options + ([] if dim == 3 else ["-plane", solid]), A, b, solve(A, b)


PLANES = ("tri3", "tri6", "quad4")
SPACES = ("tet4", "tet10", "hex8")
PROBLEMS = [("poisson", "known", PLANES + SPACES, poisson_known),
            ("poisson", "own", PLANES + SPACES, poisson),
            ("heat", "own", PLANES + SPACES, heat), ("convection", "own", PLANES + SPACES, convection),
            ("elasticity", "space", SPACES, lambda body: elasticity(body, "space"))]
PROBLEMS += [("elasticity", solid, PLANES, lambda body, solid=solid: elasticity(body, solid))
             for solid in ("strain", "stress", "axisymmetric")]
PROBLEMS += [("elasticity", "nu = 0.45", ("hex8",), lambda body: elasticity(body, "space", 0.45)),
             ("elasticity", "nu = 0.45", PLANES, lambda body: elasticity(body, "strain", 0.45))]


# ---- comparing -------------------------------------------------------------------------------------

def largest(a, b, rows=slice(None)):
    """|a - b| / |b|, of largest entries of these rows."""
    return abs(a - b)[rows].max() / abs(b)[rows].max()


def compare(folder, driver, kind, problem):
    body = Body(kind)
    options, A, b, x = problem(body)
    for name in glob.glob("out*") + glob.glob("sys_*"):
        os.remove(name)
    run = subprocess.run([os.path.join(folder, driver), "-mesh", f"{kind}.msh", *options, "-save_system",
                          "sys", "-output", "out", "-pc_type", "lu", "-ksp_rtol", "1e-13"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if run.returncode != 0:
        return None, run.stdout.strip()
    (vtu,) = glob.glob("out*.vtu")
    components = len(b) // body.size
    distance, node = scipy.spatial.cKDTree(meshio.read(vtu).points[:, :body.dim]).query(body.x.T)
    if distance.max() > 1e-12 or len(set(node)) != body.size:
        return None, f"nodes are in other places, by up to {distance.max():.1e}"
    row = (components * node[:, None] + np.arange(components)).reshape(-1)
    A_h = scipy.sparse.csr_array(scipy.io.mmread("sys_A.mtx"))[row][:, row]
    b_h, x_h = (np.asarray(scipy.io.mmread(f"sys_{name}.mtx")).reshape(-1)[row] for name in "bx")
    given = np.diff(A.indptr) == 1  # the others are larger or smaller by far
    apart = lambda a, b: max(largest(a, b, given), largest(a, b, ~given))
    return len(b), (apart(A_h, A), apart(b_h, b), largest(x_h, x))


def head(folder):
    tree = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    say = lambda *words: subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        check=False).stdout.strip()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = re.search(r"^model name\s*: (.*)", file.read(), re.M)
    gmsh = say("gmsh", "--version").splitlines()[-1]
    print(f"# machine: {cpu[1] if cpu else platform.machine()}")
    print(f"# commit: {say('git', '-C', tree, 'rev-parse', '--short=7', 'HEAD')}")
    print(f"# versions: scikit-fem {skfem.__version__}, SciPy {scipy.__version__}, NumPy {np.__version__}, "
          f"meshio {meshio.__version__}, Gmsh {gmsh}, Python {platform.python_version()}")
    print("# clocks: of no importance")
    print(f"# date: {datetime.date.today()}")
    print("# command: tests/fem/compare_skfem.py <folder of the examples>")
    print("# Largest differences from scikit-fem, relative to the largest entry; * is too much.")
    print(f"{'driver':11} {'problem':13} {'cells':6} {'unknowns':>8}  {'A':>8}  {'b':>8}  {'x':>8}")


def main():
    folder, words = os.path.abspath(sys.argv[1]), sys.argv[2:]
    head(folder)
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for driver, name, kinds, problem in PROBLEMS:
            for kind in kinds:
                line = f"{driver:11} {name:13} {kind:6}"
                if words and not any(word in line.split() for word in words):
                    continue
                if not os.path.exists(f"{kind}.msh"):
                    make_mesh(kind)
                unknowns, found = compare(folder, driver, kind, problem)
                if unknowns is None:
                    print(line, found)
                    bad += 1
                    continue
                wrong = [not d <= limit for d, limit in zip(found, LIMITS)]
                print(line, f"{unknowns:8}", *(f" {d:.1e}{'*' if w else ' '}" for d, w in zip(found, wrong)))
                bad += any(wrong)
        os.chdir("/")
    print(f"# {bad} differ" if bad else "# all agree")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
