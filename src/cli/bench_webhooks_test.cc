// The load for webhooks, against webhooks that have no cluster behind them.
#include <algorithm>
#include <fstream>

#include "admission/webhook.h"
#include "base/json.h"
#include "base/wall_clock.h"
#include "cli/bench_report.h"
#include "cli/command.h"
#include "cli/testing.h"
#include "serve/server.h"

namespace phalanx::cli {
namespace {

using std::chrono::hours;

TEST(BenchReport, PercentilesAreValuesThatWereMeasured) {
  EXPECT_EQ(percentile(std::vector<int>{}, 50), 0);
  EXPECT_EQ(percentile(std::vector<int>{7}, 0), 7);
  EXPECT_EQ(percentile(std::vector<int>{7}, 99), 7);
  EXPECT_EQ(percentile(std::vector<int>{1, 2, 3, 4}, 50), 2);
  EXPECT_EQ(percentile(std::vector<int>{1, 2, 3, 4, 5}, 50), 3);
  // One of two is more than one of a hundred.
  EXPECT_EQ(percentile(std::vector<int>{1, 2}, 99), 2);
  std::vector<int> hundred(100);
  for (int i = 0; i < 100; ++i) hundred[static_cast<size_t>(i)] = i + 1;
  EXPECT_EQ(percentile(hundred, 99), 99);
  EXPECT_EQ(percentile(hundred, 100), 100);
}

class BenchWebhooksTest : public ::testing::Test {
 protected:
  BenchWebhooksTest() {
    const auto authority = serve::make_authority("phalanx", wall_now(), hours(48)).value();
    serve::ServerOptions options;
    options.address = {.host = "127.0.0.1", .port = 0};
    options.header_timeout = std::chrono::seconds(3);
    options.most_body_bytes = [](std::string_view path) {
      return std::max(admission::most_body_bytes(path), size_t{1} << 20);
    };
    const auto identity = serve::issue(authority, {"127.0.0.1"}, wall_now(), hours(24)).value();
    const auto answer = [this](const serve::Request& request, const serve::Reply& reply) {
      auto read = webhooks_.read(request.path, request.body);
      auto answered = request.method != "POST" ? admission::http_error(405, "no POST")
                      : read                   ? webhooks_.answer(std::move(*read), {})
                                               : std::move(read.error());
      reply({answered.status, "application/json", std::move(answered.body)});
    };
    server_ = serve::Server::start(options, identity, answer).value();
    std::ofstream(authority_file_) << authority.certificate_pem;
  }

  [[nodiscard]] Ran bench(const std::string& output) const {
    return run_phalanx({"bench", "webhooks", "--url",
                        "https://127.0.0.1:" + std::to_string(server_->port()), "--ca",
                        authority_file_, "--rate", "300", "--duration", "1s", "--garbage", "30",
                        "--output", output});
  }

  admission::Webhooks webhooks_;
  const std::string authority_file_ = testing::TempDir() + "/bench_webhooks_ca.crt";
  std::unique_ptr<serve::Server> server_;
};

TEST_F(BenchWebhooksTest, EveryAnswerIsAccountedFor) {
  const Ran ran = bench("json");
  ASSERT_EQ(ran.code, kDone) << ran.err;
  const json::value report = parse_json(ran.out).value();
  EXPECT_EQ(report.at("requests").to_number<int>(), 300);
  EXPECT_EQ(report.at("wrong_answers").to_number<int>(), 0) << ran.err;
  EXPECT_GT(report.at("allowed").to_number<int>(), 0);
  EXPECT_GT(report.at("refused").to_number<int>(), 0);
  EXPECT_LE(report.at("p50_ms").to_number<double>(), report.at("p99_ms").to_number<double>());
  EXPECT_LE(report.at("p99_ms").to_number<double>(), report.at("max_ms").to_number<double>());
  int sent = 0;
  for (const auto& sort : report.at("garbage").as_object()) {
    EXPECT_EQ(sort.value().at("sent"), sort.value().at("as_expected")) << sort.key();
    sent += sort.value().at("sent").to_number<int>();
  }
  EXPECT_GT(sent, 50);
  EXPECT_EQ(report.at("garbage_as_expected").to_number<int>(), sent);
}

TEST_F(BenchWebhooksTest, PeopleAreToldInWords) {
  const Ran ran = bench("text");
  ASSERT_EQ(ran.code, kDone) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("requests                    300\nwall_s ")) << ran.out;
  EXPECT_EQ(ran.out.find("E0\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("  not JSON "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find(" as expected\n"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace phalanx::cli
