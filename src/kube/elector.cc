#include "kube/elector.h"

#include <fmt/format.h>

#include <utility>

#include "api/object_meta.h"
#include "kube/requests.h"

namespace phalanx::kube {
namespace {

constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases", true};
constexpr int kNotFound = 404;
constexpr int kConflict = 409;
// A renewal that takes longer than this is tried again on another connection.
constexpr auto kPatience = std::chrono::seconds(5);
// Whoever waits for us to go does not wait longer.
constexpr auto kLastPatience = std::chrono::milliseconds(700);
constexpr auto kResignPause = std::chrono::milliseconds(300);

}  // namespace

Elector::Elector(Transport& transport, ElectionOptions options, Listener listener,
                 WallClock wall_clock, uint64_t seed)
    : transport_(transport),
      options_(std::move(options)),
      listener_(std::move(listener)),
      wall_clock_(std::move(wall_clock)),
      backoff_(seed, options_.retry_period, options_.retry_period * 2),
      random_(seed + 1) {}

Elector::~Elector() {
  for (const Transport::Id id : {exchange_, timer_, deadline_timer_, watch_}) {
    transport_.cancel(id);
  }
}

void Elector::look() {
  if (resigning_ || busy_) return;
  busy_ = true;
  HttpRequest request;
  request.target = object_path(kLeases, options_.namespace_, options_.name);
  request.timeout = kPatience;
  exchange_ = transport_.send(std::move(request), [this](const HttpResponse& response) {
    busy_ = false;
    found(response);
  });
}

void Elector::found(const HttpResponse& response) {
  if (response.status == kNotFound) {
    lease_is_gone();
    return decide();
  }
  const auto lease = read_document(response, "the lease cannot be read");
  if (!lease) return failed(response, lease.error());
  backoff_.succeeded();
  observe(*lease);
  if (watch_ == 0) watch();
  decide();
}

// Somebody else may make it at any moment, and does not know of us.
void Elector::lease_is_gone() {
  absent_ = true;
  if (leads_) renewed_at_ = {};
}

void Elector::failed(const HttpResponse& response, const Error& error) {
  listener_.trouble(error.message);
  if (!response.answered() && listener_.unanswered) listener_.unanswered();
  next_look(backoff_.next(response.retry_after));
}

void Elector::observe(const json::value& lease) {
  DecodeStatus status;
  const JsonReader reader(&lease, "", status);
  const JsonReader spec = reader.object("spec");
  Record record;
  record.holder = spec.string("holderIdentity");
  record.duration = std::chrono::seconds(spec.integer("leaseDurationSeconds", 0, 0, INT32_MAX));
  record.transitions = spec.integer("leaseTransitions", 0, 0, INT32_MAX);
  record.acquired = spec.string("acquireTime");
  record.renewed = spec.string("renewTime");
  record.version = reader.object("metadata").string("resourceVersion");
  if (!status.ok()) listener_.trouble("the lease makes no sense: " + status.error()->message);
  absent_ = false;
  if (record_ != record) {
    record_ = record;
    observed_at_ = transport_.now();
  }
  if (announced_ != record.holder) {
    announced_ = record.holder;
    listener_.observed(record.holder);
  }
  if (leads_ && record.holder != options_.identity) {
    step_down(record.holder.empty() ? "somebody took the lease away"
                                    : fmt::format("{} holds the lease", record.holder));
  }
}

// A watch may lag behind what our own writes were answered.
bool Elector::newer(const json::value& lease) const {
  DecodeStatus status;
  const std::string version =
      JsonReader(&lease, "", status).object("metadata").string("resourceVersion");
  const auto known = api::parse_resource_version(record_ ? record_->version : "0");
  return api::parse_resource_version(version).value_or(0) > known.value_or(0);
}

void Elector::decide() {
  if (resigning_) return;
  const bool ours = record_ && record_->holder == options_.identity;
  const bool free = !record_ || record_->holder.empty();
  const Instant expires = record_ ? observed_at_ + record_->duration : Instant{};
  if (ours || free || transport_.now() >= expires) return claim();
  // Not before it can have run out; the watch tells if it is given up.
  const auto left = std::chrono::ceil<Duration>(expires - transport_.now());
  next_look(std::min(left, options_.retry_period) +
            Duration(random_.between(0, options_.retry_period.count() / 5)));
}

json::object Elector::lease_of(const std::string& holder) const {
  const std::string now = format_micro_time(wall_clock_());
  const bool goes_on = record_ && record_->holder == holder;
  const bool changes_hands = record_ && record_->holder != holder && !holder.empty();
  json::object metadata{{"name", options_.name}, {"namespace", options_.namespace_}};
  if (record_ && !absent_) metadata["resourceVersion"] = record_->version;
  const Duration duration = holder.empty() ? std::chrono::seconds(1) : options_.lease_duration;
  return {
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata", std::move(metadata)},
      {"spec",
       json::object{
           {"holderIdentity", holder},
           {"leaseDurationSeconds", std::chrono::ceil<std::chrono::seconds>(duration).count()},
           {"acquireTime", goes_on && !record_->acquired.empty() ? record_->acquired : now},
           {"renewTime", now},
           {"leaseTransitions", (record_ ? record_->transitions : 0) + (changes_hands ? 1 : 0)}}}};
}

HttpRequest Elector::write_request(const std::string& holder) const {
  HttpRequest request = create_request(kLeases, options_.namespace_, lease_of(holder));
  if (record_ && !absent_) {
    request.method = Method::kPut;
    request.target = object_path(kLeases, options_.namespace_, options_.name);
  }
  request.timeout = kPatience;
  return request;
}

void Elector::claim() {
  if (resigning_ || busy_) return;
  busy_ = true;
  const Instant sent = transport_.now();
  exchange_ =
      transport_.send(write_request(options_.identity), [this, sent](const HttpResponse& response) {
        busy_ = false;
        written(response, sent);
      });
}

void Elector::written(const HttpResponse& response, Instant sent) {
  if (response.status == kConflict) return look();  // somebody was first, or it has changed
  if (response.status == kNotFound && !absent_) {
    lease_is_gone();
    return decide();
  }
  const auto lease =
      read_document(response, leads_ ? "the lease cannot be renewed" : "the lease cannot be taken");
  if (!lease) return failed(response, lease.error());
  backoff_.succeeded();
  renewed_at_ = sent;
  const bool first = !leads_;
  leads_ = true;
  observe(*lease);
  if (!leads_) return next_look(options_.retry_period);
  watch_deadline();
  if (watch_ == 0) watch();
  next_look(options_.retry_period);
  if (first) {
    listener_.elected();
  } else {
    listener_.renewed();
  }
}

void Elector::watch_deadline() {
  transport_.cancel(deadline_timer_);
  deadline_timer_ = transport_.at(renewed_at_ + options_.renew_deadline, [this] {
    deadline_timer_ = 0;
    step_down(fmt::format("the lease could not be renewed for {}",
                          format_duration(options_.renew_deadline)));
  });
}

void Elector::step_down(const std::string& why) {
  if (!leads_) return;
  leads_ = false;
  transport_.cancel(deadline_timer_);
  deadline_timer_ = 0;
  listener_.lost(why);
}

void Elector::next_look(Duration delay) {
  transport_.cancel(timer_);
  timer_ = transport_.after(delay, [this] {
    timer_ = 0;
    // A leader knows what the lease says, and renews it; whoever was faster makes that a conflict.
    if (leads_) {
      claim();
    } else {
      look();
    }
  });
}

void Elector::watch() {
  rest_.clear();
  const WatchOptions options{.resource_version = record_ ? record_->version : "",
                             .lifetime = std::chrono::seconds(300),
                             .namespace_ = options_.namespace_,
                             .name = options_.name};
  watch_ = transport_.stream(
      watch_request(kLeases, options), [this](std::string_view data) { take_data(data); },
      // The next look opens another one.
      [this](const HttpResponse&) { watch_ = 0; });
}

void Elector::take_data(std::string_view data) {
  rest_ += data;
  size_t begin = 0;
  bool claims = false;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    const auto event = parse_json(std::string_view(rest_).substr(begin, end - begin));
    begin = end + 1;
    if (!event || !event->is_object()) continue;
    DecodeStatus status;
    const JsonReader reader(&*event, "", status);
    const std::string type = reader.string("type");
    const json::value* lease = reader.find("object");
    // While a write of ours is under way its answer says more than what came before it.
    if (lease == nullptr || busy_ || resigning_ || !newer(*lease)) continue;
    if (type == "DELETED") {
      lease_is_gone();
      claims = leads_;
    } else if (type == "ADDED" || type == "MODIFIED") {
      observe(*lease);
      claims = !leads_ && record_->holder.empty();
    }
  }
  rest_.erase(0, begin);
  if (claims) claim();
}

