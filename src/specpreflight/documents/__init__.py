"""JSON documents whose every value has a place, and edits that keep all other bytes."""

from specpreflight.documents.document import Document, Hidden, Place
from specpreflight.documents.missing import missing_config
from specpreflight.documents.read import parse_document, read_document, refuse_byte_order_mark

__all__ = [
    "Document",
    "Hidden",
    "Place",
    "missing_config",
    "parse_document",
    "read_document",
    "refuse_byte_order_mark",
]
