# SPDX-License-Identifier: LGPL-2.1-or-later
"""XXH3 with 128 bits, as ktrace-ship makes it of each chunk, and how a thief makes other data with the same."""
import ctypes
import struct

STRIPE, STRIPES = 64, 16
BLOCK = STRIPE * STRIPES
LOW, ALL = 2**32 - 1, 2**64 - 1


class Hash(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


library = ctypes.CDLL("libxxhash.so.0")
library.XXH3_128bits.restype = Hash
library.XXH3_128bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
secret = ctypes.create_string_buffer(192)
library.XXH3_generateSecret_fromSeed(secret, ctypes.c_uint64(0))


def digest(data):
    value = library.XXH3_128bits(data, len(data))
    return f"{value.high:016x}{value.low:016x}"


def key(stripe, lane):
    return struct.unpack_from("<Q", secret.raw, 8 * (stripe + lane))[0]


def sums(block):
    """What a block adds to the eight sums, as long as nothing else happens to them."""
    result = [0] * 8
    for stripe in range(len(block) // STRIPE):
        for lane, word in enumerate(struct.unpack_from("<8Q", block, STRIPE * stripe)):
            mixed = word ^ key(stripe, lane)
            result[lane ^ 1] += word
            result[lane] += (mixed & LOW) * (mixed >> 32)
    return [n & ALL for n in result]


def collide(data, evil):
    """Other data with the same hash, which begins with evil. Its two last stripes of the first block bring the sums
    to what they are with data: 32 bits are free in each word, because the product with the others is 0 or known."""
    assert len(data) > BLOCK and len(evil) <= BLOCK - 2 * STRIPE
    head = evil + data[len(evil):BLOCK - 2 * STRIPE]
    missing = [(a - b) & ALL for a, b in zip(sums(data[:BLOCK]), sums(head))]
    first, last = [0] * 8, [0] * 8
    for lane in range(8):
        low = (key(14, lane ^ 1) ^ 1) + key(15, lane ^ 1) & LOW
        factor = missing[lane] - low & LOW
        first[lane] = key(14, lane) ^ (factor << 32 | 1)
        missing[lane] -= factor
    for lane in range(8):
        high = missing[lane ^ 1] - first[lane] - (key(15, lane) & LOW) & ALL
        assert high & LOW == 0
        last[lane] = high | key(15, lane) & LOW
    result = head + struct.pack("<16Q", *first, *last) + data[BLOCK:]
    assert result != data and digest(result) == digest(data)
    return result
