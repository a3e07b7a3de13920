#include "kube/curl_transport.h"

#include <curl/curl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <ctime>
#include <utility>

#include "base/check.h"
#include "base/wall_clock.h"
#include "kube/curl_loop.h"

namespace phalanx::kube {
namespace {

constexpr long kConnectTimeoutMs = 10'000;
// A peer that is gone without a word is noticed within half a minute.
constexpr long kKeepAliveIdleSeconds = 15;
constexpr long kKeepAliveIntervalSeconds = 5;
constexpr int kKeepAliveProbes = 3;  // the kernel would try nine times
constexpr long kKeptConnections = 128;
constexpr size_t kMostPosted = 1 << 20;

curl_blob blob_of(const std::string& text) {
  // It is copied, so that it is not changed.
  return {const_cast<char*>(text.data()), text.size(), CURL_BLOB_COPY};
}

int set_up_socket(void* /*unused*/, curl_socket_t socket, curlsocktype /*purpose*/) {
  // What cannot be had is not worth a connection.
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &kKeepAliveProbes, sizeof(kKeepAliveProbes));
  return CURL_SOCKOPT_OK;
}

// "https://host:port/prefix" taken apart: the host, and the port with its colon.
struct HostAndPort {
  std::string host;
  std::string port;
};
HostAndPort host_and_port(const std::string& server) {
  const size_t begin = server.find("://") + 3;
  const std::string place = server.substr(begin, server.find('/', begin) - begin);
  const size_t colon = place.rfind(':');
  if (colon == std::string::npos || place.ends_with(']')) {
    return {place, server.starts_with("https") ? "443" : "80"};
  }
  return {place.substr(0, colon), place.substr(colon + 1)};
}

}  // namespace

MonotonicClock::time_point MonotonicClock::now() {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time_point(std::chrono::seconds(time.tv_sec) +
                    std::chrono::duration_cast<duration>(std::chrono::nanoseconds(time.tv_nsec)));
}

struct CurlTransport::Exchange {
  CurlTransport* transport = nullptr;
  Id id = 0;
  HttpRequest request;
  Received received;
  Answered answered;
  CURL* handle = nullptr;  // nullptr: waits for credentials
  Instant begun{};
  uint64_t certificate = 0;  // which one the handle has
  curl_slist* headers = nullptr;
  std::string data;     // came in, not handed over yet
  bool listed = false;  // in with_data_
  std::array<char, CURL_ERROR_SIZE> error{};

  Exchange() = default;
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { curl_slist_free_all(headers); }

  // By a connection that an exchange before it had left.
  [[nodiscard]] bool reused_connection() const {
    long made = 0;
    curl_easy_getinfo(handle, CURLINFO_NUM_CONNECTS, &made);
    return made == 0;
  }

  [[nodiscard]] int status() const {
    long code = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &code);
    return static_cast<int>(code);
  }

  // When the server answered, by its own clock.
  [[nodiscard]] std::optional<Time> date() const {
    curl_header* header = nullptr;
    const CURLHcode found = curl_easy_header(handle, "Date", 0, CURLH_HEADER, -1, &header);
    const time_t seconds = found == CURLHE_OK ? curl_getdate(header->value, nullptr) : -1;
    if (seconds < 0) return std::nullopt;
    return Time(std::chrono::seconds(seconds));
  }

  // Called from inside the library, where nothing may be sent or cancelled: only collects.
  static size_t take_data(char* data, size_t size, size_t count, void* self) {
    auto* exchange = static_cast<Exchange*>(self);
    exchange->data.append(data, size * count);
    exchange->hand_over();
    return size * count;
  }
  // Likewise. Who listens to a stream hears that it has begun, though nothing has come yet.
  static size_t take_header(char* line, size_t size, size_t count, void* self) {
    const std::string_view text(line, size * count);
    if (text == "\r\n" || text == "\n") static_cast<Exchange*>(self)->hand_over();
    return size * count;
  }

 private:
  void hand_over() {
    if (!received || listed) return;
    listed = true;
    transport->with_data_.push_back(id);
  }
};

