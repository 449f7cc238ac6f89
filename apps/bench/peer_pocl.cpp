// SPDX-License-Identifier: Apache-2.0
#include "peers.hpp"
#include "pocl_source.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace quarry::bench {
namespace {

void require(cl_int status, char const* call) {
  if (status != CL_SUCCESS)
    throw std::runtime_error{std::string{"PoCL: "} + call + " failed with OpenCL error " +
                             std::to_string(status)};
}

template<class Handle>
using owned = std::shared_ptr<std::remove_pointer_t<Handle>>;

/// The CPU device of PoCL, a queue in order, and the kernels, built.
struct session {
  owned<cl_context> context;
  owned<cl_command_queue> commands;
  owned<cl_program> program;
};

std::string platform_name(cl_platform_id platform) {
  std::array<char, 256> name{};
  require(clGetPlatformInfo(platform, CL_PLATFORM_NAME, name.size() - 1, name.data(), nullptr),
          "clGetPlatformInfo");
  return name.data();
}

cl_device_id find_device() {
  cl_uint count = 0;
  // Without any driver ocl-icd answers with an error of its own, not with a count of zero.
  if (clGetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0)
    throw std::runtime_error{"no OpenCL platform found (apt install pocl-opencl-icd)"};
  std::vector<cl_platform_id> platforms(count);
  require(clGetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::string others;
  for (cl_platform_id const platform : platforms) {
    std::string const name = platform_name(platform);
    cl_device_id device = nullptr;
    if (name == "Portable Computing Language" &&
        clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, 1, &device, nullptr) == CL_SUCCESS)
      return device;
    others += " '" + name + "'";
  }
  throw std::runtime_error{"no CPU of PoCL among the OpenCL platforms" + others};
}

session open_session() {
  cl_device_id const device = find_device();
  cl_int status = CL_SUCCESS;
  session s;
  s.context = {clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status), clReleaseContext};
  require(status, "clCreateContext");
  s.commands = {clCreateCommandQueue(s.context.get(), device, 0, &status), clReleaseCommandQueue};
  require(status, "clCreateCommandQueue");
  char const* source = opencl_source;
  s.program = {clCreateProgramWithSource(s.context.get(), 1, &source, nullptr, &status),
               clReleaseProgram};
  require(status, "clCreateProgramWithSource");
  require(clBuildProgram(s.program.get(), 1, &device, "-cl-std=CL1.2", nullptr, nullptr),
          "clBuildProgram");
  return s;
}

/// A span of the problem, used in place: PoCL's CPU shares the host's memory.
class buffer {
public:
  template<class T>
  buffer(session const& s, std::span<T> memory)
      : commands_{s.commands}, bytes_{memory.size_bytes()} {
    cl_int status = CL_SUCCESS;
    auto* const host = const_cast<std::remove_const_t<T>*>(memory.data());
    auto const access = std::is_const_v<T> ? CL_MEM_READ_ONLY : CL_MEM_READ_WRITE;
    memory_ = {clCreateBuffer(s.context.get(), access | CL_MEM_USE_HOST_PTR, bytes_, host, &status),
               clReleaseMemObject};
    require(status, "clCreateBuffer");
  }

  [[nodiscard]] cl_mem get() const noexcept { return memory_.get(); }

  /// Makes the kernels' stores visible in the span.
  void collect() const {
    cl_int status = CL_SUCCESS;
    void* const at = clEnqueueMapBuffer(commands_.get(), get(), CL_TRUE, CL_MAP_READ, 0, bytes_, 0,
                                        nullptr, nullptr, &status);
    require(status, "clEnqueueMapBuffer");
    require(clEnqueueUnmapMemObject(commands_.get(), get(), at, 0, nullptr, nullptr),
            "clEnqueueUnmapMemObject");
    require(clFinish(commands_.get()), "clFinish");
  }

private:
  owned<cl_command_queue> commands_;
  owned<cl_mem> memory_;
  std::size_t bytes_;
};

class kernel {
public:
  template<class... Arguments>
  kernel(session const& s, char const* name, Arguments const&... arguments)
      : commands_{s.commands} {
    cl_int status = CL_SUCCESS;
    kernel_ = {clCreateKernel(s.program.get(), name, &status), clReleaseKernel};
    require(status, "clCreateKernel");
    cl_uint index = 0;
    (set(index++, arguments), ...);
  }

