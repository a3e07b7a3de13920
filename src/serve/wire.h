// The parts of HTTP/1.1 on the wire that need no socket: the target of a request, and an answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "serve/message.h"

namespace phalanx::serve {

struct Target {
  std::string path;
  std::string query;
};

// "/a?b", "http://host/a?b" (as proxies write it) or "*"; an empty path if it is none of them.
Target split_target(std::string_view target);

// Whether answers of this status have a body.
bool has_body(int status);

// What goes out before the body. Control characters in headers become spaces: a value that came
// from outside must not begin a header of its own.
std::string format_head(const Response& response, bool keep_alive);

// The head of an answer, for clients of our own server: only what format_head() writes is
// understood.
struct ResponseHead {
  int status = 0;
  size_t bytes = 0;       // with the empty line behind it; 0: not all of it is there
  size_t body_bytes = 0;  // as it says
  bool closes = false;    // no other answer follows on this connection
};
// `text` begins with the answer, and may end anywhere.
ResponseHead read_response_head(std::string_view text);

// "Not Found"
std::string_view reason_phrase(int status);

}  // namespace phalanx::serve
