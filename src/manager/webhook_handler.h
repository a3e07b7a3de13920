// Answers the requests to webhooks (admission/webhook.h), on the thread of the server that has
// them.
//
// Anybody who reaches the port can send reviews of any Job, megabytes of it. So the deciding thread
// is asked only for what it alone knows, with a few short texts of the Job; reading, answering and
// throwing away what was sent is done by the server. What waits meanwhile is bounded.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

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

  WebhookHandler(const core::Adapters& adapters, Mailbox<Message>& decider)
      : adapters_(adapters), decider_(decider) {}

  void answer(const serve::Request& request, const serve::Reply& reply);

 private:
  const core::Adapters& adapters_;
  Mailbox<Message>& decider_;
  const admission::Webhooks webhooks_;
  // Of reviews that wait for the deciding thread; shared with them, because some outlive this.
  const std::shared_ptr<std::atomic<size_t>> waiting_bytes_ =
      std::make_shared<std::atomic<size_t>>(0);
};

}  // namespace phalanx::manager