// The handles of the library, each for one exchange at a time. What all requests have in common is
// set when a handle is made: certificates are copied there, and they are many times the size of
// most requests.
class CurlTransport::Handles {
 public:
  Handles(CurlLoop& loop, const ClusterAccess& access) : loop_(loop), access_(access) {
    url_ = access.server;
    if (access.server_name.empty()) return;
    // The name goes where the host stands, so that it is what is verified, and the connection to
    // where the host really is.
    const auto [host, port] = host_and_port(url_);
    url_.replace(url_.find("://") + 3, host.size(), access.server_name);
    const std::string redirected = fmt::format("{}:{}:{}:{}", access.server_name, port, host, port);
    connect_to_ = curl_slist_append(nullptr, redirected.c_str());
  }
  ~Handles() {
    drop_spare();
    curl_slist_free_all(connect_to_);
  }
  Handles(const Handles&) = delete;
  Handles& operator=(const Handles&) = delete;

  void distrust_connections() { distrusted_at_ = MonotonicClock::now(); }

  void start(Exchange& exchange, const Credentials& credentials) {
    exchange.handle = take(credentials);
    exchange.certificate = certificate_;
    set_up_request(exchange, credentials);
    loop_.add(exchange.handle);
  }
  // The exchange can be given up at any time after it was started.
  void end(Exchange& exchange) {
    CURL* handle = std::exchange(exchange.handle, nullptr);
    if (handle == nullptr) return;
    loop_.remove(handle);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, nullptr);
    if (exchange.certificate == certificate_) {
      spare_.push_back(handle);
    } else {
      curl_easy_cleanup(handle);
    }
  }

 private:
  CURL* take(const Credentials& credentials) {
    if (credentials.certificate != certificate_pem_ || credentials.key != key_pem_) {
      drop_spare();
      ++certificate_;
      certificate_pem_ = credentials.certificate;
      key_pem_ = credentials.key;
    }
    if (spare_.empty()) return make();
    CURL* handle = spare_.back();
    spare_.pop_back();
    return handle;
  }

  CURL* make() const {
    CURL* handle = curl_easy_init();
    CHECK(handle != nullptr);
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_PATH_AS_IS, 1L);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &Exchange::take_data);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &Exchange::take_header);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPALIVE, 1L);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPIDLE, kKeepAliveIdleSeconds);
    curl_easy_setopt(handle, CURLOPT_TCP_KEEPINTVL, kKeepAliveIntervalSeconds);
    curl_easy_setopt(handle, CURLOPT_SOCKOPTFUNCTION, &set_up_socket);
    if (connect_to_ != nullptr) curl_easy_setopt(handle, CURLOPT_CONNECT_TO, connect_to_);
    if (!access_.proxy.empty()) curl_easy_setopt(handle, CURLOPT_PROXY, access_.proxy.c_str());
    set_up_tls(handle);
    return handle;
  }

  void set_up_tls(CURL* handle) const {
    curl_easy_setopt(handle, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, access_.insecure ? 0L : 1L);
    curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, access_.insecure ? 0L : 2L);
    if (!access_.authority.empty()) {
      const curl_blob authority = blob_of(access_.authority);
      curl_easy_setopt(handle, CURLOPT_CAINFO_BLOB, &authority);
    }
    if (certificate_pem_.empty()) return;
    const curl_blob certificate = blob_of(certificate_pem_);
    const curl_blob key = blob_of(key_pem_);
    curl_easy_setopt(handle, CURLOPT_SSLCERT_BLOB, &certificate);
    curl_easy_setopt(handle, CURLOPT_SSLKEY_BLOB, &key);
  }

  // All that one request may have otherwise than the one before it.
  void set_up_request(Exchange& exchange, const Credentials& credentials) const {
    CURL* handle = exchange.handle;
    const HttpRequest& request = exchange.request;
    const auto header = [&](const std::string& line) {
      exchange.headers = curl_slist_append(exchange.headers, line.c_str());
    };
    if (request.method == Method::kGet) {
      curl_easy_setopt(handle, CURLOPT_HTTPGET, 1L);  // no body, whatever there was before
    } else {
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.c_str());
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE,
                       static_cast<curl_off_t>(request.body.size()));
      header("Content-Type: " + request.content_type);
      header("Expect:");
    }
    header("Accept: application/json");
    header("User-Agent: phalanx/" PHALANX_VERSION);
    if (!credentials.authorization.empty()) header("Authorization: " + credentials.authorization);
    if (!access_.impersonate.empty()) header("Impersonate-User: " + access_.impersonate);
    curl_easy_setopt(handle, CURLOPT_CUSTOMREQUEST, std::string(name_of(request.method)).c_str());
    curl_easy_setopt(handle, CURLOPT_URL, (url_ + request.target).c_str());
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, exchange.headers);
    curl_easy_setopt(handle, CURLOPT_PRIVATE, &exchange);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, exchange.error.data());
    curl_easy_setopt(handle, CURLOPT_TIMEOUT_MS, static_cast<long>(request.timeout.count()));
    if (distrusted_at_) use_newer_connection(handle, *distrusted_at_);
  }

  // The library counts the age of connections in whole seconds, and takes 0 for any age.
  static void use_newer_connection(CURL* handle, Instant than) {
    const auto ago = std::chrono::floor<std::chrono::seconds>(MonotonicClock::now() - than).count();
    const bool too_early_to_count = ago < 2;
    curl_easy_setopt(handle, CURLOPT_FRESH_CONNECT, too_early_to_count ? 1L : 0L);
    curl_easy_setopt(handle, CURLOPT_MAXLIFETIME_CONN,
                     too_early_to_count ? 0L : static_cast<long>(ago - 1));
  }

  void drop_spare() {
    for (CURL* handle : std::exchange(spare_, {})) curl_easy_cleanup(handle);
  }

  CurlLoop& loop_;
  const ClusterAccess& access_;
  std::string url_;  // of the server, with the name that is verified
  curl_slist* connect_to_ = nullptr;
  uint64_t certificate_ = 0;  // counts them; that of the spare handles, which are all alike
  std::string certificate_pem_;
  std::string key_pem_;
  std::vector<CURL*> spare_;
  std::optional<Instant> distrusted_at_;  // connections that are older
};

