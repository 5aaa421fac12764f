"""The control API as its OpenAPI file describes it, asked on a unix socket; what does not fit the file is a failure."""

import http.client
import json
import socket
from pathlib import Path

import jsonschema
import yaml

LIMIT_SECONDS = 20


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path):
        super().__init__("edge", timeout=LIMIT_SECONDS)
        self._path = str(path)

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class ControlApi:
    """Asks, and checks each answer against the file. `seen` gathers what was answered: (path, method, status)."""

    def __init__(self, document: Path, control_socket: Path):
        self.document = yaml.safe_load(document.read_text(encoding="utf-8"))
        self.socket = control_socket
        self.seen: set[tuple[str, str, str]] = set()

    def declared(self) -> set[tuple[str, str, str]]:
        return {(path, method, status) for path, item in self.document["paths"].items()
                for method, operation in self._operations(item).items() for status in operation["responses"]}

    @staticmethod
    def _operations(item: dict) -> dict:
        return {name: value for name, value in item.items() if name in ("get", "put", "post", "delete", "patch", "head")}

    def allowed(self, path: str) -> set[str]:
        return {method.upper() for method in self._operations(self.document["paths"][path])}

    def _resolve(self, value: dict) -> dict:
        while "$ref" in value:
            target = self.document
            for step in value["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            value = target
        return value

    def check_document(self) -> None:
        """Every schema is one, and every reference leads somewhere."""
        for name, schema in self.document["components"]["schemas"].items():
            jsonschema.Draft202012Validator.check_schema(schema)
            assert schema.get("type") in ("object", "array"), name
        for path, item in self.document["paths"].items():
            for method, operation in self._operations(item).items():
                assert operation["operationId"] and operation["summary"], (path, method)
                for response in operation["responses"].values():
                    assert self._resolve(response)["description"], (path, method)

    def validate(self, schema: dict, value) -> None:
        resolver = jsonschema.RefResolver.from_schema(self.document)
        jsonschema.Draft202012Validator(schema, resolver=resolver).validate(value)

    def schema(self, name: str) -> dict:
        return {"$ref": f"#/components/schemas/{name}"}

    def exchange(self, method: str, target: str, body: str | None = None, content_type: str | None = "application/json"):
        connection = UnixConnection(self.socket)
        try:
            headers = {"Content-Type": content_type} if body is not None and content_type else {}
            connection.request(method, target, body=body, headers=headers)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def ask(self, method: str, path: str, expect: int, target: str | None = None, body: str | None = None,
            content_type: str | None = "application/json"):
        """`path` as the file spells it, `target` with its host filled in. The answer's value: JSON or text."""
        response, content = self.exchange(method, target or path, body, content_type)
        assert response.status == expect, (method, target or path, response.status, content[:500])
        declared = self._operations(self.document["paths"][path])
        # Another method than there is gets what any of the methods declares for it.
        operation = declared.get(method.lower()) or next(iter(declared.values()))
        described = self._resolve(operation["responses"][str(expect)])
        self.seen.add((path, method.lower() if method.lower() in declared else next(iter(declared)), str(expect)))
        assert response.headers["Cache-Control"] == "no-store"
        if "content" not in described:
            assert content == b"", content
            return None
        kind = response.headers["Content-Type"].split(";")[0]
        assert kind in described["content"], (kind, list(described["content"]))
        value = json.loads(content) if kind.endswith("json") else content.decode()
        self.validate(described["content"][kind]["schema"], value)
        if kind == "application/problem+json":
            assert value["status"] == expect, value
        if expect == 405:
            assert set(response.headers["Allow"].split(", ")) == self.allowed(path), response.headers["Allow"]
        return value
