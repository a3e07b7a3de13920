// phalanx place -f FILE...: where would these Jobs and gangs go on this cluster, and if nowhere,
// why.
//
// The order of work: read everything, choose the levels, put nodes, then pods and admitted
// workloads, then place the Jobs in input order and after them the gangs, each seeing those before.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include "base/saturating.h"
#include "base/yaml.h"
#include "cli/cluster_bookings.h"
#include "cli/cluster_input.h"
#include "cli/command.h"
#include "cli/place_gang.h"
#include "cli/place_report.h"
#include "cli/terminal_style.h"
#include "cli/topology_choice.h"
#include "cli/tree_picture.h"
#include "placement/node_filter.h"
#include "placement/placer.h"

namespace phalanx::cli {
namespace {

constexpr std::string_view kPods = "pods";

struct Arguments {
  std::vector<std::string> files;
  LiveArguments live;
  std::string topology;
  std::optional<std::string> levels;  // separated by commas
  std::string output = "table";
  bool json = false;
  bool explain = false;
  std::string profile = "Mixed";
  bool balanced = false;
  bool simulate_empty = false;
  bool preferred_node_affinity = false;
  std::string resource;
  int max_lines = 40;
};

// Names large files before they are read, if somebody is there to see it.
void show_progress(const std::string& file) {
  constexpr uintmax_t kLarge = 16U << 20;
  if (::isatty(STDERR_FILENO) != 1) return;
  std::error_code code;
  const uintmax_t size = std::filesystem::file_size(file, code);
  if (!code && size >= kLarge) remark(fmt::format("reading {} ({} MiB)", file, size >> 20));
}

// Copies of free columns, by resource name.
using Columns = std::map<std::string, std::vector<int64_t>>;

class PlaceRun {
 public:
  PlaceRun(const Arguments& arguments, ClusterInput input)
      : arguments_(arguments), input_(std::move(input)), placer_(cluster_) {}

  int run() {
    if (const auto problem = check_input()) return refuse(*problem);
    auto choice = choose_topology(input_, wish());
    if (!choice) return refuse(choice.error().message);
    for (const std::string& text : choice->remarks) remark(text);
    auto tree = put_nodes(cluster_, input_, choice->spec);
    if (!tree) return refuse(tree.error().message);
    tree_ = *tree;
    if (const auto problem = check_resource()) return refuse(*problem);
    total_ = snapshot();
    bookings_ = book_usage(cluster_, tree_, input_,
                           arguments_.simulate_empty ? Admitted::kLeftOut : Admitted::kBooked);
    for (const std::string& text : bookings_.remarks) remark(text);
    if (arguments_.simulate_empty) remark("admitted Workloads are left out (--simulate-empty)");
    free_before_ = snapshot();
    for (const api::Job& job : input_.jobs) {
      if (const auto problem = check_slices(job)) return refuse(*problem);
      outcomes_.push_back(place(job));
    }
    const auto topologies = all_topologies(choice->spec);
    for (size_t index = 0; index < gangs_.size(); ++index) {
      const std::string& origin = input_.gangs[index].origin;
      auto outcome = place_and_book(cluster_, topologies, gangs_[index]);
      if (!outcome) return refuse(within(origin, outcome.error()).error().message);
      for (const std::string& text : outcome->result.remarks) remark(origin + ": " + text);
      note(*outcome);
      gang_outcomes_.push_back(std::move(*outcome));
    }
    free_after_ = snapshot();
    print(choice->spec);
    const bool all_placed =
        std::ranges::none_of(outcomes_, &JobOutcome::failed) &&
        std::ranges::all_of(gang_outcomes_, [](const auto& o) { return o.result.placed; });
    return all_placed ? kDone : kExplainedNo;
  }

 private:
  [[nodiscard]] int refuse(const std::string& message) const {
    return bad_input(message, arguments_.output == "json");
  }

  [[nodiscard]] TopologyWish wish() const {
    TopologyWish wish{arguments_.topology, {}};
    if (!arguments_.levels) return wish;
    std::istringstream keys(*arguments_.levels + ",");
    for (std::string key; std::getline(keys, key, ',');) wish.levels.push_back(key);
    return wish;
  }

  [[nodiscard]] std::optional<std::string> check_input() {
    auto gangs = read_gangs(input_);
    if (!gangs) return gangs.error().message;
    gangs_ = std::move(*gangs);
    if (input_.nodes.empty()) {
      return "no Node in the input; add the output of kubectl get nodes,pods -A -o yaml";
    }
    if (input_.jobs.empty() && gangs_.empty()) {
      return "no Job and no Gang in the input; add what is to be placed with -f";
    }
    return std::nullopt;
  }

