// Requests for webhooks: what API servers send, and what nobody should send, each with the answer
// that it must get.
//
// Everything is decided by the seed, down to the sizes. Making them costs some milliseconds; the
// texts, some 30 MB of them, are made once and sent again and again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "serve/load_client.h"

namespace phalanx::cli {

struct ExpectedAnswer {
  int status = 200;           // 0: none, the server hangs up
  std::string contains = "";  // of the body
  bool or_none = false;       // the server may also hang up without an answer
  bool or_busy = false;       // it may also say that there is too much at the moment: 503
};

struct WebhookSample {
  std::string_view sort;
  std::string text;  // all that is sent
  serve::Wire wire = serve::Wire::kKept;
  ExpectedAnswer expected;
};

struct WebhookSamples {
  std::vector<WebhookSample> good;  // well-formed: whether it is allowed or refused is decided
  std::vector<WebhookSample> garbage;
};

WebhookSamples make_webhook_samples(const std::string& host, uint64_t seed);

}  // namespace phalanx::cli
