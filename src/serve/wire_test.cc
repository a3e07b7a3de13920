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
  EXPECT_EQ(format_response({.status = 404, .body = "no\n"}, true, true),
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\n"
            "Content-Length: 3\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(format_response({.status = 302, .content_type = "", .headers = {{"Location", "/ui/"}}},
                            false, true),
            "HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: /ui/\r\n"
            "Connection: close\r\n\r\n");
  // Neither may say how long it is: the client would wait for it.
  EXPECT_EQ(format_response({.status = 204}, true, true),
            "HTTP/1.1 204 No Content\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(format_response({.status = 304}, true, true),
            "HTTP/1.1 304 Not Modified\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_TRUE(format_response({.status = 299}, true, true).starts_with("HTTP/1.1 299 Unknown\r\n"));
}

TEST(Wire, ABodyFollowsWhereItMay) {
  EXPECT_TRUE(format_response({.body = "yes"}, true, false).ends_with("\r\n\r\nyes"));
  EXPECT_TRUE(format_response({.body = "yes"}, true, true).ends_with("\r\n\r\n"));
  EXPECT_TRUE(format_response({.status = 204, .body = "x"}, true, false).ends_with("\r\n\r\n"));
}

TEST(Wire, AValueCannotBeginAHeader) {
  const std::string head = format_response(
      {.content_type = "a\r\nX-Evil: 1", .headers = {{"Location", "/x\r\n\r\n<script>"}}}, true,
      true);
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

}  // namespace
}  // namespace phalanx::serve
