"""What SGLang's `ServerArgs` makes of a command line, release by release.

Restated from `srt/server_args.py` and, from 0.5.13 on, `srt/arg_groups/*.py` of all releases from
0.4.6.post5 to 0.5.23. `resolve_server_args` runs the steps in the order of the release; each
step lives in the file of its idea.
"""
