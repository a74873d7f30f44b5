#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Find the heat conductivity of a plate from temperatures, by gradients through the solve.

    python python/examples/gradient_torch.py      # 40 x 40 cells
    python python/examples/gradient_torch.py 100  # 100 x 100

-div(k grad u) = f on a square whose edge is kept at 0. Four heaters, one after the other, are four right-hand
sides of one matrix. Temperatures are measured in each cell, and k is found where heat flows. Each step of the
minimisation takes a solve, and another one for the gradient, by one solver that is set up once.
"""
import sys
import time

import poise
import torch

torch.sparse.check_sparse_tensor_invariants.disable()  # PyTorch asks that this is said
torch.set_default_dtype(torch.float64)
CELLS = int(sys.argv[1]) if len(sys.argv) > 1 else 40
STEPS = 10  # of 20


class Plate:
    """Finite volumes on n x n cells: heat flows between neighbours, and to the edge."""

    def __init__(self, n):
        cell = torch.arange(n * n).reshape(n, n)
        self.n = n
        self.one = torch.cat([cell[:, :-1].reshape(-1), cell[:-1].reshape(-1)])
        self.other = torch.cat([cell[:, 1:].reshape(-1), cell[1:].reshape(-1)])
        self.edge = torch.cat([cell[0], cell[-1], cell[:, 0], cell[:, -1]])
        rows = torch.cat([self.one, self.other, self.one, self.other, self.edge])
        columns = torch.cat([self.one, self.other, self.other, self.one, self.edge])
        self.where = torch.stack([rows, columns])

    def matrix(self, k):
        """A as a function of the conductivities of the cells. Entries at one place are summed."""
        flow = 2 / (1 / k[self.one] + 1 / k[self.other])  # through the two halves between centres
        values = torch.cat([flow, flow, -flow, -flow, 2 * k[self.edge]])
        return torch.sparse_coo_tensor(self.where, values, (self.n**2, self.n**2))

    def heaters(self):
        f = torch.zeros(self.n, self.n, 4)
        low, high = self.n // 4, 3 * self.n // 4
        for number, (i, j) in enumerate([(low, low), (low, high), (high, low), (high, high)]):
            f[i, j, number] = 1
        return f.reshape(-1, 4)

    def temperatures(self, k):
        return poise.torch.solve(self.matrix(k), self.heaters(), "cg", pc="icc", rtol=1e-10)


def main():
    plate = Plate(CELLS)
    at = (torch.arange(CELLS) + 0.5) / CELLS
    distance = torch.hypot(at[None, :] - 0.6, at[:, None] - 0.45).reshape(-1)
    truth = torch.where(distance < 0.2, 5.0, 1.0)
    measured = plate.temperatures(truth)

    log_k = torch.zeros(CELLS**2, requires_grad=True)
    method = torch.optim.LBFGS([log_k], max_iter=20, history_size=30, line_search_fn="strong_wolfe",
                               tolerance_grad=0, tolerance_change=0)

    def loss():
        method.zero_grad()
        misfit = ((plate.temperatures(log_k.exp()) - measured) ** 2).sum() / (measured**2).sum()
        misfit.backward()
        return misfit

    start = time.perf_counter()
    for step in range(STEPS):
        method.step(loss)
        error = ((log_k.exp() - truth).norm() / truth.norm()).item()
        print(f"{20 * (step + 1):4} steps: misfit {loss().item():8.2e}, error of k {error:6.1%}")
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
