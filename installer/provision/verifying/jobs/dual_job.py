"""Smoke job for PyTorch and TensorFlow in one process: both import orders, each in a process of its own.

The frameworks bring their own copies of CUDA libraries, OpenMP, protobuf and others; which copy is loaded depends on
who comes first. So each order is a process: import both, train both on one device, and train the first once more.
"""

import os
import subprocess
import sys

import _report
import tensorflow_job
import torch_job

ORDERS = (("torch", "tensorflow"), ("tensorflow", "torch"))
JOBS = {"torch": torch_job, "tensorflow": tensorflow_job}


def extend(parser):
    parser.add_argument("--order", choices=["-".join(order) for order in ORDERS], help="one order, in this process")


def run(report, chosen):
    if chosen.order:
        one_order(report.bind(order=chosen.order), chosen)
        return
    for order in ORDERS:
        child(report, chosen, "-".join(order))
    report.emit("result")


def child(report, chosen, order):
    command = [sys.executable, os.path.abspath(__file__), "--device", chosen.device, "--level", chosen.level]
    command += ["--order", order]
    if chosen.report:
        command += ["--report", chosen.report]
    if chosen.limit > 0:
        command += ["--limit", str(chosen.limit)]
    report.emit("order", order=order)
    sys.stdout.flush()
    report.emit("order-ended", order=order, code=subprocess.call(command))


def one_order(report, chosen):
    names = chosen.order.split("-")
    loaded = []
    for name in names:
        own = report.bind(framework=name)
        loaded.append((name, own, JOBS[name].load(own)))
    opened = [(name, own, module, JOBS[name].open_device(own, module, chosen.device)) for name, own, module in loaded]
    for name, own, module, device in opened:
        work(JOBS[name], own, module, device, chosen.level)
    if chosen.level != "quick":
        again(opened[0])


def work(job, report, module, device, level):
    used = job.multiply(report, module, device)
    if level == "quick":
        report.emit("device", demanded=device.kind, used=used, problem=device.problem)
        report.emit("result")
        return
    job.prove(report, module, device)
    if hasattr(device, "release"):
        device.release()


def again(opened):
    """The framework that came first still trains after the other one has."""
    name, report, module, device = opened
    losses = JOBS[name].train(report.bind(again=True), module, device, steps=10)[1]
    report.emit("again", losses=losses)


if __name__ == "__main__":
    _report.finish(_report.main("dual", run, extend=extend))
