# SPDX-License-Identifier: Apache-2.0
"""gdb on Quarry: `info agents|queues|dispatches|waves|lanes|actors`, `wave`, `lane`, `decision`.

Loaded by `quarry gdb`, or by hand: (gdb) source quarry-gdb.py. debugging.md is the manual.
"""
import os
import sys

# Not __file__: sourced by another script, that would be the other one's.
sys.path.insert(0, os.path.dirname(os.path.realpath(sys._getframe().f_code.co_filename)))

import quarry_gdb.commands  # noqa: E402

quarry_gdb.commands.register()
