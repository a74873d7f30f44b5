/* SPDX-License-Identifier: BSD-3-Clause */
/*
  Matrices of four kinds, as PETSc's binary files, for bench/auto.py and examples/solve:

    shapes <kind> <side> <file>       side^3 rows

    p7          7 points on a cube
    convection  the same, with upwind differences of a wind that circles around an axis and rises
    graph       Laplacian + 0.01: a node has four edges to earlier ones, most of them to the first
    mesh        linear tetrahedra, six in a cube whose corners are moved, with jumps by 100 and numbers
                exchanged within 5000; one side is held

  Random numbers are the same in every run.
*/
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Entry {
  int32_t col;
  double val;
} Entry;

typedef struct Row {
  int64_t n, room;
  Entry *entry;
} Row;

static Row *rows;
static int64_t side, N;

static void *Need(void *p)
{
  if (!p) fprintf(stderr, "shapes: out of memory for %lld rows\n", (long long)N), exit(1);
  return p;
}

static void Add(int64_t i, int64_t j, double v)
{
  Row *r = &rows[i];
  for (int64_t k = 0; k < r->n; k++)
    if (r->entry[k].col == j) {
      r->entry[k].val += v;
      return;
    }
  if (r->n == r->room) {
    r->room = r->room ? 2 * r->room : 8;
    r->entry = Need(realloc(r->entry, (size_t)r->room * sizeof *r->entry));
  }
  r->entry[r->n++] = (Entry){(int32_t)j, v};
}

static int64_t Node(int64_t x, int64_t y, int64_t z)
{
  return x + side * (y + side * z);
}

/* ---- random numbers in [0, 1) ---------------------------------------------------------------- */

static double Next(void)
{
  static uint64_t s = 88172645463325252u;
  s ^= s << 13, s ^= s >> 7, s ^= s << 17;
  return (double)(s >> 11) * 0x1p-53;
}

static double Of(int64_t key)
{
  uint64_t a = (uint64_t)key;
  a ^= a >> 33, a *= 0xff51afd7ed558ccdu, a ^= a >> 33, a *= 0xc4ceb9fe1a85ec53u, a ^= a >> 33;
  return (double)(a >> 11) * 0x1p-53;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* w: the wind, by the width of a cell over the diffusion. */
static void AddPoint(const int64_t at[3], const double w[3])
{
  const int64_t i = Node(at[0], at[1], at[2]), step[] = {1, side, side * side};
  double sum = 0;
  for (int a = 0; a < 3; a++)
    for (int to = -1; to <= 1; to += 2) {
      double k = 1 + (to * w[a] < 0 ? fabs(w[a]) : 0);
      sum += k;
      if (at[a] + to >= 0 && at[a] + to < side) Add(i, i + to * step[a], -k);
    }
  Add(i, i, sum);
}

static void Points(bool wind)
{
  const double n = (double)side, size = n / 20, strength = wind ? n * 0.5 : 0;
  for (int64_t z = 0; z < side; z++)
    for (int64_t y = 0; y < side; y++)
      for (int64_t x = 0; x < side; x++) {
        double w[] = {strength * (2.0 * (double)y / n - 1) / size,
                      -strength * (2.0 * (double)x / n - 1) / size, wind ? 0.3 * n / size : 0};
        AddPoint((int64_t[]){x, y, z}, w);
      }
}

static void Graph(void)
{
  for (int64_t i = 1; i < N; i++)
    for (int k = 0; k < 4; k++) {
      double u = Next();
      int64_t j = (int64_t)((double)i * u * u * u);
      if (j >= i) j = i - 1;
      double weight = 0.1 + Next();
      Add(i, j, -weight), Add(j, i, -weight), Add(i, i, weight), Add(j, j, weight);
    }
  for (int64_t i = 0; i < N; i++) Add(i, i, 0.01);
}

/* ---- tetrahedra ------------------------------------------------------------------------------ */

/* The matrix of a tetrahedron with these corners, by its gradients. */
static void AddTetrahedron(const int64_t number[4], double p[4][3], double conductivity)
{
  double m[3][3], g[4][3] = {{0}};
  for (int r = 0; r < 3; r++)
    for (int q = 0; q < 3; q++) m[r][q] = p[r + 1][q] - p[0][q];
  double det = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
               m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
               m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  for (int r = 0; r < 3; r++)
    for (int q = 0; q < 3; q++) {
      int a = (r + 1) % 3, b = (r + 2) % 3, c = (q + 1) % 3, d = (q + 2) % 3;
      g[r + 1][q] = (m[a][c] * m[b][d] - m[a][d] * m[b][c]) / det;
    }
  for (int q = 0; q < 3; q++) g[0][q] = 0 - g[1][q] - g[2][q] - g[3][q];
  for (int a = 0; a < 4; a++)
    for (int b = 0; b < 4; b++) {
      double v = 0;
      for (int q = 0; q < 3; q++) v += g[a][q] * g[b][q];
      Add(number[a], number[b], v * (conductivity * fabs(det) / 6));
    }
}

static void AddCube(int64_t x, int64_t y, int64_t z, const int64_t *number)
{
  static const int corners[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7},
                                    {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}};
  double conductivity = pow(10, 2 * Of(Node(x / 5, y / 5, z / 5) * 7919 + 1) - 1);
  for (int t = 0; t < 6; t++) {
    int64_t of[4];
    double p[4][3];
    for (int k = 0; k < 4; k++) {
      int c = corners[t][k];
      int64_t at[] = {x + (c & 1), y + (c >> 1 & 1), z + (c >> 2)}, node = Node(at[0], at[1], at[2]);
      of[k] = number[node];
      for (int q = 0; q < 3; q++) p[k][q] = (double)at[q] + 0.5 * Of(node * 3 + q) - 0.25;
    }
    AddTetrahedron(of, p, conductivity);
  }
}

