// Decimal text to the nearest double, and the digits of an index.
//
// Eight characters are looked at as one word: the length of a run of digits and its value come out without a loop over
// characters. A number with at most 19 digits is an integer w times a power of ten. For exponents up to 27 in size,
// 5^27 < 2^64 makes both the product w 5^e and the quotient w / 5^e exact in 128 bits (the quotient by its remainder),
// so that one rounding is all there is. Everything else goes to std::from_chars, which is exact too.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <system_error>

#include "numeric/compiler.hpp"

namespace maxmargin {

inline bool is_digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

inline constexpr std::array<std::uint64_t, 8> short_powers{1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

// Eight characters as one word, the first one lowest; beyond the end there is nothing.
inline std::uint64_t eight_characters(const char* p, const char* end) {
    std::uint64_t word = 0;
    if (end - p >= 8) [[likely]] {
        std::memcpy(&word, p, 8);
    } else {
        std::memcpy(&word, p, static_cast<std::size_t>(end - p));
    }
    if constexpr (std::endian::native == std::endian::big) {
        word = swapped_bytes(word);
    }
    return word;
}

// The value of eight digits, each from 0 to 9 in its byte: pairs first, then pairs of pairs.
inline std::uint64_t value_of_eight(std::uint64_t digits) {
    digits = digits * 10 + (digits >> 8);
    const std::uint64_t pairs = 0x000000FF000000FF;
    return ((digits & pairs) * 0x000F424000000064 + ((digits >> 16) & pairs) * 0x0000271000000001) >> 32;
}

// The characters of a word that are no digits, by the highest bit of their byte; `digits` is the word with 0x30 taken
// off every byte.
inline std::uint64_t others_than_digits(std::uint64_t digits) {
    return (((digits & 0x7F7F7F7F7F7F7F7F) + 0x7676767676767676) | digits) & 0x8080808080808080;
}

// The digits before the first other character of a word, and how many there are: less than eight.
inline std::uint64_t leading_digits(std::uint64_t digits, std::uint64_t others, int& length) {
    length = std::countr_zero(others) / 8;
    const int half = 32 - 4 * length;  // leading zeros replace what is missing, which may be all 64 bits
    return value_of_eight(digits << half << half);
}

// Appends digits to `value` and returns where they end. With more than 19 of them the value is meaningless.
inline const char* read_digits(const char* p, const char* end, std::uint64_t& value) {
    while (true) {
        const std::uint64_t digits = eight_characters(p, end) ^ 0x3030303030303030;
        const std::uint64_t others = others_than_digits(digits);
        if (others == 0) {
            value = value * 100000000 + value_of_eight(digits);
            p += 8;  // a constant, so that the processor can go on before it knows this run
            continue;
        }
        int length = 0;
        const std::uint64_t rest = leading_digits(digits, others, length);
        value = value * short_powers[static_cast<std::size_t>(length)] + rest;
        return p + length;
    }
}

inline constexpr int largest_power = 27;
inline constexpr auto powers_of_five = [] {
    std::array<std::uint64_t, largest_power + 1> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) {
        powers[i] = powers[i - 1] * 5;
    }
    return powers;
}();
inline constexpr std::array<double, 23> exact_tens{1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The double nearest to bits * 2^exponent, ties to even; `sticky` says that a little more was cut off. The result must
// be a normal number, and `bits` have its highest bit set.
inline double round_to_double(std::uint64_t bits, int exponent, bool sticky) {
    constexpr int extra = 64 - 53;
    std::uint64_t mantissa = bits >> extra;
    const std::uint64_t rest = bits & ((1u << extra) - 1), half = 1u << (extra - 1);
    if (rest > half || (rest == half && (sticky || (mantissa & 1)))) {
        ++mantissa;  // a carry to 2^53 moves on into the exponent, as it should
    }
    const auto biased = static_cast<std::uint64_t>(exponent + extra + 52 + 1023 - 1);
    return std::bit_cast<double>((biased << 52) + mantissa);
}

// w * 10^exponent for w > 0 and |exponent| <= 27, correctly rounded.
inline double scale_exactly(std::uint64_t w, int exponent) {
    if (exponent >= 0) {
        const Wide product = static_cast<Wide>(w) * powers_of_five[static_cast<std::size_t>(exponent)];
        const auto high = static_cast<std::uint64_t>(product >> 64), low = static_cast<std::uint64_t>(product);
        if (high == 0) {
            const int shift = std::countl_zero(low);
            return round_to_double(low << shift, exponent - shift, false);
        }
        const int shift = std::countl_zero(high);
        const Wide normal = product << shift;
        return round_to_double(static_cast<std::uint64_t>(normal >> 64), exponent + 64 - shift,
                               static_cast<std::uint64_t>(normal) != 0);
    }
    const std::uint64_t divisor = powers_of_five[static_cast<std::size_t>(-exponent)];
    const int w_shift = std::countl_zero(w), divisor_shift = std::countl_zero(divisor);
    const std::uint64_t normal_divisor = divisor << divisor_shift;
    const Wide dividend = static_cast<Wide>(w << w_shift) << 63;
    auto quotient = static_cast<std::uint64_t>(dividend / normal_divisor);
    const bool sticky = static_cast<Wide>(quotient) * normal_divisor != dividend;
    int binary = exponent - 63 - w_shift + divisor_shift;
    if (quotient >> 63 == 0) {  // 63 bits: one more from the remainder would not change how it rounds
        quotient <<= 1;
        --binary;
    }
    return round_to_double(quotient, binary, sticky);
}

enum class NumberError : std::uint8_t { none, syntax, overflow };

// Reads [+-]digits[.digits][e[+-]digits] and returns where it ends. After an error the end is where reading stopped.
inline const char* read_number(const char* p, const char* end, double& value, NumberError& error) {
    error = NumberError::none;
    const bool negative = p != end && *p == '-';
    if (p != end && (*p == '-' || *p == '+')) {
        ++p;
    }
    const char* const first = p;
    std::uint64_t w = 0;
    p = read_digits(p, end, w);
    std::int64_t digits = p - first, exponent = 0;
    if (p != end && *p == '.') {
        const char* const fraction = ++p;
        p = read_digits(p, end, w);
        exponent = fraction - p;
        digits -= exponent;
    }
    if (digits == 0) {
        error = NumberError::syntax;
        return p;
    }
    if (p != end && (*p | 0x20) == 'e') {
        const char* q = p + 1;
        const bool down = q != end && *q == '-';
        if (q != end && (*q == '-' || *q == '+')) {
            ++q;
        }
        if (q == end || !is_digit(*q)) {
            error = NumberError::syntax;
            return q;
        }
        std::int64_t given = 0;
        for (; q != end && is_digit(*q); ++q) {
            given = given < 1'000'000'000'000 ? 10 * given + (*q - '0') : given;
        }
        exponent += down ? -given : given;
        p = q;
    }
    if (digits > 19) {
        const char* lead = first;
        for (; lead != p && (*lead == '0' || *lead == '.'); ++lead) {
            digits -= *lead == '0';
        }
    }
    double magnitude = 0.0;
    if (digits <= 19 && w == 0) {
        magnitude = 0.0;
    } else if (digits <= 19 && w <= (std::uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
        const double exact = static_cast<double>(w);
        magnitude = exponent < 0 ? exact / exact_tens[static_cast<std::size_t>(-exponent)]
                                 : exact * exact_tens[static_cast<std::size_t>(exponent)];
    } else if (digits <= 19 && exponent >= -largest_power && exponent <= largest_power) {
        magnitude = scale_exactly(w, static_cast<int>(exponent));
    } else if (std::from_chars(first, p, magnitude).ec == std::errc::result_out_of_range) {
        // libstdc++ leaves the value alone both when it is too large and when it is nearer to zero than to any double
        if (digits + exponent > 0) {
            error = NumberError::overflow;
            return p;
        }
        magnitude = 0.0;
    }
    value = negative ? -magnitude : magnitude;
    return p;
}

// How many characters must be there for `read_ordinary`.
inline constexpr std::ptrdiff_t ordinary_length = 64;

// Reads `index:value` where the index has at most seven digits and the value is one digit, or one digit, a point and at
// most 18 more, with or without a minus sign: nearly all there is in files of this kind. Returns null for anything
// else, and where there is no separator behind it. No check for the end of the text is needed on the way.
inline const char* read_ordinary(const char* p, std::int64_t& index, double& value) {
    const char* const end = p + ordinary_length;
    const std::uint64_t front = eight_characters(p, end) ^ 0x3030303030303030;
    const std::uint64_t front_others = others_than_digits(front);
    if (front_others == 0) {
        return nullptr;
    }
    int length = 0;
    index = static_cast<std::int64_t>(leading_digits(front, front_others, length));
    p += length;
    if (length == 0 || *p != ':') {
        return nullptr;
    }
    ++p;
    const bool negative = *p == '-';
    p += negative;
    std::uint64_t w = static_cast<unsigned char>(*p - '0');
    if (w >= 10) {
        return nullptr;
    }
    ++p;
    double magnitude = static_cast<double>(w);
    if (*p == '.') {
        const char* const fraction = ++p;
        std::uint64_t digits = eight_characters(p, end) ^ 0x3030303030303030;
        std::uint64_t others = others_than_digits(digits);
        if (others == 0) {
            w = w * 100000000 + value_of_eight(digits);
            p += 8;
            digits = eight_characters(p, end) ^ 0x3030303030303030;
            others = others_than_digits(digits);
            if (others == 0) {
                w = w * 100000000 + value_of_eight(digits);
                p += 8;
                digits = eight_characters(p, end) ^ 0x3030303030303030;
                others = others_than_digits(digits);
                if ((others & 0x808080) == 0) {
                    return nullptr;  // more than 18 digits
                }
            }
        }
        const std::uint64_t rest = leading_digits(digits, others, length);
        w = w * short_powers[static_cast<std::size_t>(length)] + rest;
        p += length;
        const auto count = static_cast<std::size_t>(p - fraction);
        if (count == 0) {
            return nullptr;
        }
        if (w <= (std::uint64_t{1} << 53)) {
            magnitude = static_cast<double>(w) / exact_tens[count];
        } else {
            magnitude = scale_exactly(w, -static_cast<int>(count));
        }
    }
    value = negative ? -magnitude : magnitude;
    return *p == ' ' || *p == '\n' ? p : nullptr;
}

}  // namespace maxmargin
