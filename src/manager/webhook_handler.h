// Answers the requests to webhooks (admission/webhook.h): reviews on the thread of the server that
// has them, conversions on one of its own.
//
// A conversion may take a second, however short the request is; Jobs that are submitted meanwhile
// must not wait for it.
//
// Anybody who reaches the port can send reviews of any Job, megabytes of it. So the deciding thread
// is asked only for what it alone knows, with a few short texts of the Job; reading, answering and
// throwing away what was sent is done by the server. What waits meanwhile is bounded.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "admission/webhook.h"
#include "base/mailbox.h"
#include "core/adapter.h"
#include "manager/api_side.h"
#include "serve/message.h"

namespace phalanx::manager {

class WebhookHandler {
 public:
  // Of reviews that the deciding thread is asked about, as documents in memory. Those whose time is
  // over are still with it: while it is busy, clients that come again and again must not fill the
  // process.
  static constexpr size_t kMostWaitingBytes = size_t{64} << 20;

  // Of requests for conversions that wait for the one that is made.
  static constexpr size_t kMostConversionBytes = size_t{128} << 20;
  // API servers wait for ten (deploy/webhooks.yaml), and show a sentence of ours if it comes
  // before.
  static constexpr auto kPatience = std::chrono::seconds(9);

  WebhookHandler(const core::Adapters& adapters, Mailbox<Message>& decider);
  ~WebhookHandler();
  WebhookHandler(const WebhookHandler&) = delete;
  WebhookHandler& operator=(const WebhookHandler&) = delete;

  void answer(serve::Request request, const serve::Reply& reply);

 private:
  struct Conversion {
    std::string body;
    serve::Reply reply;
    std::chrono::steady_clock::time_point since;
  };

  void convert_later(std::string body, const serve::Reply& reply);
  void convert();
  void review(const serve::Request& request, const serve::Reply& reply);

  const core::Adapters& adapters_;
  Mailbox<Message>& decider_;
  const admission::Webhooks webhooks_;
  // Of reviews that wait for the deciding thread; shared with them, because some outlive this.
  const std::shared_ptr<std::atomic<size_t>> waiting_bytes_ =
      std::make_shared<std::atomic<size_t>>(0);
  std::atomic<size_t> conversion_bytes_ = 0;
  std::atomic<bool> over_ = false;
  Mailbox<Conversion> conversions_{std::numeric_limits<size_t>::max()};  // the bytes are the limit
  std::jthread converter_;
};

}  // namespace phalanx::manager
