#include "kube/cluster_access.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/base64.h"
#include "base/file.h"
#include "base/mailbox.h"
#include "kube/authenticator.h"

namespace phalanx::kube {
namespace {

class ClusterAccessTest : public testing::Test {
 protected:
  ClusterAccessTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("phalanx-access-" + std::to_string(::getpid()) + "-" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~ClusterAccessTest() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content) {
    const std::string path = (folder_ / name).string();
    EXPECT_TRUE(write_file(path, content));
    return path;
  }
  std::string kubeconfig(const std::string& cluster, const std::string& user) {
    return write("config",
                 "apiVersion: v1\nkind: Config\ncurrent-context: dev\n"
                 "contexts:\n- {name: dev, context: {cluster: c, user: u, namespace: ml}}\n"
                 "clusters:\n- name: c\n  cluster: " +
                     cluster + "\nusers:\n- name: u\n  user: " + user + "\n");
  }
  static std::string error_of(const Result<ClusterAccess>& access) {
    return access ? "" : access.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(ClusterAccessTest, ReadsCertificatesInlineAndFromFilesBesideIt) {
  write("ca.pem", "the CA");
  const auto access =
      find_access({kubeconfig("{server: 'https://10.0.0.1:6443/', certificate-authority: ca.pem}",
                              "{client-certificate-data: " + to_base64("cert") +
                                  ", client-key-data: " + to_base64("key") + "}"),
                   ""});
  ASSERT_TRUE(access) << error_of(access);
  EXPECT_EQ(access->server, "https://10.0.0.1:6443");
  EXPECT_EQ(access->authority, "the CA");
  EXPECT_EQ(access->certificate, "cert");
  EXPECT_EQ(access->key, "key");
  EXPECT_EQ(access->namespace_, "ml");
}

TEST_F(ClusterAccessTest, ContextsAreChosenByName) {
  const std::string path = write("config", R"(
kind: Config
contexts:
- {name: dev, context: {cluster: a}}
- {name: prod, context: {cluster: b}}
clusters:
- {name: a, cluster: {server: 'https://a'}}
- {name: b, cluster: {server: 'https://b', tls-server-name: kubernetes, proxy-url: 'http://p:1'}}
)");
  EXPECT_EQ(find_access({path, "prod"})->server, "https://b");
  EXPECT_EQ(find_access({path, "prod"})->server_name, "kubernetes");
  EXPECT_EQ(find_access({path, "prod"})->proxy, "http://p:1");
  EXPECT_NE(error_of(find_access({path, ""})).find("has no current-context"), std::string::npos);
  EXPECT_NE(error_of(find_access({path, "prd"})).find("there is no context \"prd\""),
            std::string::npos);
}

TEST_F(ClusterAccessTest, SeveralFilesAreMergedAndTheFirstCounts) {
  const std::string first = write("one",
                                  "contexts:\n- {name: x, context: {cluster: c, user: u}}\n"
                                  "current-context: x\n");
  const std::string second = write("two",
                                   "contexts:\n- {name: x, context: {cluster: d}}\n"
                                   "clusters:\n- {name: c, cluster: {server: 'https://c'}}\n"
                                   "users:\n- {name: u, user: {token: t}}\n");
  Surroundings surroundings;
  surroundings.environment["KUBECONFIG"] = first + ":" + second + ":/is/not/there";
  const auto access = find_access({}, surroundings);
  ASSERT_TRUE(access) << error_of(access);
  EXPECT_EQ(access->server, "https://c");
  EXPECT_EQ(access->token, "t");
}

TEST_F(ClusterAccessTest, InAPodTheServiceAccountIsUsed) {
  write("token", "secret\n");
  write("ca.crt", "the CA");
  write("namespace", "phalanx-system");
  Surroundings surroundings;
  surroundings.environment = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                              {"KUBERNETES_SERVICE_PORT", "443"}};
  surroundings.service_account_folder = folder_.string();
  const auto access = find_access({}, surroundings);
  ASSERT_TRUE(access) << error_of(access);
  EXPECT_EQ(access->server, "https://[fd00::1]:443");
  EXPECT_EQ(access->token_file, folder_.string() + "/token");
  EXPECT_EQ(access->namespace_, "phalanx-system");
}

TEST_F(ClusterAccessTest, WithoutAnythingItSaysWhatToDo) {
  EXPECT_EQ(error_of(find_access({}, Surroundings{.environment = {{"HOME", folder_.string()}}})),
            "there is no kubeconfig: name one with --kubeconfig, or set KUBECONFIG");
}

struct Bad {
  const char* cluster;
  const char* user;
  const char* says;
};

TEST_F(ClusterAccessTest, BadOnesSayWhereAndWhat) {
  const std::vector<Bad> cases{
      {"{}", "{}", "cluster c: cluster.server: is required"},
      {"{server: 'ftp://x'}", "{}", "must begin with https:// or http://"},
      {"{server: 'https://x', certificate-authority-data: '!!!!'}", "{}",
       "cluster.certificate-authority-data: not base64"},
      {"{server: 'https://x', certificate-authority: nowhere.pem}", "{}",
       "cluster.certificate-authority: "},
      {"{server: 'https://x', certificate-authority-data: YQ==, insecure-skip-tls-verify: true}",
       "{}", "exclude each other"},
      {"{server: 'https://x'}", "{client-certificate-data: YQ==}",
       "client-certificate and client-key belong together"},
      {"{server: 'https://x'}", "{auth-provider: {name: gcp}}", "use an exec plugin"},
      {"{server: 'https://x'}", "{exec: {command: get-token}}",
       "user.exec.apiVersion: is required"},
      {"{server: 'https://x'}",
       "{exec: {command: get-token, apiVersion: client.authentication.k8s.io/v1alpha1}}",
       "is not supported; use client.authentication.k8s.io/v1"},
  };
  for (const Bad& each : cases) {
    const std::string error = error_of(find_access({kubeconfig(each.cluster, each.user), ""}));
    EXPECT_NE(error.find(each.says), std::string::npos) << error << "\nexpected: " << each.says;
  }
}

TEST_F(ClusterAccessTest, ExecPluginsGiveTokensOrCertificates) {
  const std::string program = write("plugin", R"(#!/bin/sh
[ -n "$KUBERNETES_EXEC_INFO" ] || exit 3
cat <<END
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
 "status":{"token":"$1-$COLOUR","expirationTimestamp":"2030-01-01T00:00:00Z"}}
END
)");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const auto access =
      find_access({kubeconfig("{server: 'https://x'}",
                              "{exec: {apiVersion: client.authentication.k8s.io/v1, command: '" +
                                  program + "', args: [abc], env: [{name: COLOUR, value: red}]}}"),
                   ""});
  ASSERT_TRUE(access) << error_of(access);
  const auto credentials = run_exec_plugin(*access->exec, *access);
  ASSERT_TRUE(credentials) << credentials.error().message;
  EXPECT_EQ(credentials->authorization, "Bearer abc-red");
  EXPECT_EQ(credentials->expires, parse_time("2030-01-01T00:00:00Z").value());
}

TEST_F(ClusterAccessTest, ExecPluginsThatFailAreNamed) {
  ExecPlugin plugin{.api_version = "client.authentication.k8s.io/v1",
                    .command = (folder_ / "missing").string(),
                    .arguments = {},
                    .environment = {},
                    .install_hint = "install the cloud's tool"};
  auto result = run_exec_plugin(plugin, {});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("install the cloud's tool"), std::string::npos);
  plugin.command = "false";
  EXPECT_NE(run_exec_plugin(plugin, {}).error().message.find("exit code 1"), std::string::npos);
  plugin.command = "echo";
  plugin.arguments = {R"({"apiVersion":"client.authentication.k8s.io/v1","status":{}})"};
  EXPECT_NE(run_exec_plugin(plugin, {}).error().message.find("neither a token nor a certificate"),
            std::string::npos);
}

// Tokens of service accounts run out, and the file has a new one by then.
TEST_F(ClusterAccessTest, TokenFilesAreReadAgain) {
  const std::string path = write("token", "first\n");
  ClusterAccess access;
  access.token_file = path;
  Authenticator authenticator(access, nullptr);
  const auto token_at = [&](Instant now) {
    std::string token;
    authenticator.credentials(Time{}, now, [&](const Result<Credentials>& credentials) {
      token = credentials ? credentials->authorization : credentials.error().message;
    });
    return token;
  };
  const Instant start{std::chrono::hours(1)};
  EXPECT_EQ(token_at(start), "Bearer first");
  write("token", "second\n");
  EXPECT_EQ(token_at(start + std::chrono::seconds(30)), "Bearer first");
  EXPECT_EQ(token_at(start + std::chrono::seconds(61)), "Bearer second");
  write("token", "third\n");
  authenticator.rejected();  // a 401
  EXPECT_EQ(token_at(start + std::chrono::seconds(62)), "Bearer third");
}

// A plugin may take seconds, and fail: leases are renewed meanwhile.
TEST_F(ClusterAccessTest, CredentialsAreUsedUntilTheyRunOut) {
  const std::string path = write("credential", R"({"apiVersion":"client.authentication.k8s.io/v1",
      "kind":"ExecCredential","status":{"token":"first","expirationTimestamp":"2030-01-01T00:00:00Z"}})");
  ClusterAccess access;
  access.exec = ExecPlugin{
      .api_version = "client.authentication.k8s.io/v1", .command = "cat", .arguments = {path}};
  Mailbox<std::function<void()>> posted(10);
  Authenticator authenticator(access, [&](std::function<void()> call) { posted.put(call); });
  const Time end = parse_time("2030-01-01T00:00:00Z").value();
  Instant now{std::chrono::hours(1)};
  std::string told;
  const auto ask = [&](Duration before_end) {
    now += std::chrono::seconds(10);
    told.clear();
    authenticator.credentials(end - before_end, now, [&](const Result<Credentials>& credentials) {
      told = credentials ? credentials->authorization : "none: " + credentials.error().message;
    });
  };
  const auto plugin_ends = [&] {
    for (const auto& call : posted.take(std::chrono::seconds(60))) call();
  };
  ask(std::chrono::hours(1));
  EXPECT_EQ(told, "");
  plugin_ends();
  EXPECT_EQ(told, "Bearer first");
  std::filesystem::remove(path);
  ask(std::chrono::seconds(30));
  EXPECT_EQ(told, "Bearer first") << "while the plugin runs";
  plugin_ends();
  ask(std::chrono::seconds(20));
  EXPECT_EQ(told, "Bearer first") << "when it has failed";
  plugin_ends();
  ask(std::chrono::seconds(-1));
  EXPECT_EQ(told, "");
  plugin_ends();
  EXPECT_TRUE(told.starts_with("none: ")) << told;
}

}  // namespace
}  // namespace phalanx::kube