  // Before any pod is counted, the resources known are those of the nodes.
  [[nodiscard]] std::optional<std::string> check_resource() const {
    if (arguments_.resource.empty() || cluster_.find_resource(arguments_.resource).valid()) {
      return std::nullopt;
    }
    std::vector<std::string> known;
    for (size_t index = 0; index < cluster_.resource_count(); ++index) {
      known.push_back(cluster_.resource_name(ResourceId(index)));
    }
    return fmt::format("--resource: no node has any {}; the nodes have: {}", arguments_.resource,
                       fmt::join(known, ", "));
  }

  // The chosen topology, and the others of the input that a gang may name.
  std::vector<std::pair<std::string, TreeId>> all_topologies(const topology::TreeSpec& chosen) {
    std::vector<std::pair<std::string, TreeId>> topologies{{chosen.name, tree_}};
    if (gangs_.empty()) return topologies;
    for (const api::Topology& other : input_.topologies) {
      if (other.name == chosen.name) continue;
      topologies.emplace_back(other.name, cluster_.add_tree({other.name, other.levels, {}, {}}));
    }
    return topologies;
  }

  // What a gang got, for the picture.
  void note(const GangOutcome& outcome) {
    for (const placement::GangLeafResult& leaf : outcome.result.leaves) {
      for (const auto& domain : leaf.assignment.domains) {
        note(domain, leaf.path.empty() ? outcome.gang.name : leaf.path);
      }
    }
  }

  void note(const api::DomainAssignment& domain, const std::string& name) {
    const uint32_t leaves = cluster_.tree(tree_).leaf_count();
    placed_pods_.resize(leaves);
    notes_.resize(leaves);
    const auto leaf = cluster_.find_leaf(tree_, domain.values);
    if (!leaf) return;
    placed_pods_[*leaf] += domain.count;
    notes_[*leaf] += fmt::format("{}{} {}", notes_[*leaf].empty() ? "" : ", ", name, domain.count);
  }

  // The free columns of everything the Jobs and gangs ask for, at this moment.
  Columns snapshot() {
    Columns columns;
    const topology::DomainTree& tree = cluster_.tree(tree_);
    const auto copy = [&](const std::string& name) {
      const ResourceId id = cluster_.find_resource(name);
      const auto free = id.valid() ? tree.free(id) : std::span<const int64_t>();
      columns[name].assign(free.begin(), free.end());
      columns[name].resize(tree.leaf_count());
    };
    copy(std::string(kPods));
    if (!arguments_.resource.empty()) copy(arguments_.resource);
    for (const api::Job& job : input_.jobs) {
      for (const auto& [name, amount] : job.pod_template.spec.requests) {
        if (amount > 0) copy(name);
      }
    }
    for (const placement::Gang& gang : gangs_) {
      for (const auto& [name, amount] : requests_of(gang.root)) {
        if (amount > 0) copy(name);
      }
    }
    return columns;
  }

  // Why a Job of the input is not to be placed; empty if it is.
  [[nodiscard]] std::string reason_to_skip(const api::Job& job, const std::string& name) const {
    if (job.finished) return "it has finished";
    if (job.pod_count() == 0) return "it asks for no pods (parallelism or completions is 0)";
    for (const InputWorkload& workload : input_.workloads) {
      const api::Workload& object = workload.object;
      if (object.namespace_ == job.namespace_ && object.holds_capacity() &&
          std::ranges::find(object.owner_jobs, job.name) != object.owner_jobs.end()) {
        return fmt::format("its Workload {} is admitted already", full_name(object));
      }
    }
    if (const auto running = bookings_.running_pods.find(name);
        running != bookings_.running_pods.end()) {
      return fmt::format("it has pods on nodes already ({})", running->second);
    }
    return "";
  }

  // What no cluster could make right is bad input, not a "no".
  [[nodiscard]] std::optional<std::string> check_slices(const api::Job& job) const {
    if (!job.topology || !reason_to_skip(job, full_name(job)).empty()) return std::nullopt;
    const auto layers = job.topology->constraints();
    if (layers.empty() || layers[0].size <= 0 || job.pod_count() % layers[0].size == 0) {
      return std::nullopt;
    }
    return fmt::format(
        "Job {}: spec.template.metadata.annotations: {} pods do not divide into slices of {}; make "
        "the pod count a multiple of the slice size",
        full_name(job), job.pod_count(), layers[0].size);
  }

