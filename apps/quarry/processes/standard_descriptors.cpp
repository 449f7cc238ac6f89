// SPDX-License-Identifier: Apache-2.0
#include "standard_descriptors.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace quarry::command {

void open_standard_descriptors() {
  int fd = 0;
  do // the lowest number that is free, every time
    fd = ::open("/dev/null", O_RDONLY);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    ::close(fd);
}

} // namespace quarry::command
