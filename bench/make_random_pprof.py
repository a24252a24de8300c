#!/usr/bin/env python3
"""Writes a pprof profile of random stacks, the same for the same words: nothing is shared but by chance.

    bench/make_random_pprof.py OUTPUT [--samples N] [--depth N] [--locations N] [--seed N]
"""

import argparse
import gzip
import random


def varint(number):
    out = bytearray()
    while number > 0x7f:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, content):
    """A number, or bytes behind their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def profile(options):
    random_numbers = random.Random(options.seed)
    texts = ["", "samples", "count", "cpu", "nanoseconds", "/usr/bin/random"]
    parts = [field(1, field(1, 1) + field(2, 2)), field(1, field(1, 3) + field(2, 4))]
    ids = [varint(number) for number in range(1, options.locations + 1)]
    for _ in range(options.samples):
        depth = random_numbers.randint(options.depth // 2, options.depth * 3 // 2)
        count = random_numbers.randint(1, 9)
        values = varint(count) + varint(count * 10_000_000)
        parts.append(field(2, field(1, b"".join(random_numbers.choices(ids, k=depth))) + field(2, values)))
    parts.append(field(3, field(1, 1) + field(2, 0x400000) + field(3, 0x8000000) + field(5, 5) + field(7, 1)))
    functions = max(1, options.locations // 4)
    for number in range(1, options.locations + 1):
        line = field(1, (number - 1) % functions + 1) + field(2, number % 500 + 1)
        parts.append(field(4, field(1, number) + field(2, 1) + field(3, 0x400000 + 16 * number) + field(4, line)))
    for number in range(1, functions + 1):
        parts.append(field(5, field(1, number) + field(2, len(texts)) + field(3, len(texts))))
        texts.append(f"module{number % 97}::function{number}")
    parts += [field(6, text.encode()) for text in texts]
    parts += [field(11, field(1, 3) + field(2, 4)), field(12, 10_000_000)]
    return b"".join(parts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--samples", type=int, default=371_000)
    parser.add_argument("--depth", type=int, default=48, help="of a stack on average")
    parser.add_argument("--locations", type=int, default=16_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    content = profile(options)
    with open(options.output, "wb") as file:
        file.write(gzip.compress(content, 1, mtime=0) if options.output.endswith(".gz") else content)


if __name__ == "__main__":
    main()
