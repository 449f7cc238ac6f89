// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent.hpp>
#include <quarry/emu/channel.hpp>
#include <quarry/emu/channel_aggregator.hpp>
#include <quarry/emu/channel_drawing.hpp>
#include <quarry/emu/kernel.hpp>
#include <quarry/task.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace quarry::emu {

/// The elements that a wavefront of a kernel node consumes, one a work-item.
template<class T, any_wavefront W>
class dispatched {
public:
  dispatched(channel<T>& from, W& wf, lanes<std::uint32_t, W::size> const& position,
             std::uint32_t hint)
      : from_(from), wf_(wf), position_(position), items_(wf.active()), hint_(hint) {}
  dispatched(dispatched const&) = delete;
  dispatched& operator=(dispatched const&) = delete;

  /// A member of the active work-items' elements. Errors   none; not after tfree()
  template<class F>
  [[nodiscard]] lanes<F, W::size> load(F T::* member) const {
    return wf_.load(from_.field(position_, member));
  }
  /// The element of one of them.
  [[nodiscard]] global<T> at(int lane) const { return from_.at_position(position_[lane]); }
  /// What the graph's scheduler has said with its choice (channel_choice::hint).
  [[nodiscard]] std::uint32_t hint() const noexcept { return hint_; }
  /// The active work-items' elements are not needed any more. Called by itself where the kernel
  /// ends, for those for which the kernel has not done so: room comes sooner, the sooner it is
  /// called.
  void tfree() {
    auto const those = wf_.where(items_);
    items_ = items_.without(wf_.active());
    from_.tfree(wf_, position_);
  }

private:
  channel<T>& from_;
  W& wf_;
  lanes<std::uint32_t, W::size> position_;
  lane_mask items_; ///< those that have elements
  std::uint32_t hint_;
};

/// Kernel and channel nodes with their edges: elements flow until there are none left (thesis
/// §4.2.2).
///
/// A channel has one consumer, whose second parameter is `dispatched<T, W>&`, with the channel's T:
///
///     struct fib_kernel {
///       template<any_wavefront W>
///       task<> operator()(W& wf, auto& src, channel<fib>& dest, global<std::uint32_t> result)
///       const;
///     };
///     auto& numbers = g.add_channel<fib>({.width = 32768, .name = "numbers"});
///     g.connect(numbers, fib_kernel{}, std::ref(numbers), result.global());
///     g.put(numbers, {24});
///     g.execute();
///     g.wait_for_done().or_throw();
///
/// A kernel that waits for room keeps its slot on the compute unit, unless the channel says that it
/// yields; and its elements, unless it has freed them. So many of them that no consumer has a slot,
/// or a cycle of channels too narrow for what is under way, end in a reported deadlock, which names
/// them, where nobody yields, or who does keeps its elements.
///
/// Source   thesis Figure 4-5
template<class Targets = all_targets>
class channel_graph {
public:
  /// Dispatches in bulk, but under deterministic schedulers whatever fills a wavefront.
  explicit channel_graph(basic_agent<Targets>& gpu)
      : channel_graph(gpu, gpu.core().scheduler().decides() ? drain_last : drain_in_bulk) {}
  channel_graph(basic_agent<Targets>& gpu, channel_scheduler scheduler)
      : core_(gpu.core()), aggregator_(core_, std::move(scheduler)) {}

  /// Errors   std::invalid_argument – a width outside the limits; execute() was called
  template<class T>
  channel<T>& add_channel(channel_options const& o) {
    check_open();
    auto made = std::make_unique<node<T>>(core_, o);
    channel<T>& result = made->elements;
    if (o.full == when_full::yield)
      result.yield_through(aggregator_.restarts(o.orders),
                           static_cast<std::uint32_t>(aggregator_.nodes().size()));
    aggregator_.add(std::move(made));
    drawing_.channels.push_back({o.name, o.width});
    return result;
  }
  /// `kernel(wf, elements, args...)` consumes the channel; arguments as in agent::launch. What is
  /// sent to channels of other graphs nobody would wait for.
  ///
  /// Errors   std::invalid_argument – the channel, or one among the arguments, is another graph's,
  ///          or it has a consumer
  template<class T, class Kernel, class... Args>
  void connect(channel<T>& from, Kernel kernel, Args... args) {
    check_open();
    node<T>& n = find(from);
    if (n.make)
      throw std::invalid_argument("channel_graph: " + from.name() + " has a consumer already");
    channel_drawing::kernel drawn{kernel_name<Kernel>(), index_of(&from), {}};
    (draw_edges(drawn, args), ...);
    drawing_.kernels.push_back(std::move(drawn));
    using call = consumer<T, Kernel>;
    n.make = [this, &from, kernel, args...](std::uint64_t first, std::uint32_t count,
                                            std::uint32_t hint) {
      auto l = std::make_unique<launch_state>();
      using whole = bound_kernel<call, std::reference_wrapper<channel<T>>, std::uint64_t,
                                 std::uint32_t, Args...>;
      auto bound = std::make_shared<whole>(call{kernel}, std::ref(from), first, hint, args...);
      l->config = {.work_items = count, .work_items_per_group = core_.shape().wavefront_size};
      l->kernel = kernel_name<Kernel>();
      core_.prepare(*l);
      l->entry = Targets::template pick<call, std::reference_wrapper<channel<T>>, std::uint64_t,
                                        std::uint32_t, Args...>(core_);
      l->bound = bound.get();
      l->keeps_alive = std::move(bound);
      return l;
    };
  }

