#include "kube/reflector.h"

#include <fmt/format.h>

#include <limits>

#include "api/object_meta.h"

namespace phalanx::kube {
namespace {

constexpr size_t kPageSize = 500;
// Between these, so that the watches of all kinds do not end together.
constexpr int64_t kShortestWatchSeconds = 290;
constexpr int64_t kLongestWatchSeconds = 580;
constexpr int kGone = 410;
constexpr int kNotFound = 404;
// How long nobody asks for a kind that is missing, about one minute.
constexpr Duration kShortestAbsence = std::chrono::seconds(45);
constexpr Duration kLongestAbsence = std::chrono::seconds(75);
// A watch that ends sooner than this has not worked, whatever the server says.
constexpr auto kNoWatch = std::chrono::seconds(1);
// Servers send a bookmark at least as often; a little later something is wrong.
constexpr auto kLongestBetweenBookmarks = std::chrono::seconds(75);
constexpr auto kLongestSilence = std::chrono::seconds(90);
// What was written comes back by the watch within this time; twice as long after every time that it
// did not, for the sake of a server that is slow.
constexpr Duration kEcho = std::chrono::seconds(10);
constexpr int kMostDoublings = 3;
// Outages shorter than this many attempts are told nobody: servers restart.
constexpr int kQuietFailures = 1;

}  // namespace

Reflector::Reflector(Transport& transport, ObjectDecoder& decoder, api::Kind kind,
                     Listener listener, uint64_t seed)
    : transport_(transport),
      decoder_(decoder),
      kind_(kind),
      listener_(std::move(listener)),
      backoff_(seed),
      random_(seed + 1) {}

Reflector::~Reflector() {
  for (const Transport::Id id : {under_way_, silence_timer_, expected_timer_}) {
    transport_.cancel(id);
  }
}

void Reflector::tell(const std::string& problem) const {
  if (listener_.trouble) listener_.trouble(fmt::format("{}: {}", api::info(kind_).plural, problem));
}

void Reflector::list(const std::string& continue_token) {
  if (continue_token.empty()) {
    keys_.clear();
    collects_ = listed_before_ || told_;
  }
  under_way_ = transport_.send(list_request(resource_of(kind_), kPageSize, continue_token),
                               [this](const HttpResponse& response) { take_page(response); });
}

void Reflector::take_page(const HttpResponse& response) {
  if (is_missing(response)) return take_missing();
  if (!response.ok()) {
    return again(response, "cannot be listed", [this] { list(""); });
  }
  std::vector<core::Object> objects;
  std::vector<std::string> problems;
  const auto page = decoder_.list(response.body, kind_, objects, problems);
  if (!page) {
    return again(no_answer(page.error().message), "cannot be listed", [this] { list(""); });
  }
  for (const std::string& problem : problems) tell(problem);
  for (core::Object& object : objects) {
    if (collects_) keys_.insert(object.key);
    told_ = true;
    listener_.event(core::ObjectChanged{std::move(object)});
  }
  if (!page->continue_token.empty()) return list(page->continue_token);
  take_list(*page);
}

bool Reflector::is_missing(const HttpResponse& response) const {
  return response.status == kNotFound && api::info(kind_).optional;
}

// Nothing is left of what was told, whatever its version.
void Reflector::take_missing() {
  backoff_.succeeded();
  blind_since_.reset();
  if (!std::exchange(missing_, true)) {
    listener_.event(core::Listed{kind_, std::numeric_limits<uint64_t>::max(), {}});
  }
  end_list();
  const Duration absence(random_.between(kShortestAbsence.count(), kLongestAbsence.count()));
  under_way_ = transport_.after(absence, [this] { list(""); });
}

void Reflector::take_list(const ListPage& page) {
  backoff_.succeeded();
  blind_since_.reset();
  missing_ = false;
  seen_ = std::max(seen_, api::parse_resource_version(page.resource_version).value_or(0));
  if (collects_) listener_.event(core::Listed{kind_, seen_, std::exchange(keys_, {})});
  watch();
  end_list();
}

void Reflector::end_list() {
  if (!std::exchange(listed_before_, true)) listener_.listed();
  if (const auto done = std::exchange(refreshed_, nullptr)) done();
}

void Reflector::refresh(std::function<void()> done) {
  refreshed_ = std::move(done);
  transport_.cancel(under_way_);
  watching_ = false;
  list("");
}

void Reflector::watch() {
  rest_.clear();
  watching_since_ = transport_.now();
  heard_at_ = watching_since_;
  watching_ = true;
  const WatchOptions options{.resource_version = std::to_string(seen_),
                             .lifetime = std::chrono::seconds(
                                 random_.between(kShortestWatchSeconds, kLongestWatchSeconds))};
  under_way_ = transport_.stream(
      watch_request(resource_of(kind_), options),
      [this](std::string_view data) { take_data(data); },
      [this](const HttpResponse& response) { watch_ended(response); });
  if (silence_timer_ == 0) listen_for_silence();
}

void Reflector::listen_for_silence() {
  silence_timer_ = transport_.at(heard_at_ + kLongestSilence, [this] {
    silence_timer_ = 0;
    if (!watching_) return;  // the next watch begins to listen anew
    if (transport_.now() < heard_at_ + kLongestSilence) return listen_for_silence();
    give_up_connection();
  });
}

// First the others, so that it is not opened on a connection that was kept and is as dead.
void Reflector::give_up_connection() {
  if (!blind_since_) blind_since_ = heard_at_;
  transport_.distrust_connections();
  if (listener_.died) listener_.died();
  reopen();
}

std::optional<Instant> Reflector::blind_since() const {
  if (blind_since_) return blind_since_;
  const bool silent = watching_ && transport_.now() >= heard_at_ + kLongestBetweenBookmarks;
  return silent ? std::optional(heard_at_) : std::nullopt;
}

void Reflector::reopen() {
  if (!watching_ || transport_.now() < watching_since_ + kNoWatch) return;
  transport_.cancel(under_way_);
  watch();
}

void Reflector::expect(uint64_t version) {
  if (!watching_ || version <= seen_ || expected_ != 0) return;
  expected_ = version;
  const Duration patience = kEcho * (1 << std::min(disappointments_, kMostDoublings));
  expected_timer_ = transport_.after(patience, [this] { check_expected(); });
}

void Reflector::check_expected() {
  expected_timer_ = 0;
  const bool told = seen_ >= std::exchange(expected_, 0);
  disappointments_ = told ? 0 : disappointments_ + 1;
  if (!told) give_up_connection();
}

void Reflector::take_data(std::string_view data) {
  backoff_.succeeded();
  blind_since_.reset();
  heard_at_ = transport_.now();
  while (true) {
    const size_t end = data.find('\n');
    if (end == std::string_view::npos) break;
    const std::string_view part = data.substr(0, end);
    data.remove_prefix(end + 1);
    bool goes_on = true;
    if (rest_.empty()) {
      goes_on = take_line(part);
    } else {
      rest_ += part;
      const std::string line = std::exchange(rest_, {});
      goes_on = take_line(line);
    }
    if (!goes_on) return;
  }
  rest_ += data;
}

bool Reflector::take_line(std::string_view line) {
  if (line.empty()) return true;
  auto event = decoder_.watch_line(line, kind_);
  if (!event) {
    tell(event.error().message);
    return true;
  }
  if (const auto* failed = std::get_if<WatchFailed>(&*event)) {
    transport_.cancel(under_way_);
    watching_ = false;
    if (failed->code == kGone) {
      list("");
    } else {
      again(no_answer(failed->message), "the watch ended", [this] { watch(); });
    }
    return false;
  }
  if (const auto* bookmark = std::get_if<Bookmark>(&*event)) {
    seen_ = std::max(seen_, bookmark->resource_version);
  } else if (auto* changed = std::get_if<core::ObjectChanged>(&*event)) {
    seen_ = std::max(seen_, changed->object.resource_version);
    listener_.event(std::move(*changed));
  } else if (auto* deleted = std::get_if<core::ObjectDeleted>(&*event)) {
    seen_ = std::max(seen_, deleted->resource_version);
    listener_.event(std::move(*deleted));
  }
  return true;
}

void Reflector::watch_ended(const HttpResponse& response) {
  watching_ = false;
  // Its time had come.
  if (response.ok() && transport_.now() >= watching_since_ + kNoWatch) return watch();
  if (response.status == kGone) return list("");
  if (is_missing(response)) return again(response, "cannot be watched", [this] { list(""); });
  again(response, "cannot be watched", [this] { watch(); });
}

void Reflector::again(const HttpResponse& response, const std::string& what,
                      const std::function<void()>& action) {
  if (!blind_since_) blind_since_ = transport_.now();
  const Refusal refusal =
      response.ok() ? Refusal{0, "", "it ended at once"} : read_refusal(response);
  if (listener_.failed) listener_.failed(refusal);
  const Duration delay = backoff_.next(response.retry_after);
  if (backoff_.failures() > kQuietFailures || !listed_before_) {
    tell(fmt::format("{}: {}; next try in {}", what, refusal.message, format_duration(delay)));
  }
  under_way_ = transport_.after(delay, action);
}

}  // namespace phalanx::kube