  JobOutcome place(const api::Job& job) {
    JobOutcome outcome{&job, full_name(job), "", {}};
    outcome.skipped = reason_to_skip(job, outcome.name);
    if (!outcome.skipped.empty()) return outcome;
    placement::PodSet pod_set;
    pod_set.name = "main";
    pod_set.count = job.pod_count();
    pod_set.requests = job.pod_template.spec.requests;
    pod_set.node_selector = job.pod_template.spec.node_selector;
    pod_set.tolerations = job.pod_template.spec.tolerations;
    pod_set.affinity = job.pod_template.spec.affinity;
    pod_set.topology = job.topology;
    const topology::RequestVector request = cluster_.make_request(pod_set.requests);
    outcome.results =
        placer_.place(tree_, {outcome.name, {std::move(pod_set)}, {}, false}, options());
    if (!outcome.failed()) book(outcome, request);
    return outcome;
  }

  void book(const JobOutcome& outcome, const topology::RequestVector& request) {
    for (const placement::PodSetResult& result : outcome.results) {
      std::vector<topology::DomainUsage> usage;
      for (const auto& domain : result.assignment->domains) {
        usage.push_back({domain.values, domain.count});
        note(domain, outcome.job->name);
      }
      cluster_.add_usage(outcome.name, tree_, request, usage);
    }
  }

  [[nodiscard]] placement::Options options() const {
    placement::Options options;
    if (arguments_.profile == "BestFit") options.profile = placement::Profile::kBestFit;
    options.balanced = arguments_.balanced;
    options.preferred_node_affinity = arguments_.preferred_node_affinity;
    // An emptied cluster is one without its admitted workloads: they are simply not booked, so
    // that the Jobs placed here still see one another.
    options.explain = true;
    return options;
  }

  void print(const topology::TreeSpec& spec) {
    if (arguments_.output == "json") {
      std::cout << pretty_json(report(spec)) << "\n";
    } else if (arguments_.output == "yaml") {
      std::cout << to_yaml(report(spec));
    } else {
      print_table(spec);
    }
  }

  [[nodiscard]] json::value report(const topology::TreeSpec& spec) const {
    json::value document = report_json(spec, outcomes_);
    json::array gangs;
    for (const GangOutcome& outcome : gang_outcomes_) gangs.push_back(gang_json(outcome));
    if (!gangs.empty()) document.get_object()["gangs"] = std::move(gangs);
    return document;
  }

  void print_table(const topology::TreeSpec& spec) {
    const ReportStyle style{style_of_terminal(arguments_.max_lines), arguments_.explain};
    for (const JobOutcome& outcome : outcomes_) {
      std::cout << report_text(cluster_, tree_, outcome, style) << "\n";
    }
    for (const GangOutcome& outcome : gang_outcomes_) {
      std::cout << gang_text(outcome, style.picture.color, arguments_.explain) << "\n";
    }
    const topology::DomainTree& tree = cluster_.tree(tree_);
    if (tree.leaf_count() > 0) {
      std::cout << draw_tree(cluster_, tree, picture(), style.picture);
    }
    if (const std::string text = left_out_text(cluster_.left_out(tree_), spec); !text.empty()) {
      std::cout << text << "\n";
    }
  }

  Picture picture() {
    Picture picture;
    picture.resource = arguments_.resource.empty() ? scarcest() : arguments_.resource;
    const auto& total = total_[picture.resource];
    const auto& before = free_before_[picture.resource];
    const auto& after = free_after_[picture.resource];
    picture.amounts.total = total;
    for (size_t leaf = 0; leaf < total.size(); ++leaf) {
      picture.amounts.used.push_back(saturating_subtract(total[leaf], before[leaf]));
      picture.amounts.placed.push_back(saturating_subtract(before[leaf], after[leaf]));
    }
    picture.amounts.pods = placed_pods_;
    picture.amounts.barred = bar_leaves();
    picture.notes = notes_;
    return picture;
  }

  // Of the resources that the Jobs ask for, the one of which they want the largest part of what is
  // free; extended resources first among equals. Pods only if nothing else is asked for.
  std::string scarcest() const {
    api::ResourceAmounts wanted;
    for (const JobOutcome& outcome : outcomes_) {
      if (!outcome.skipped.empty()) continue;
      api::add_to(wanted, outcome.job->pod_template.spec.requests, outcome.job->pod_count());
    }
    for (const placement::Gang& gang : gangs_) api::add_to(wanted, requests_of(gang.root));
    std::string best(kPods);
    std::pair<double, bool> best_share{-1, false};
    for (const auto& [name, amount] : wanted) {
      const auto column = free_before_.find(name);
      if (amount <= 0 || column == free_before_.end()) continue;
      double free = 0;
      for (const int64_t value : column->second)
        free += static_cast<double>(std::max<int64_t>(0, value));
      const std::pair<double, bool> share{static_cast<double>(amount) / std::max(free, 1e-9),
                                          name.find('/') != std::string::npos};
      if (share > best_share) {
        best_share = share;
        best = name;
      }
    }
    return best;
  }

