"""Pictures made from nothing: four kinds of stripes, with noise. The same bytes on every machine and Python."""

import math
import random

SIDE = 16
CHANNELS = 3
CLASSES = 4
CHANCE = 1.0 / CLASSES

#: Direction of the stripes of each class: how the phase grows along rows and along columns.
_DIRECTIONS = ((1.0, 0.0), (0.0, 1.0), (0.7, 0.7), (0.7, -0.7))


def pictures(count, seed):
    """`count` pictures as bytes (count, SIDE, SIDE, CHANNELS), values 0 to 255, and their labels."""
    chance = random.Random(seed)
    pixels = bytearray()
    labels = []
    for number in range(count):
        label = number % CLASSES
        labels.append(label)
        pixels += _picture(chance, _DIRECTIONS[label])
    return bytes(pixels), labels


def _picture(chance, direction):
    down, right = direction
    phase = chance.random() * 6.283
    tint = [0.6 + 0.4 * chance.random() for _ in range(CHANNELS)]
    pixels = bytearray()
    for row in range(SIDE):
        for column in range(SIDE):
            wave = math.sin(phase + 1.5 * (down * row + right * column))
            for channel in range(CHANNELS):
                value = 128 + 70 * wave * tint[channel] + 110 * (chance.random() - 0.5)
                pixels.append(int(min(255, max(0, value))))
    return pixels


def matrix(size, seed):
    """A square matrix of small numbers, as lists of rows."""
    chance = random.Random(seed)
    return [[chance.random() - 0.5 for _ in range(size)] for _ in range(size)]


def product(left, right):
    """The matrix product in plain Python: a referee that shares no code with any framework."""
    columns = list(zip(*right))
    return [[math.fsum(a * b for a, b in zip(row, column)) for column in columns] for row in left]


def difference(found, expected):
    """Largest difference of two nests of numbers, relative to the largest expected number."""
    found, expected = list(_flat(found)), list(_flat(expected))
    if len(found) != len(expected):
        return float("inf")
    scale = max([abs(value) for value in expected] + [1e-12])
    worst = 0.0
    for one, other in zip(found, expected):
        gap = abs(one - other) / scale
        if not gap <= worst:  # also true for nan, which then stays
            worst = gap
            if gap != gap:
                return gap
    return worst


def _flat(nest):
    if isinstance(nest, (list, tuple)):
        for item in nest:
            for value in _flat(item):
                yield value
    else:
        yield float(nest)
