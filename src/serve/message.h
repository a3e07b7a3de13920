// What a client asks and what it is answered: HTTP without its wire.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace phalanx::serve {

struct Header {
  std::string name;
  std::string value;
};

struct Request {
  std::string method;  // "GET"
  std::string path;    // "/mutate/jobs": as it was sent, not decoded, without the query
  std::string query;   // "timeout=10s": what follows the question mark
  std::vector<Header> headers;
  std::string body;
  std::string peer;  // "10.0.0.7:51234", "[fd00::7]:51234"

  // The value of the first header of that name, whatever its case; "" if there is none.
  [[nodiscard]] std::string_view header(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body = "";
  std::vector<Header> headers = {};  // beside Content-Type, Content-Length and Connection
  // Makes the rest, on the server's thread, before it is sent: for whoever replies from a thread
  // that has something better to do. Not called if nobody waits for the answer any more.
  std::function<void(Response&)> complete = nullptr;
};

// Answers a request. Can be called from any thread, at any time, also when client and server are
// long gone. The first call counts; if the last copy is dropped without one, the answer is 500.
using Reply = std::function<void(Response)>;

}  // namespace phalanx::serve
