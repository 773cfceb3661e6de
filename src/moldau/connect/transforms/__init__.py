"""Transforms: small changes to each record between a connector and a topic, and the predicates that
choose which records they change. The stock ones behave as Apache Kafka's, and have its class names.
"""

from moldau.connect.transforms.base import Predicate, Transform
from moldau.connect.transforms.chain import Chain, Stage, build

__all__ = ["Chain", "Predicate", "Stage", "Transform", "build"]
