#!/usr/bin/env python3
"""Trains a small model, data-parallel, with torch alone: torch.distributed and
DistributedDataParallel. Nothing in here is gorun's: what ranks get of it is the
environment that torchrun sets, and so the script runs under either, and alone.

    gorun -np 4 examples/torch/train.py
"""

import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

STEPS = 50
BATCH = 64  # of all ranks together, so that their number changes no result


def main():
    rank, ranks = 0, 1
    device = torch.device("cpu")
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
    if "RANK" in os.environ:
        # From RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
        dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
        rank, ranks = dist.get_rank(), dist.get_world_size()

    torch.manual_seed(1)  # the same data and the same first weights everywhere
    inputs = torch.randn(BATCH, 16, dtype=torch.float64)
    targets = torch.sin(inputs.sum(dim=1, keepdim=True))
    inputs = inputs.chunk(ranks)[rank].to(device)
    targets = targets.chunk(ranks)[rank].to(device)

    model = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1)
    ).to(device, torch.float64)
    if ranks > 1:
        model = DistributedDataParallel(model)  # averages gradients
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()

    loss = loss.detach()
    if ranks > 1:
        dist.all_reduce(loss)
        loss /= ranks
    if rank == 0:
        weights = sum(p.detach().abs().sum().item() for p in model.parameters())
        print(f"{ranks} ranks: loss {loss.item():.12f}, weights {weights:.12f}")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
