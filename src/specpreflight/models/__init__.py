"""The words of the project as types: checkpoint, launch, resolved launch, finding, report.

Frozen standard dataclasses, so that a check imports no validation library; `models/schema.py`
derives the published JSON Schema from them with pydantic, and reads reports back.
"""
