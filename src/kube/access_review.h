// Whether whoever sent a bearer token may do what it asks of us: the API server says who that is
// (TokenReview) and what it may do (SubjectAccessReview), so that rights are kept in one place.
//
// - Paths are non-resource URLs and methods their verbs: a ClusterRole with nonResourceURLs
//   ["/metrics"] and verbs ["get"] lets somebody read metrics.
// - Answers are remembered for a while, a yes for longer than a no, under a hash: tokens are not
// kept.
// - Nobody can make us ask without limits: of tokens that are not known there are at most
//   kMostUnderWay questions at a time, one every kInterval and kMostAtOnce in a row, and
//   kMostRemembered answers. Who comes when there are too many is told to come back.
// - Who was let in is not kept out by a crowd of others: a yes makes no room for a no, and for
//   kKnownFor after it ran out it is asked for again beside those limits.
// - Without an answer from the API server nobody is let in.
//
// On the thread of its transport.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "kube/transport.h"

namespace phalanx::kube {

struct AccessQuestion {
  std::string token;  // empty: there was none
  std::string verb;   // "get"
  std::string path;   // "/metrics"
};

enum class AccessAnswer : uint8_t {
  kAllowed,
  kUnknown,      // the token is nobody's: 401
  kForbidden,    // it is somebody's who may not: 403
  kUnavailable,  // nobody could say: 503
};

struct AccessVerdict {
  AccessAnswer answer = AccessAnswer::kUnavailable;
  std::string message;  // for whoever asked
};

class AccessReviewer {
 public:
  static constexpr size_t kMostUnderWay = 32;
  static constexpr size_t kMostUnderWayOfKnown = 8;  // beside those
  static constexpr size_t kMostAtOnce = 32;
  static constexpr Duration kInterval = std::chrono::milliseconds(50);
  static constexpr size_t kMostRemembered = 1000;  // of each answer
  static constexpr Duration kRememberYes = std::chrono::minutes(1);
  static constexpr Duration kRememberNo = std::chrono::seconds(10);
  static constexpr Duration kKnownFor = std::chrono::minutes(10);

  using Decided = std::function<void(AccessVerdict)>;

  explicit AccessReviewer(Transport& transport) : transport_(transport) {}
  ~AccessReviewer();
  AccessReviewer(const AccessReviewer&) = delete;
  AccessReviewer& operator=(const AccessReviewer&) = delete;

  // Answers once, at once or later.
  void review(const AccessQuestion& question, Decided decided);

 private:
  struct Remembered {
    AccessVerdict verdict;
    Instant until;
  };
  using Verdicts = std::map<std::string, Remembered>;

  // The verdict, if it still holds.
  [[nodiscard]] const AccessVerdict* recall(const Verdicts& verdicts, const std::string& key) const;
  // Whether it was let in a short time ago.
  [[nodiscard]] bool is_known(const std::string& key) const;
  // Whether there may be one more question about somebody who is not known; if so, it is counted.
  bool may_ask();
  void send(HttpRequest request, Transport::Answered answered);
  void take_user(const AccessQuestion& question, const std::string& key,
                 const HttpResponse& response, const Decided& decided);
  void take_rights(const std::string& user, const AccessQuestion& question, const std::string& key,
                   const HttpResponse& response, const Decided& decided);
  void conclude(const std::string& key, AccessVerdict verdict, const Decided& decided);
  void make_room(Verdicts& verdicts);

  Transport& transport_;
  std::set<Transport::Id> under_way_;
  Verdicts yes_;
  Verdicts no_;
  // What was asked about strangers takes until then, at one question every kInterval.
  Instant paid_until_{};
};

// The token of an Authorization header; "" if it is none.
std::string bearer_token(std::string_view header);

}  // namespace phalanx::kube
