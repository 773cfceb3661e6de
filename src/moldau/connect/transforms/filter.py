"""Filter: drops records. A predicate says which."""

from moldau.connect.data.record import ConnectRecord
from moldau.connect.transforms.base import PACKAGE, Transform

__all__ = ["Filter"]


class Filter(Transform):
    """Drop every record that gets here."""

    java_class = f"{PACKAGE}Filter"

    def apply(self, record: ConnectRecord) -> None:
        return None
