"""JSON documents whose every value has a place, and edits that keep all other bytes."""

from specpreflight.documents.document import Document, Place, read_document

__all__ = ["Document", "Place", "read_document"]