void Elector::resign(Duration patience, std::function<void(bool told)> done) {
  resigning_ = true;
  resigned_ = std::move(done);
  resigns_until_ = transport_.now() + patience;
  const bool led = may_write();
  const bool claims = busy_ && !led;
  leads_ = false;
  for (const Transport::Id id : {exchange_, timer_, deadline_timer_, watch_}) {
    transport_.cancel(id);
  }
  busy_ = false;
  if (led && record_) return give_up();
  // A claim that is cut off may have arrived.
  if (claims) return give_up_if_ours();
  exchange_ = transport_.after(Duration(0), [this] { resigned_(true); });
}

void Elector::give_up_if_ours() {
  HttpRequest read;
  read.target = object_path(kLeases, options_.namespace_, options_.name);
  read.timeout = kLastPatience;
  exchange_ = transport_.send(std::move(read), [this](const HttpResponse& found) {
    if (found.status == kNotFound) return resigned_(true);
    const auto lease = read_document(found, "");
    if (!lease) return give_up_again();
    observe(*lease);
    if (record_->holder != options_.identity) return resigned_(true);
    give_up();
  });
}

void Elector::give_up() {
  HttpRequest request = write_request("");
  request.timeout = kLastPatience;
  exchange_ = transport_.send(std::move(request), [this](const HttpResponse& response) {
    const bool written = response.status >= 200 && response.status < 300;
    if (written || response.status == kNotFound) return resigned_(true);
    // A renewal was under way, and has changed the lease: that is known at once, and happens once.
    if (response.status == kConflict && !std::exchange(crossed_, true)) return give_up_if_ours();
    give_up_again();
  });
}

// Whether the last try has arrived is not known.
void Elector::give_up_again() {
  if (transport_.now() >= resigns_until_) return resigned_(false);
  exchange_ = transport_.after(kResignPause, [this] { give_up_if_ours(); });
}

}  // namespace phalanx::kube
