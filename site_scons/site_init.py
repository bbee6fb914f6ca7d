"""Makes the tool of this checkout loadable as tools=['default', 'tvm_tool'], without installing it.

The checkout itself becomes a tool path. A shim in site_tools would take the package's place in
sys.modules.
"""

import os

import SCons.Tool

SCons.Tool.DefaultToolpath.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
