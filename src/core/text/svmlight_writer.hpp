// CSR rows to svmlight text. Numbers are written with the fewest digits that read back to the same bits.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>

#include "text/number.hpp"

namespace maxmargin {

template <class Number>
void append_number(std::string& text, Number number) {
    char digits[32];
    const std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, number);
    text.append(digits, result.ptr);
}

// The reader rounds to the nearest double first. One float, 7.038531e-26, falls on the wrong side when it is rounded
// twice, so every float is read back, and nine digits are written where the fewest do not do.
inline void append_number(std::string& text, float number) {
    char digits[32];
    std::to_chars_result result = std::to_chars(digits, digits + sizeof digits, number);
    double read = 0.0;
    NumberError error = NumberError::none;
    read_number(digits, result.ptr, read, error);
    if (static_cast<float>(read) != number) {
        result = std::to_chars(digits, digits + sizeof digits, number, std::chars_format::scientific, 8);
    }
    text.append(digits, result.ptr);
}

// Appends ` index:value ...` for the values begin to end of a CSR matrix; `base` is added to the indices.
template <class Value>
void append_features(std::string& text, const Value* values, const std::int64_t* indices, std::size_t begin,
                     std::size_t end, std::int64_t base) {
    for (std::size_t k = begin; k < end; ++k) {
        text += ' ';
        append_number(text, indices[k] + base);
        text += ':';
        append_number(text, values[k]);
    }
}

}  // namespace maxmargin
