"""Numbers in text become the nearest double: against Python's own float, on millions of strings."""

import io
import random
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import _core, load_svmlight
from maxmargin.io.svmlight import read_svmlight


def read(strings):
    numbers, bad = _core.read_numbers(np.frombuffer("\n".join(strings).encode(), dtype=np.uint8))
    assert bad == -1, f"stopped before {chr(10).join(strings)[bad : bad + 60]!r}"
    return numbers


def read_as_values(strings):
    """The same numbers as values of features, which take a shorter way where they are ordinary."""
    lines = "".join(f"0 7:{string}\n" for string in strings)
    return read_svmlight(io.BytesIO(lines.encode())).X.data


def assert_same_bits_as_python(strings):
    found = read(strings)
    np.testing.assert_array_equal(read_as_values(strings).view(np.int64), found.view(np.int64))
    expected = np.array([float(string) for string in strings])
    different = np.flatnonzero(found.view(np.int64) != expected.view(np.int64))
    assert len(found) == len(expected)
    assert different.size == 0, [(strings[k], found[k], expected[k]) for k in different[:5]]


def random_doubles(count, seed):
    bits = np.random.default_rng(seed).integers(0, 2**64, size=count, dtype=np.uint64)
    values = bits.view(np.float64)
    return values[np.isfinite(values)].tolist()


@pytest.mark.parametrize("style", ["{!r}", "{:.16e}", "{:.6g}", "{:.20e}"])
def test_doubles_of_all_sizes(style):
    assert_same_bits_as_python([style.format(value) for value in random_doubles(300_000, seed=1)])


@pytest.mark.parametrize("style", ["{!r}", "{:.16g}", "{:.17g}", "{:.8f}", "{:.25f}"])
def test_doubles_of_ordinary_size(style):
    rng = np.random.default_rng(2)
    values = rng.normal(size=200_000) * 10.0 ** rng.integers(-9, 9, size=200_000)
    assert_same_bits_as_python([style.format(value) for value in values.tolist()])


def test_random_digits_and_exponents():
    generator = random.Random(3)
    strings = []
    for _ in range(400_000):
        digits = str(generator.getrandbits(generator.randint(1, 90)))
        point = generator.randint(0, len(digits))
        sign = generator.choice(["", "-", "+"])
        exponent = generator.choice(["", f"e{generator.randint(-340, 300)}", f"E+{generator.randint(0, 30)}"])
        strings.append(f"{sign}{digits[:point]}.{digits[point:]}{exponent}" if point else f"{sign}{digits}{exponent}")
    strings = [string for string in strings if abs(float(string)) != float("inf")]
    assert len(strings) > 350_000
    assert_same_bits_as_python(strings)


def exact_text(value):
    """A fraction whose denominator is a power of two, as a decimal without rounding."""
    shift = value.denominator.bit_length() - 1
    digits = str(value.numerator * 5**shift).zfill(shift + 1)
    return f"{digits[:-shift]}.{digits[-shift:]}" if shift else digits


def test_halfway_between_two_doubles_goes_to_the_even_one_and_a_digit_decides():
    generator = random.Random(4)
    strings = []
    for _ in range(3000):
        lower = abs(struct.unpack("d", struct.pack("Q", generator.getrandbits(64) & (2**63 - 1)))[0])
        if generator.random() < 0.7:
            lower = generator.random() * 10.0 ** generator.randint(-20, 20)
        upper = np.nextafter(lower, np.inf)
        if not np.isfinite(upper):
            continue
        text = exact_text((Fraction(lower) + Fraction(float(upper))) / 2)
        text = text if "." in text else text + "."
        strings += [text, text + "000", text + "1", text + "0" * 30 + "1"]
    assert_same_bits_as_python(strings)


EDGES = """
0 -0 +0 0.0 -0.0 .5 5. 00012 0e999 0.0e-999 1e0 1e-0 1e+00000000000001
9007199254740992 9007199254740993 9007199254740994 9007199254740995 18446744073709551615 18446744073709551616
9999999999999999999 99999999999999999999 1e22 1e23 1e27 1e28 1e-27 1e-28 1.7976931348623157e308 1.7976931348623158e308
2.2250738585072014e-308 2.225073858507201e-308 4.9406564584124654e-324 2.4703282292062327e-324 2.4703282292062328e-324
1e-400 1e-99999999999
"""


def test_the_edges():
    zeros = "0" * 400
    assert_same_bits_as_python(
        [
            *EDGES.split(),
            f"0.{zeros}1",
            f"0.{zeros}1e400",
            f"1{zeros[:300]}",
            f"{zeros}1.5",
            f"1.{zeros}1",
            "123456789012345678901234567890e-20",
            "0.1" + "0" * 1000,
        ]
    )


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_what_python_prints_comes_back(value):
    assert_same_bits_as_python([repr(value), f"{value:.17g}", f"{value:.30e}"])


@settings(max_examples=2000)
@given(st.text(alphabet="0123456789.eE+-_xinfa ", max_size=12))
def test_what_is_not_a_number_is_refused_and_the_rest_agrees(text):
    grammar = set("0123456789.eE+-")
    words = text.split()
    _, bad = _core.read_numbers(np.frombuffer(text.encode(), dtype=np.uint8))

    def proper(word):
        try:
            return set(word) <= grammar and abs(float(word)) < float("inf")
        except ValueError:
            return False

    assert (bad == -1) == all(map(proper, words))
    if bad == -1 and words:
        assert_same_bits_as_python(words)


@pytest.mark.parametrize("text", ["1e309", "-1e999999999999999999999", "1" + "0" * 309, "0." + "0" * 9 + "1e400"])
def test_beyond_all_doubles_is_an_error(text):
    _, bad = _core.read_numbers(np.frombuffer(text.encode(), dtype=np.uint8))
    assert bad == 0
    with pytest.raises(ValueError, match="too large for a double"):
        load_svmlight(io.BytesIO(f"1 1:{text}\n".encode()))
