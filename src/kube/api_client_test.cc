#include "kube/api_client.h"

#include <gtest/gtest.h>

#include "kube/raw_server_testing.h"

namespace phalanx::kube {
namespace {

// What a server says that answers everything with this document.
Answer<json::value> answer_of(const std::string& document) {
  RawServer server([&](RawServer::Connection& connection) {
    while (!connection.request().empty()) {
      connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(document.size()) +
                      "\r\n\r\n" + document);
    }
  });
  ApiClient client(server.access());
  return client.get("/apis");
}

std::string nested(size_t depth) {
  std::string text = "1";
  for (size_t i = 0; i < depth; ++i) text = R"({"properties":)" + text + "}";
  return text;
}

// As deep as Kueue's definition of Workloads is, in a list.
TEST(ApiClientTest, ReadsDefinitionsThatAreDeep) {
  const auto answer = answer_of(nested(40));
  ASSERT_TRUE(answer.has_value()) << answer.error().message;
  EXPECT_EQ(json::serialize(*answer), nested(40));
}

TEST(ApiClientTest, SaysWhatIsWrongWithAnAnswer) {
  const auto answer = answer_of("{\"a\":");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, 0);
  EXPECT_NE(answer.error().message.find("the answer cannot be read"), std::string::npos);
}

}  // namespace
}  // namespace phalanx::kube