  // Marks the nodes that none of the Jobs may use, and notes what keeps them away.
  std::vector<bool> bar_leaves() {
    const topology::DomainTree& tree = cluster_.tree(tree_);
    const bool any =
        gangs_.empty() && std::ranges::any_of(outcomes_, [](const JobOutcome& outcome) {
          return outcome.skipped.empty();
        });
    std::vector<bool> barred(tree.leaf_count(), any);
    notes_.resize(tree.leaf_count());
    for (const JobOutcome& outcome : outcomes_) {
      if (!outcome.skipped.empty()) continue;
      const api::PodSpec& spec = outcome.job->pod_template.spec;
      const placement::NodeFilter filter(cluster_, tree,
                                         {spec.node_selector, spec.tolerations, spec.affinity});
      for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
        if (filter.admits(leaf)) {
          barred[leaf] = false;
        } else if (barred[leaf] && notes_[leaf].empty()) {
          notes_[leaf] = exclusion_text(filter, leaf);
        }
      }
    }
    for (uint32_t leaf = 0; leaf < tree.leaf_count(); ++leaf) {
      if (!barred[leaf] && placed_on(leaf) == 0) notes_[leaf].clear();
    }
    return barred;
  }

  static std::string exclusion_text(const placement::NodeFilter& filter, uint32_t leaf) {
    switch (filter.exclusion(leaf)) {
      case placement::Exclusion::kTaint:
        return "taint " + filter.blocking_taint(leaf).text();
      case placement::Exclusion::kNodeSelector:
        return "nodeSelector does not match";
      case placement::Exclusion::kAffinity:
        return "node affinity does not match";
      case placement::Exclusion::kConfinement:
      case placement::Exclusion::kNone:
        break;
    }
    return "";
  }

  [[nodiscard]] int64_t placed_on(uint32_t leaf) const {
    return leaf < placed_pods_.size() ? placed_pods_[leaf] : 0;
  }

  const Arguments& arguments_;
  ClusterInput input_;
  topology::Cluster cluster_;
  placement::Placer placer_;
  TreeId tree_;
  Bookings bookings_;
  std::vector<JobOutcome> outcomes_;
  std::vector<placement::Gang> gangs_;
  std::vector<GangOutcome> gang_outcomes_;
  Columns total_;
  Columns free_before_;
  Columns free_after_;
  std::vector<int64_t> placed_pods_;  // by leaf
  std::vector<std::string> notes_;    // by leaf
};

int run_place(Arguments arguments) {
  if (arguments.json) arguments.output = "json";
  auto input = arguments.live.given()
                   ? read_cluster_input(arguments.live, arguments.files, show_progress)
                   : read_cluster_input(arguments.files, show_progress);
  if (!input) return bad_input(input.error().message, arguments.output == "json");
  if (const std::string text = skipped_remark(*input); !text.empty()) remark(text);
  return PlaceRun(arguments, std::move(*input)).run();
}

}  // namespace

void add_place_command(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = app.add_subcommand(
      "place", "Place Jobs and gangs on the nodes of a cluster, or say why they do not fit");
  command
      ->add_option(
          "-f,--filename", arguments->files,
          "Nodes, pods, Topologies, Workloads, Jobs and Gangs: files, folders, - for stdin")
      ->type_name("FILE")
      ->required();
  add_live_options(*command, arguments->live);
  auto* topology =
      command
          ->add_option("--topology", arguments->topology, "The Topology of the input to place by")
          ->type_name("NAME");
  command
      ->add_option("--levels", arguments->levels,
                   "Node label keys to place by, coarsest first, separated by commas")
      ->type_name("KEY,...")
      ->excludes(topology);
  command->add_option("-o,--output", arguments->output, "How to answer")
      ->check(CLI::IsMember({"table", "json", "yaml"}))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "The same as -o json");
  command->add_flag("--explain", arguments->explain, "Explain a no in full, level by level");
  command->add_option("--profile", arguments->profile, "How to choose among domains")
      ->check(CLI::IsMember({"Mixed", "BestFit"}))
      ->capture_default_str();
  command->add_flag("--balanced", arguments->balanced,
                    "Spread preferred placements evenly over domains");
  command->add_flag("--simulate-empty", arguments->simulate_empty,
                    "Leave out admitted Workloads: would it fit if all were preempted?");
  command->add_flag("--preferred-node-affinity", arguments->preferred_node_affinity,
                    "Let preferred node affinity outrank capacity");
  command
      ->add_option("--resource", arguments->resource,
                   "The resource to draw; without it, the one the Jobs want most of")
      ->type_name("NAME");
  command->add_option("--max-lines", arguments->max_lines, "Lines of the tree, at most")
      ->check(CLI::Range(3, 100000))
      ->capture_default_str();
  command->callback([arguments, &run] { run = [arguments] { return run_place(*arguments); }; });
}

}  // namespace phalanx::cli
