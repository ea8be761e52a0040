"""What the engines' logs say: which launch they tell of, and what became of it.

Templates, failure shapes and releases are restated from the logging calls of the wheels
(`sglang` 0.4.6.post5 to 0.5.23, `vllm` 0.8.5 to 0.33.0); each table names them.
"""