CurlTransport::CurlTransport(ClusterAccess access)
    : access_(std::move(access)),
      loop_(std::make_unique<CurlLoop>(kKeptConnections)),
      handles_(std::make_unique<Handles>(*loop_, access_)),
      posted_(kMostPosted),
      authenticator_(std::make_unique<Authenticator>(
          access_, [this](std::function<void()> action) { post(std::move(action)); })) {}

CurlTransport::~CurlTransport() {
  authenticator_.reset();
  for (const auto& [id, exchange] : exchanges_) handles_->end(*exchange);
}

Transport::Id CurlTransport::send(HttpRequest request, Answered answered) {
  return start(std::move(request), nullptr, std::move(answered));
}

Transport::Id CurlTransport::stream(HttpRequest request, Received received, Answered answered) {
  return start(std::move(request), std::move(received), std::move(answered));
}

Transport::Id CurlTransport::start(HttpRequest request, Received received, Answered answered) {
  const Id id = next_++;
  auto exchange = std::make_unique<Exchange>();
  exchange->transport = this;
  exchange->id = id;
  exchange->request = std::move(request);
  exchange->received = std::move(received);
  exchange->answered = std::move(answered);
  exchanges_.emplace(id, std::move(exchange));
  authenticator_->credentials(wall_now(), now(),
                              [this, id](const Result<Credentials>& result) { begin(id, result); });
  return id;
}

void CurlTransport::begin(Id id, const Result<Credentials>& credentials) {
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;  // cancelled meanwhile
  Exchange& exchange = *found->second;
  if (!credentials) {
    at(now(), [this, id, message = credentials.error().message] {
      auto failed = exchanges_.extract(id);
      if (!failed.empty()) failed.mapped()->answered(no_answer(message));
    });
    return;
  }
  exchange.begun = MonotonicClock::now();
  handles_->start(exchange, *credentials);
}

