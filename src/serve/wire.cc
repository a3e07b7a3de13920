#include "serve/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace phalanx::serve {
namespace {

constexpr std::array<std::pair<int, std::string_view>, 27> kReasons{{
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {301, "Moved Permanently"},
    {302, "Found"},
    {303, "See Other"},
    {304, "Not Modified"},
    {307, "Temporary Redirect"},
    {308, "Permanent Redirect"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Content Too Large"},
    {415, "Unsupported Media Type"},
    {422, "Unprocessable Content"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
}};

std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == '\x7f'; }, ' ');
  return text;
}

// The value of a header and what follows it; "" if there is none. `name` is all that stands before
// the value, from the end of the line above.
std::string_view from_value(std::string_view head, std::string_view name) {
  const size_t at = head.find(name);
  return at == std::string_view::npos ? "" : head.substr(at + name.size());
}

}  // namespace

Target split_target(std::string_view target) {
  if (const size_t scheme = target.find("://"); !target.starts_with('/') && scheme < 6) {
    const size_t path = target.find_first_of("/?", scheme + 3);
    target = path == std::string_view::npos ? "/" : target.substr(path);
    if (target.starts_with('?')) return {.path = "/", .query = std::string(target.substr(1))};
  }
  if (!target.starts_with('/') && target != "*") return {};
  const size_t mark = target.find('?');
  if (mark == std::string_view::npos) return {.path = std::string(target), .query = ""};
  return {.path = std::string(target.substr(0, mark)),
          .query = std::string(target.substr(mark + 1))};
}

// Of the others an answer may not even say how long it is.
bool has_body(int status) {
  return status >= 200 && status != 204 && status != 304;
}

std::string format_head(const Response& response, bool keep_alive) {
  std::string text =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_phrase(response.status));
  if (has_body(response.status)) {
    if (!response.content_type.empty()) {
      text += fmt::format("Content-Type: {}\r\n", one_line(response.content_type));
    }
    text += fmt::format("Content-Length: {}\r\n", response.body.size());
  }
  for (const Header& each : response.headers) {
    text += fmt::format("{}: {}\r\n", one_line(each.name), one_line(each.value));
  }
  // HTTP/1.0 clients that asked to go on want to be told that they may.
  text += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text;
}

ResponseHead read_response_head(std::string_view text) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  constexpr size_t kStatusDigits = 3;
  ResponseHead head;
  const size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos || !text.starts_with(kVersion)) return head;
  head.bytes = end + 4;
  text = text.substr(0, end + 2);
  const std::string_view status = text.substr(kVersion.size(), kStatusDigits);
  std::from_chars(status.data(), status.data() + status.size(), head.status);
  const std::string_view length = from_value(text, "\r\nContent-Length: ");
  std::from_chars(length.data(), length.data() + length.size(), head.body_bytes);
  head.closes = from_value(text, "\r\nConnection: ").starts_with("close\r\n");
  return head;
}

std::string_view reason_phrase(int status) {
  const auto* found = std::ranges::find(kReasons, status, &std::pair<int, std::string_view>::first);
  return found == kReasons.end() ? "Unknown" : found->second;
}

}  // namespace phalanx::serve
