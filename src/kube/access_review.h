// Whether whoever sent a bearer token may do what it asks of us: the API server says who that is
// (TokenReview) and what it may do (SubjectAccessReview), so that rights are kept in one place.
//
// - Paths are non-resource URLs and methods their verbs: a ClusterRole with nonResourceURLs
//   ["/metrics"] and verbs ["get"] lets somebody read metrics.
// - Answers are remembered for a while, a yes for longer than a no, under a hash: tokens are not
// kept.
// - Nobody can make us ask without limits: there are at most kMostUnderWay questions at a time and
//   kMostRemembered answers. Who comes when there are too many is told to come back.
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
  static constexpr size_t kMostRemembered = 1000;
  static constexpr Duration kRememberYes = std::chrono::minutes(1);
  static constexpr Duration kRememberNo = std::chrono::seconds(10);

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

  void send(HttpRequest request, Transport::Answered answered);
  void take_user(const AccessQuestion& question, const std::string& key,
                 const HttpResponse& response, const Decided& decided);
  void take_rights(const std::string& user, const AccessQuestion& question, const std::string& key,
                   const HttpResponse& response, const Decided& decided);
  void conclude(const std::string& key, AccessVerdict verdict, const Decided& decided);
  void make_room();

  Transport& transport_;
  std::set<Transport::Id> under_way_;
  std::map<std::string, Remembered> remembered_;
};

// The token of an Authorization header; "" if it is none.
std::string bearer_token(std::string_view header);

}  // namespace phalanx::kube
