"""The JSON Schema of the configuration: `python -m heartbeat.config.schema > config/config.schema.json`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from heartbeat.config.settings import ConfigFile
from heartbeat.durations import show_duration


class _Generator(GenerateJsonSchema):
    """Durations as people write them, and no null: TOML has none, a key is simply left out."""

    def encode_default(self, dft: Any) -> Any:
        return show_duration(dft) if isinstance(dft, timedelta) else super().encode_default(dft)

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        made = super().default_schema(schema)
        return {key: value for key, value in made.items() if (key, value) != ("default", None)}

    def dict_schema(self, schema: core_schema.DictSchema) -> JsonSchemaValue:
        """A table whose keys have a form has no others."""
        made = super().dict_schema(schema)
        return made | ({"additionalProperties": False} if "patternProperties" in made else {})

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - an overridden method
        return False


def schema() -> dict[str, Any]:
    made = ConfigFile.model_json_schema(schema_generator=_Generator)
    return {"$schema": _Generator.schema_dialect, **made, "title": "heartbeat"}


if __name__ == "__main__":
    print(json.dumps(schema(), indent=2))
