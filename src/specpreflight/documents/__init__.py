"""JSON documents whose every value has a place, and edits that keep all other bytes."""

from specpreflight.documents.document import Document, Hidden, Place
from specpreflight.documents.locate import missing_config, read_config
from specpreflight.documents.read import parse_document, read_document, refuse_byte_order_mark

__all__ = [
    "Document",
    "Hidden",
    "Place",
    "missing_config",
    "parse_document",
    "read_config",
    "read_document",
    "refuse_byte_order_mark",
]