static void Mesh(void)
{
  enum { NEAR = 5000 };
  int64_t *number = Need(malloc((size_t)N * sizeof *number));
  for (int64_t i = 0; i < N; i++) number[i] = i;
  for (int64_t i = N - 1; i > 0; i--) {
    int64_t j = (int64_t)(Next() * (double)(i + 1));
    if (i - j > NEAR) j = i - (int64_t)(Next() * NEAR);
    int64_t t = number[i];
    number[i] = number[j], number[j] = t;
  }
  for (int64_t z = 0; z + 1 < side; z++)
    for (int64_t y = 0; y + 1 < side; y++)
      for (int64_t x = 0; x + 1 < side; x++) AddCube(x, y, z, number);
  for (int64_t i = 0; i < N; i++) Add(i, i, 1e-4);
  for (int64_t k = 0; k < side * side; k++) Add(number[k], number[k], 10);
  free(number);
}

/* ---- the file -------------------------------------------------------------------------------- */

static int Compare(const void *a, const void *b)
{
  return ((const Entry *)a)->col - ((const Entry *)b)->col;
}

/* Numbers have their highest byte first. */
static void Put(FILE *f, const void *number, int bytes)
{
  uint64_t bits = 0;
  memcpy(&bits, number, (size_t)bytes); /* of a little-endian machine */
  for (int k = bytes - 1; k >= 0; k--) fputc((int)(bits >> (8 * k) & 255), f);
}

static int Write(const char *name)
{
  FILE *f = fopen(name, "wb");
  int32_t head[] = {1211216, (int32_t)N, (int32_t)N, 0};
  if (!f) return perror(name), 1;
  for (int64_t i = 0; i < N; i++) {
    if (rows[i].n) qsort(rows[i].entry, (size_t)rows[i].n, sizeof(Entry), Compare);
    head[3] += (int32_t)rows[i].n;
  }
  for (int k = 0; k < 4; k++) Put(f, &head[k], 4);
  for (int64_t i = 0; i < N; i++) Put(f, &(int32_t){(int32_t)rows[i].n}, 4);
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = 0; k < rows[i].n; k++) Put(f, &rows[i].entry[k].col, 4);
  for (int64_t i = 0; i < N; i++)
    for (int64_t k = 0; k < rows[i].n; k++) Put(f, &rows[i].entry[k].val, 8);
  bool failed = ferror(f);
  if (fclose(f) || failed) return perror(name), remove(name), 1;
  return 0;
}

int main(int argc, char **argv)
{
  side = argc == 4 ? atoll(argv[2]) : 0;
  if (side < 2 || side > 500)
    return fprintf(stderr, "usage: shapes p7|convection|graph|mesh <side, 2 to 500> <file>\n"), 2;
  N = side * side * side;
  rows = Need(calloc((size_t)N, sizeof *rows));
  if (!strcmp(argv[1], "p7") || !strcmp(argv[1], "convection"))
    Points(*argv[1] == 'c');
  else if (!strcmp(argv[1], "graph"))
    Graph();
  else if (!strcmp(argv[1], "mesh"))
    Mesh();
  else
    return fprintf(stderr, "shapes: there is no kind %s\n", argv[1]), 2;
  int failed = Write(argv[3]);
  for (int64_t i = 0; i < N; i++) free(rows[i].entry);
  free(rows);
  return failed;
}