Transport::Id CurlTransport::at(Instant when, std::function<void()> action) {
  const Id id = next_++;
  timers_.emplace(std::pair(when, id), std::move(action));
  timer_times_.emplace(id, when);
  return id;
}

void CurlTransport::cancel(Id id) {
  if (const auto timer = timer_times_.find(id); timer != timer_times_.end()) {
    timers_.erase({timer->second, id});
    timer_times_.erase(timer);
    return;
  }
  const auto found = exchanges_.find(id);
  if (found == exchanges_.end()) return;
  handles_->end(*found->second);
  exchanges_.erase(found);
}

void CurlTransport::distrust_connections() {
  handles_->distrust_connections();
}

void CurlTransport::post(std::function<void()> action) {
  posted_.put(std::move(action));
  loop_->wake();
}

void CurlTransport::run_posted() {
  for (const std::function<void()>& action : posted_.take(Duration(0))) action();
}

void CurlTransport::run_timers() {
  const Instant until = now();
  while (!timers_.empty() && timers_.begin()->first.first <= until) {
    auto timer = timers_.extract(timers_.begin());
    timer_times_.erase(timer.key().second);
    timer.mapped()();
  }
}

void CurlTransport::hand_over_data() {
  for (const Id id : std::exchange(with_data_, {})) {
    const auto found = exchanges_.find(id);
    if (found == exchanges_.end()) continue;
    Exchange& exchange = *found->second;
    exchange.listed = false;
    const int status = exchange.status();
    if (status < 200 || status >= 300) continue;  // the words of a refusal: kept for the answer
    const std::string data = std::exchange(exchange.data, {});
    // It may cancel the exchange, and must not be destroyed while it runs.
    Received received = std::move(exchange.received);
    received(data);
    const auto still = exchanges_.find(id);
    if (still != exchanges_.end()) still->second->received = std::move(received);
  }
}

void CurlTransport::finish_exchanges() {
  while (const CURLMsg* message = loop_->next_finished()) {
    Exchange* exchange = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &exchange);
    const CURLcode result = message->data.result;
    HttpResponse response;
    response.status = exchange->status();
    response.body = std::move(exchange->data);
    if (result != CURLE_OK) {
      const bool explained = exchange->error.front() != '\0';
      response.error = explained ? exchange->error.data() : curl_easy_strerror(result);
      response.status = 0;  // half an answer is none
      // Others that were kept may be as dead, and each would cost as much time. Of a stream the
      // one who listens to it has to know.
      const bool silent = result == CURLE_OPERATION_TIMEDOUT && !exchange->received;
      if (silent && exchange->reused_connection()) distrust_connections();
    }
    curl_off_t retry_after = 0;
    curl_easy_getinfo(exchange->handle, CURLINFO_RETRY_AFTER, &retry_after);
    if (retry_after > 0) response.retry_after = std::chrono::seconds(retry_after);
    if (response.status == 401) authenticator_->rejected();
    if (const auto said = exchange->date()) {
      clock_.observe(*said, exchange->begun, MonotonicClock::now(), wall_now());
    }
    handles_->end(*exchange);
    const auto finished = exchanges_.extract(exchange->id);
    finished.mapped()->answered(std::move(response));
  }
}

void CurlTransport::run_once(Duration at_most) {
  if (!timers_.empty()) {
    const auto until = std::chrono::ceil<Duration>(timers_.begin()->first.first - now());
    at_most = std::clamp(until, Duration(0), at_most);
  }
  if (loop_->wait(at_most)) run_posted();
  run_timers();
  loop_->run_due();
  hand_over_data();
  finish_exchanges();
}

HttpResponse CurlTransport::ask(HttpRequest request) {
  std::optional<HttpResponse> response;
  const Id id =
      send(std::move(request), [&](HttpResponse answer) { response = std::move(answer); });
  while (!response && !interrupted_) run_once(std::chrono::seconds(1));
  if (response) return std::move(*response);
  cancel(id);
  return no_answer("interrupted");
}

void CurlTransport::interrupt() {
  interrupted_ = true;
  post([] {});
}

}  // namespace phalanx::kube
