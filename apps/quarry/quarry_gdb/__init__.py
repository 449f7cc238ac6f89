# SPDX-License-Identifier: Apache-2.0
"""What quarry-gdb.py is made of."""
