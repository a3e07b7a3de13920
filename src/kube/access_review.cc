#include "kube/access_review.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/json_path.h"
#include "base/sha256.h"
#include "base/strict_json.h"
#include "kube/requests.h"

namespace phalanx::kube {
namespace {

// Far beyond those that API servers issue.
constexpr size_t kLongestToken = size_t{16} << 10;
constexpr Duration kPatience = std::chrono::seconds(4);

HttpRequest post(std::string target, const json::value& document) {
  HttpRequest request;
  request.method = Method::kPost;
  request.target = std::move(target);
  request.content_type = "application/json";
  request.body = json::serialize(document);
  request.timeout = kPatience;
  return request;
}

HttpRequest token_review(const std::string& token) {
  return post("/apis/authentication.k8s.io/v1/tokenreviews",
              json::object{{"apiVersion", "authentication.k8s.io/v1"},
                           {"kind", "TokenReview"},
                           {"spec", json::object{{"token", token}}}});
}

// The user as the API server described it, and what it wants.
HttpRequest rights_review(const json::object& user, const AccessQuestion& question) {
  json::object spec{
      {"nonResourceAttributes", json::object{{"path", question.path}, {"verb", question.verb}}}};
  for (const auto& [from, to] : {std::pair{"username", "user"}, std::pair{"uid", "uid"},
                                 std::pair{"groups", "groups"}, std::pair{"extra", "extra"}}) {
    if (const json::value* value = user.if_contains(from)) spec[to] = *value;
  }
  return post("/apis/authorization.k8s.io/v1/subjectaccessreviews",
              json::object{{"apiVersion", "authorization.k8s.io/v1"},
                           {"kind", "SubjectAccessReview"},
                           {"spec", std::move(spec)}});
}

std::string key_of(const AccessQuestion& question) {
  return sha256_hex(question.verb + "\n" + question.path + "\n" + question.token);
}

AccessVerdict unavailable(const std::string& what, const HttpResponse& response) {
  return {AccessAnswer::kUnavailable, fmt::format("{}: {}", what, read_refusal(response).message)};
}

// The review that came back; nullopt if it is none.
std::optional<json::value> read_review(const HttpResponse& response) {
  if (!response.ok()) return std::nullopt;
  auto document = parse_strict_json(response.body);
  if (!document || !document->is_object()) return std::nullopt;
  return std::move(*document);
}

}  // namespace

AccessReviewer::~AccessReviewer() {
  for (const Transport::Id id : under_way_) transport_.cancel(id);
}

void AccessReviewer::review(const AccessQuestion& question, Decided decided) {
  if (question.token.empty()) {
    return decided({AccessAnswer::kUnknown,
                    "send a bearer token of this cluster: Authorization: Bearer TOKEN"});
  }
  if (question.token.size() > kLongestToken) {
    return decided({AccessAnswer::kUnknown, "the bearer token is too long to be one"});
  }
  const std::string key = key_of(question);
  for (const Verdicts* verdicts : {&yes_, &no_}) {
    if (const AccessVerdict* verdict = recall(*verdicts, key)) return decided(*verdict);
  }
  const bool may = is_known(key) ? under_way_.size() < kMostUnderWay + kMostUnderWayOfKnown
                                 : under_way_.size() < kMostUnderWay && may_ask();
  if (!may) {
    return decided(
        {AccessAnswer::kUnavailable, "too many tokens are being looked at; come back in a second"});
  }
  send(token_review(question.token),
       [this, question, key, decided = std::move(decided)](const HttpResponse& response) {
         take_user(question, key, response, decided);
       });
}

const AccessVerdict* AccessReviewer::recall(const Verdicts& verdicts,
                                            const std::string& key) const {
  const auto found = verdicts.find(key);
  if (found == verdicts.end() || found->second.until <= transport_.now()) return nullptr;
  return &found->second.verdict;
}

bool AccessReviewer::is_known(const std::string& key) const {
  const auto found = yes_.find(key);
  return found != yes_.end() && found->second.until + kKnownFor > transport_.now();
}

bool AccessReviewer::may_ask() {
  const Instant now = transport_.now();
  const Instant begin = std::max(paid_until_, now);
  if (begin - now > kInterval * (kMostAtOnce - 1)) return false;
  paid_until_ = begin + kInterval;
  return true;
}

void AccessReviewer::send(HttpRequest request, Transport::Answered answered) {
  auto id = std::make_shared<Transport::Id>(0);
  *id = transport_.send(std::move(request),
                        [this, id, answered = std::move(answered)](HttpResponse response) {
                          under_way_.erase(*id);
                          answered(std::move(response));
                        });
  under_way_.insert(*id);
}

void AccessReviewer::take_user(const AccessQuestion& question, const std::string& key,
                               const HttpResponse& response, const Decided& decided) {
  const auto review = read_review(response);
  if (!review) return decided(unavailable("the bearer token cannot be checked", response));
  const json::object* user = object_at(*review, {"status", "user"});
  if (!true_at(*review, {"status", "authenticated"}) || user == nullptr) {
    return conclude(key,
                    {AccessAnswer::kUnknown,
                     "the bearer token is none of this cluster, or has run "
                     "out; make one with: kubectl create token"},
                    decided);
  }
  const std::string name(string_field(*user, "username"));
  send(rights_review(*user, question),
       [this, name, question, key, decided](const HttpResponse& answer) {
         take_rights(name, question, key, answer, decided);
       });
}

void AccessReviewer::take_rights(const std::string& user, const AccessQuestion& question,
                                 const std::string& key, const HttpResponse& response,
                                 const Decided& decided) {
  const auto review = read_review(response);
  if (!review) return decided(unavailable("rights cannot be checked", response));
  if (true_at(*review, {"status", "allowed"}) && !true_at(*review, {"status", "denied"})) {
    return conclude(key, {AccessAnswer::kAllowed, ""}, decided);
  }
  conclude(key,
           {AccessAnswer::kForbidden,
            fmt::format("{} may not {} {}: it takes a ClusterRole with nonResourceURLs [\"{}\"] "
                        "and verbs [\"{}\"]",
                        user, question.verb, question.path, question.path, question.verb)},
           decided);
}

void AccessReviewer::conclude(const std::string& key, AccessVerdict verdict,
                              const Decided& decided) {
  const bool allowed = verdict.answer == AccessAnswer::kAllowed;
  Verdicts& verdicts = allowed ? yes_ : no_;
  make_room(verdicts);
  verdicts[key] = {verdict, transport_.now() + (allowed ? kRememberYes : kRememberNo)};
  (allowed ? no_ : yes_).erase(key);
  decided(std::move(verdict));
}

// What is over goes first; if that is not enough, everything of the same answer.
void AccessReviewer::make_room(Verdicts& verdicts) {
  if (verdicts.size() < kMostRemembered) return;
  const Instant now = transport_.now();
  std::erase_if(verdicts, [&](const auto& entry) { return entry.second.until <= now; });
  if (verdicts.size() >= kMostRemembered) verdicts.clear();
}

std::string bearer_token(std::string_view header) {
  constexpr std::string_view kScheme = "bearer ";
  if (header.size() <= kScheme.size()) return "";
  for (size_t i = 0; i < kScheme.size(); ++i) {
    const char letter = header[i];
    const char lower =
        letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    if (lower != kScheme[i]) return "";
  }
  header.remove_prefix(kScheme.size());
  while (header.starts_with(' ')) header.remove_prefix(1);
  while (header.ends_with(' ')) header.remove_suffix(1);
  return std::string(header);
}

}  // namespace phalanx::kube
