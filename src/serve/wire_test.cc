#include "serve/wire.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace phalanx::serve {
namespace {

TEST(Wire, ATargetIsPathAndQuery) {
  struct Case {
    std::string target, path, query;
  };
  const std::vector<Case> cases{
      {"/", "/", ""},
      {"/a/b", "/a/b", ""},
      {"/a?b=c", "/a", "b=c"},
      {"/a?b?c", "/a", "b?c"},
      {"/?", "/", ""},
      {"/a://b", "/a://b", ""},
      {"*", "*", ""},
      {"http://host:80/a?b", "/a", "b"},
      {"https://host", "/", ""},
      {"https://host?a", "/", "a"},
      {"host:443", "", ""},
      {"a/b", "", ""},
      {"?a", "", ""},
      {"", "", ""},
  };
  for (const Case& each : cases) {
    const Target target = split_target(each.target);
    EXPECT_EQ(target.path, each.path) << each.target;
    EXPECT_EQ(target.query, each.query) << each.target;
  }
}

TEST(Wire, TheHeadOfAnAnswer) {
  EXPECT_EQ(format_head({.status = 404, .body = "no\n"}, true),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 3\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(
      format_head({.status = 302, .content_type = "", .headers = {{"Location", "/ui/"}}}, false),
      "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /ui/\r\n"
      "Connection: close\r\n\r\n");
  // Neither may say how long it is: the client would wait for it.
  EXPECT_EQ(format_head({.status = 204}, true),
            "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(format_head({.status = 304}, true),
            "HTTP/1.1 304 Not Modified\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(format_head({.status = 299}, true).starts_with("HTTP/1.1 299 Unknown\r\n"));
}

TEST(Wire, ABodyFollowsWhereItMay) {
  EXPECT_TRUE(has_body(200) && has_body(404) && has_body(503));
  EXPECT_FALSE(has_body(100) || has_body(204) || has_body(304));
}

TEST(Wire, AValueCannotBeginAHeader) {
  const std::string head = format_head(
      {.content_type = "a\r\nX-Evil: 1", .headers = {{"Location", "/x\r\n\r\n<script>"}}}, true);
  EXPECT_TRUE(head.contains("Content-Type: a  X-Evil: 1\r\n")) << head;
  EXPECT_TRUE(head.contains("Location: /x    <script>\r\n")) << head;
  EXPECT_EQ(head.find("\r\n\r\n"), head.size() - 4);
}

TEST(Wire, HeadersAreFoundWhateverTheirCase) {
  Request request;
  request.headers = {{"Content-Type", "a"}, {"content-type", "b"}, {"X", "c"}};
  EXPECT_EQ(request.header("content-Type"), "a");
  EXPECT_EQ(request.header("x"), "c");
  EXPECT_EQ(request.header("y"), "");
}

TEST(Wire, TheHeadOfAnAnswerIsReadAsItWasWritten) {
  const std::string kept = format_head({.status = 404, .body = "no\n"}, true) + "no\n";
  for (size_t size = 0; size < kept.size() - 3; ++size) {
    EXPECT_EQ(read_response_head(kept.substr(0, size)).bytes, 0U) << size;
  }
  for (const size_t body : {0, 1, 3}) {
    const ResponseHead head = read_response_head(kept.substr(0, kept.size() - 3 + body));
    EXPECT_EQ(head.status, 404);
    EXPECT_EQ(head.bytes, kept.size() - 3);
    EXPECT_EQ(head.body_bytes, 3U);
    EXPECT_FALSE(head.closes);
  }
  const Response empty{.status = 204, .headers = {{"X-Content-Length", "5"}}};
  const std::string last = format_head(empty, false);
  EXPECT_EQ(read_response_head(last + kept).status, 204);
  EXPECT_EQ(read_response_head(last + kept).bytes, last.size());
  EXPECT_EQ(read_response_head(last + kept).body_bytes, 0U) << "that is of another header";
  EXPECT_TRUE(read_response_head(last).closes);
  EXPECT_EQ(read_response_head("\x15\x03\x01\r\n\r\n").bytes, 0U) << "no HTTP";
  EXPECT_EQ(read_response_head("HTTP/1.1 \r\n\r\n").status, 0);
}

}  // namespace
}  // namespace phalanx::serve
