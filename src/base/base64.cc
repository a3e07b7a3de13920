#include "base/base64.h"

#include <fmt/format.h>

#include <cstdint>

namespace phalanx {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int kBitsOfDigit = 6;
constexpr int kBitsOfByte = 8;
constexpr size_t kDigitsOfGroup = 4;  // for three bytes

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * kDigitsOfGroup);
  uint32_t bits = 0;
  int count = 0;
  for (const char byte : bytes) {
    bits = bits << kBitsOfByte | static_cast<unsigned char>(byte);
    count += kBitsOfByte;
    while (count >= kBitsOfDigit) {
      count -= kBitsOfDigit;
      text += kAlphabet[bits >> count & 0x3F];
    }
  }
  if (count > 0) text += kAlphabet[bits << (kBitsOfDigit - count) & 0x3F];
  while (text.size() % kDigitsOfGroup != 0) text += '=';
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  size_t digits = 0;
  size_t padding = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    const size_t digit = kAlphabet.find(c);
    if (c == '=') {
      ++padding;
    } else if (digit == std::string_view::npos || padding > 0) {
      return fail(fmt::format("not base64: '{}' does not belong there",
                              c >= ' ' && c <= '~' ? std::string(1, c) : "?"));
    } else {
      ++digits;
      bits = bits << kBitsOfDigit | static_cast<uint32_t>(digit);
      count += kBitsOfDigit;
      if (count < kBitsOfByte) continue;
      count -= kBitsOfByte;
      bytes += static_cast<char>(bits >> count & 0xFF);
    }
  }
  const bool whole = (digits + padding) % kDigitsOfGroup == 0 && padding <= 2;
  const bool nothing_left = (bits & ((1U << count) - 1)) == 0;
  if (!whole || !nothing_left) return fail("not base64: it is cut off or not padded with '='");
  return bytes;
}

}  // namespace phalanx