  /// Runs `work_items` in groups of 256 and waits for them.
  void run(std::size_t work_items) const { run<1>({work_items}, {work_group_size}); }
  template<std::size_t Dimensions>
  void run(std::array<std::size_t, Dimensions> const& global,
           std::array<std::size_t, Dimensions> const& local) const {
    require(clEnqueueNDRangeKernel(commands_.get(), kernel_.get(), Dimensions, nullptr,
                                   global.data(), local.data(), 0, nullptr, nullptr),
            "clEnqueueNDRangeKernel");
    require(clFinish(commands_.get()), "clFinish");
  }

private:
  void set(cl_uint index, buffer const& memory) {
    cl_mem const handle = memory.get();
    set(index, handle);
  }
  template<class T>
  void set(cl_uint index, T const& value) {
    auto const bytes = std::as_bytes(std::span(&value, 1)); // a handle's own, too
    require(clSetKernelArg(kernel_.get(), index, bytes.size(), bytes.data()), "clSetKernelArg");
  }

  owned<cl_command_queue> commands_;
  owned<cl_kernel> kernel_;
};

prepare<saxpy_problem> saxpy(session const& s) {
  return [s](saxpy_problem const& p) {
    buffer const x{s, p.x}, y{s, p.y};
    kernel const k{s, "saxpy", cl_float{p.a}, x, y};
    return prepared{[k, x, n = p.y.size()] { k.run(n); }, [y] { y.collect(); }};
  };
}

prepare<block_reduce_problem> block_reduce(session const& s, char const* name) {
  return [s, name](block_reduce_problem const& p) {
    buffer const values{s, p.values}, sums{s, p.sums};
    kernel const k{s, name, values, sums};
    return prepared{[k, values, n = p.values.size()] { k.run(n); }, [sums] { sums.collect(); }};
  };
}

prepare<matmul_problem> matmul(session const& s) {
  return [s](matmul_problem const& p) {
    buffer const a{s, p.a}, b{s, p.b}, c{s, p.c};
    kernel const k{s, "matmul", static_cast<cl_uint>(p.n), a, b, c};
    auto const run = [k, a, b, n = p.n] {
      k.run<2>({n, n}, {matmul_problem::tile, matmul_problem::tile});
    };
    return prepared{run, [c] { c.collect(); }};
  };
}

prepare<histogram_problem> histogram(session const& s) {
  return [s](histogram_problem const& p) {
    buffer const values{s, p.values}, bins{s, p.bins};
    kernel const k{s, "histogram", values, bins};
    std::size_t const n = p.values.size() / histogram_problem::values_per_work_item;
    auto const run = [s, k, values, bins, n] {
      cl_uint const zero = 0;
      require(clEnqueueFillBuffer(s.commands.get(), bins.get(), &zero, sizeof zero, 0,
                                  histogram_problem::bin_count * sizeof zero, 0, nullptr, nullptr),
              "clEnqueueFillBuffer");
      k.run(n);
    };
    return prepared{run, [bins] { bins.collect(); }};
  };
}

prepare<barrier_problem> barrier(session const& s, char const* name) {
  return [s, name](barrier_problem const& p) {
    buffer const results{s, p.results};
    kernel const k{s, name, cl_uint{p.rounds}, results};
    return prepared{[k, n = p.results.size()] { k.run(n); }, [results] { results.collect(); }};
  };
}

prepare<launch_problem> launch(session const& s) {
  return [s](launch_problem const& p) {
    kernel const k{s, "empty"};
    return prepared{[k, n = p.group_count * work_group_size] { k.run(n); }, {}};
  };
}

} // namespace

peer pocl_peer() {
  try {
    session const s = open_session();
    return {.who = "pocl",
            .absent = {},
            .saxpy = saxpy(s),
            .block_reduce = block_reduce(s, "block_reduce"),
            .block_reduce_naive = block_reduce(s, "block_reduce_naive"),
            .matmul = matmul(s),
            .histogram = histogram(s),
            .barrier = barrier(s, "barrier_only"),
            .barrier_work = barrier(s, "barrier_work"),
            .launch = launch(s)};
  } catch (std::runtime_error const& problem) {
    return {.who = "pocl", .absent = problem.what()};
  }
}

} // namespace quarry::bench
