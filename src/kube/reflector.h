// Follows all objects of one kind: lists them in pages, then watches from there.
//
// - The core hears of every object, of every change in the order of their versions, and of every
//   deletion, also of those that happened while nobody watched, or between two pages of a list that
//   had to begin anew (core::Listed).
// - A watch that ends is taken up where it ended. One that fails waits first, longer each time. If
//   the server no longer knows what happened since (410), everything is listed again.
// - A watch that is silent is not believed for ever: connections die without a word, and then the
//   kernel may still say that they live (a proxy between, an API server that hangs). Servers send a
//   bookmark about every minute; one and a half without a byte, or ten seconds without what
//   somebody knows to have happened (expect), and it is taken up on another connection. That costs
//   a request, so being wrong does no harm.
// - Bookmarks move the place to resume from, so that a kind in which nothing happens does not
//   become too old.
// - A kind that a cluster may lack (api::KindInfo::optional) and does lack has no objects, and that
//   is all: it counts as listed, and is looked for again from time to time. One that goes away
//   takes its objects with it.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "core/event.h"
#include "kube/backoff.h"
#include "kube/object_decoder.h"
#include "kube/requests.h"
#include "kube/transport.h"

namespace phalanx::kube {

class Reflector {
 public:
  struct Listener {
    std::function<void(core::Event)> event;
    std::function<void()> listed;                     // everything has been told once
    std::function<void(const std::string&)> trouble;  // a sentence for the log
    // The connection has died without a word: others may have, too.
    std::function<void()> died = {};
    // A list or watch has failed, whether it was told or not.
    std::function<void(const Refusal&)> failed = {};
  };

  Reflector(Transport& transport, ObjectDecoder& decoder, api::Kind kind, Listener listener,
            uint64_t seed);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  void start() { list(""); }
  // Lists everything anew, as it is from now on, and calls back when that has been told.
  void refresh(std::function<void()> done);
  // An object of the kind has this version, as a write was answered: the watch has to tell it soon.
  void expect(uint64_t version);
  // The network is not to be trusted: a watch goes on on another connection.
  void reopen();

  [[nodiscard]] api::Kind kind() const { return kind_; }
  // Everything up to this version has been told.
  [[nodiscard]] uint64_t seen() const { return seen_; }
  // Since when it has been without a connection that works; nullopt: it has one.
  [[nodiscard]] std::optional<Instant> blind_since() const;

 private:
  void list(const std::string& continue_token);
  void take_page(const HttpResponse& response);
  void take_list(const ListPage& page);
  void end_list();
  [[nodiscard]] bool is_missing(const HttpResponse& response) const;
  void take_missing();
  void watch();
  void take_data(std::string_view data);
  void listen_for_silence();
  void check_expected();
  void give_up_connection();
  // Whether the watch goes on.
  bool take_line(std::string_view line);
  void watch_ended(const HttpResponse& response);
  void again(const HttpResponse& response, const std::string& what,
             const std::function<void()>& action);
  void tell(const std::string& problem) const;

  Transport& transport_;
  ObjectDecoder& decoder_;
  const api::Kind kind_;
  const Listener listener_;
  Backoff backoff_;
  Random random_;
  Transport::Id under_way_ = 0;  // the exchange or timer that everything waits for
  bool listed_before_ = false;
  bool told_ = false;      // of any object, which a list may lack by now
  bool missing_ = false;   // the server does not know the kind
  bool collects_ = false;  // the keys of this list: it is not the first
  std::set<api::ObjectKey> keys_;
  std::function<void()> refreshed_;  // waits for this list
  std::string rest_;                 // of a line that has not come in whole
  uint64_t seen_ = 0;
  Instant watching_since_{};
  bool watching_ = false;  // under_way_ is a watch
  Instant heard_at_{};
  Transport::Id silence_timer_ = 0;
  uint64_t expected_ = 0;  // 0: nothing
  Transport::Id expected_timer_ = 0;
  int disappointments_ = 0;  // in a row
  std::optional<Instant> blind_since_;
};

}  // namespace phalanx::kube