  /// A source element, from the host, while the graph does not run: nothing else puts any there.
  ///
  /// Errors   std::invalid_argument – the channel is full, or another graph's; the graph runs
  template<class T>
  void put(channel<T>& to, T const& value) {
    static_cast<void>(find(to));
    if (!aggregator_.is_done())
      throw std::invalid_argument("channel_graph: it runs; put into " + to.name() +
                                  " before execute()");
    core_.with_host([&](auto const& host) {
      auto const mine = to.try_talloc(host, 1);
      if (!mine)
        throw std::invalid_argument("channel_graph: " + to.name() + " is full");
      host.store(to.at(*mine), value);
      to.enq_alone(host, *mine);
    });
  }
  /// The aggregator begins.
  ///
  /// Errors   std::invalid_argument – a channel has no consumer
  void execute() {
    for (auto const& n : aggregator_.nodes())
      if (!n->has_consumer())
        throw std::invalid_argument("channel_graph: nobody consumes " + n->name());
    aggregator_.begin();
    if (!serving_)
      serving_.emplace(core_.processor().serve(aggregator_));
    core_.processor().wake();
  }
  /// Waits until no element is left anywhere, and no kernel runs. After an error the graph is of no
  /// use any more: elements are left, and it gives the same error again.
  ///
  /// Errors   a kernel's first fault; deadlock or stall – kernels wait for each other, for room
  ///          say; misuse – elements were allocated and never enqueued; std::invalid_argument –
  ///          before execute()
  outcome wait_for_done() {
    if (!serving_)
      throw std::invalid_argument("channel_graph: wait_for_done() before execute()");
    return aggregator_.wait();
  }

  /// When it is done.
  [[nodiscard]] flow_counts totals() const { return aggregator_.totals(); }
  /// `told` hears after each dispatch how much has been dispatched: for who shows progress. From
  /// the aggregator's thread; before execute().
  void watch(std::function<void(flow_counts const&)> told) { aggregator_.watch(std::move(told)); }
  /// The nodes and edges that there are now. A kernel has an edge to each channel that it was given
  /// as an argument, or that an argument names by each_channel(f).
  [[nodiscard]] channel_drawing const& drawing() const noexcept { return drawing_; }

private:
  /// A kernel of a graph, as a kernel.
  template<class T, class Kernel>
  struct consumer {
    Kernel kernel;
    template<any_wavefront W, class... Args>
    task<> operator()(W& wf, channel<T>& from, std::uint64_t first, std::uint32_t hint,
                      Args&... args) const {
      auto const position = from.deq_row(wf, first + wf.linear_group_id() * W::size);
      dispatched<T, W> elements(from, wf, position, hint);
      task<> done = kernel(wf, elements, args...);
      co_await std::move(done);
      elements.tfree();
    }
  };

  template<class T>
  struct node final : channel_node {
    node(agent_core& core, channel_options const& o) : elements(core.known(), o) {}
    channel<T> elements;
    std::function<std::unique_ptr<launch_state>(std::uint64_t first, std::uint32_t count,
                                                std::uint32_t hint)>
        make;

    std::string const& name() const override { return elements.name(); }
    void const* consumed() const override { return &elements; }
    bool has_consumer() const override { return static_cast<bool>(make); }
    template<class Core>
    sight look_as(Core& c) {
      return {elements.ready(c), elements.waiting(c), elements.can_reclaim(c)};
    }
    sight look(basic_core<native_memory>& c) override { return look_as(c); }
    sight look(basic_core<interleaving_memory>& c) override { return look_as(c); }
    void reclaim(basic_core<native_memory>& c) override { static_cast<void>(elements.reclaim(c)); }
    void reclaim(basic_core<interleaving_memory>& c) override {
      static_cast<void>(elements.reclaim(c));
    }
    std::uint32_t room(basic_core<native_memory>& c) override { return elements.room(c); }
    std::uint32_t room(basic_core<interleaving_memory>& c) override { return elements.room(c); }
    channel_counts const& counts() const override { return elements.counts(); }
    channel_usage usage() const override { return elements.usage(); }
    std::uint32_t width() const override { return elements.width(); }
    std::uint64_t not_enqueued(bool is_explored) const override {
      return elements.not_enqueued(is_explored);
    }
    std::unique_ptr<launch_state> take(std::uint32_t count, std::uint32_t hint) override {
      return make(elements.take(count), count, hint);
    }
  };

  /// Which of the nodes consumes the channel; their number, if none does.
  [[nodiscard]] std::size_t index_of(void const* channel) const {
    auto const& all = aggregator_.nodes();
    return static_cast<std::size_t>(
        std::find_if(all.begin(), all.end(),
                     [&](auto const& n) { return n->consumed() == channel; }) -
        all.begin());
  }
  template<class Arg>
  void draw_edges(channel_drawing::kernel& k, Arg const& argument) {
    if constexpr (requires { argument.get().each_channel([](void const*) {}); })
      argument.get().each_channel([&](void const* channel) {
        auto const i = index_of(channel);
        if (i == aggregator_.nodes().size())
          throw std::invalid_argument("channel_graph: an argument of " + k.name +
                                      " has a channel of another graph");
        k.into.push_back(i);
      });
    else if constexpr (requires { this->find(argument.get()); }) {
      static_cast<void>(find(argument.get()));
      k.into.push_back(index_of(&argument.get()));
    }
  }

  void check_open() const {
    if (serving_)
      throw std::invalid_argument("channel_graph: it runs; add nodes before execute()");
  }
  template<class T>
  node<T>& find(channel<T>& c) {
    std::size_t const i = index_of(&c);
    if (i == aggregator_.nodes().size())
      throw std::invalid_argument("channel_graph: " + c.name() + " is no channel of this graph");
    return static_cast<node<T>&>(*aggregator_.nodes()[i]);
  }

  agent_core& core_;
  channel_aggregator aggregator_;
  channel_drawing drawing_;
  std::optional<command_processor::serving> serving_; ///< last, so first to go
};

} // namespace quarry::emu
