"""The SCons tool: builders, emitters, link hooks. Nothing here imports TVM; see `tool.generate`."""
