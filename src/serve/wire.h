// The parts of HTTP/1.1 on the wire that need no socket: the target of a request, and an answer.
#pragma once

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

// An answer as it goes out; without its body if the request was a HEAD, or if the status has none.
// Control characters in headers become spaces: a value that came from outside must not begin a
// header of its own.
std::string format_response(const Response& response, bool keep_alive, bool head_only);

// "Not Found"
std::string_view reason_phrase(int status);

}  // namespace phalanx::serve
