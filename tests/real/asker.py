"""An MCP server on stdio with one tool, `ask`, which asks the user through an elicitation form."""

from __future__ import annotations

import json
import sys
from typing import Any

QUESTION = "Which branch shall I use?"
_SCHEMA = {"type": "object", "properties": {"branch": {"type": "string"}}, "required": ["branch"]}


def _send(**fields: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


def _answer(request: dict[str, Any]) -> None:
    method = request.get("method")
    if method == "initialize":
        version = request["params"]["protocolVersion"]
        server = {"name": "asker", "version": "1"}
        _send(
            id=request["id"],
            result={
                "protocolVersion": version,
                "capabilities": {"tools": {}},
                "serverInfo": server,
            },
        )
    elif method == "tools/list":
        tool = {"name": "ask", "description": "Asks.", "inputSchema": {"type": "object"}}
        _send(id=request["id"], result={"tools": [tool]})
    elif method == "tools/call":
        asked = {"message": QUESTION, "requestedSchema": _SCHEMA}
        _send(id=f"form-{request['id']}", method="elicitation/create", params=asked)
    elif method is None and str(request.get("id", "")).startswith("form-"):
        _, _, call = str(request["id"]).partition("-")
        said = {"type": "text", "text": json.dumps(request.get("result"))}
        _send(id=int(call), result={"content": [said]})
    elif "id" in request:
        _send(id=request["id"], error={"code": -32601, "message": f"no {method}"})


def main() -> None:
    for line in sys.stdin:
        _answer(json.loads(line))


if __name__ == "__main__":
    main()
