// SPDX-License-Identifier: Apache-2.0
// stop_at PID SYMBOL: stops a process (SIGSTOP) where its first thread enters the function of that
// mangled name, before it has done anything of it.
// Exit status 0: it has come there, and is stopped. 1: it has ended before, or has no such
// function. 77: one process may not trace another one here.
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <string>
#include <string_view>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

constexpr int is_impossible = 77;

template<class T>
T const* at(std::vector<char> const& file, std::size_t offset) {
  return reinterpret_cast<T const*>(file.data() + offset);
}

/// Where a program's file says that the function is; 0: it says nothing.
std::uint64_t value_of(std::vector<char> const& file, std::string_view symbol) {
  if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    return 0;
  auto const* const header = at<Elf64_Ehdr>(file, 0);
  auto const* const sections = at<Elf64_Shdr>(file, header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB)
      continue;
    auto const* const symbols = at<Elf64_Sym>(file, sections[i].sh_offset);
    auto const names = sections[sections[i].sh_link].sh_offset;
    for (std::size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s)
      if (symbol == at<char>(file, names + symbols[s].st_name))
        return symbols[s].st_value;
  }
  return 0;
}

/// Where the program lies in the process's memory, if it may lie anywhere.
std::uint64_t base_of(std::string const& pid, std::vector<char> const& file) {
  std::uint64_t first = 0;
  if (at<Elf64_Ehdr>(file, 0)->e_type == ET_DYN)
    std::ifstream("/proc/" + pid + "/maps") >> std::hex >> first;
  return first;
}

#if defined(__x86_64__)

constexpr long breakpoint = 0xcc;

/// Its next stop, beside those that are none of ours; false: it has ended.
bool come_to_trap(pid_t pid) {
  int signal = 0;
  for (int status = 0;;) {
    if (::ptrace(PTRACE_CONT, pid, 0, signal) != 0 || ::waitpid(pid, &status, __WALL) != pid ||
        !WIFSTOPPED(status))
      return false;
    bool const is_event = status >> 16 != 0;
    if (!is_event && WSTOPSIG(status) == SIGTRAP)
      return true;
    signal = is_event ? 0 : WSTOPSIG(status); // which it gets
  }
}

bool stop_at(pid_t pid, std::uint64_t address) {
  int status = 0;
  if (::ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0 || ::waitpid(pid, &status, __WALL) != pid ||
      !WIFSTOPPED(status))
    return false;
  errno = 0;
  long const code = ::ptrace(PTRACE_PEEKTEXT, pid, address, 0);
  if (errno != 0 || ::ptrace(PTRACE_POKETEXT, pid, address, (code & ~0xffL) | breakpoint) != 0)
    return false;
  user_regs_struct registers{};
  if (!come_to_trap(pid) || ::ptrace(PTRACE_GETREGS, pid, 0, &registers) != 0 ||
      registers.rip != address + 1)
    return false;
  registers.rip = address;
  return ::ptrace(PTRACE_POKETEXT, pid, address, code) == 0 &&
         ::ptrace(PTRACE_SETREGS, pid, 0, &registers) == 0 &&
         ::syscall(SYS_tgkill, pid, pid, SIGSTOP) == 0 && ::ptrace(PTRACE_DETACH, pid, 0, 0) == 0;
}

#endif

} // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: stop_at PID SYMBOL\n", stderr);
    return 2;
  }
  std::string const pid = argv[1];
  std::ifstream program("/proc/" + pid + "/exe", std::ios::binary | std::ios::ate);
  std::vector<char> file(program ? static_cast<std::size_t>(program.tellg()) : 0);
  program.seekg(0).read(file.data(), static_cast<std::streamsize>(file.size()));
  std::uint64_t const value = value_of(file, argv[2]);
  if (value == 0)
    return 1;
#if defined(__x86_64__)
  auto const process = static_cast<pid_t>(std::atoi(argv[1]));
  if (::ptrace(PTRACE_SEIZE, process, 0, 0) != 0)
    return errno == EPERM ? is_impossible : 1;
  return stop_at(process, base_of(pid, file) + value) ? 0 : 1;
#else
  return is_impossible;
#endif
}
