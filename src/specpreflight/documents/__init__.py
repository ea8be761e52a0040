"""JSON documents whose every value has a place, and edits that keep all other bytes."""

from specpreflight.documents.document import Document, Place
from specpreflight.documents.locate import missing_config, read_config
from specpreflight.documents.read import parse_document, read_document

__all__ = [
    "Document",
    "Place",
    "missing_config",
    "parse_document",
    "read_config",
    "read_document",
]
