"""The tools of this folder: an MCP server over stdio in plain Python. Add a function and its entry in TOOLS."""
import json
import sys


def count(text):
    return f"{len(text.split())} words, {len(text)} characters"


TOOLS = {
    "count": {
        "call": count,
        "description": "Count the words and characters of a text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "the text to count"}},
            "required": ["text"],
        },
        # Changes nothing, so it may be repeated. Without this hint, a call whose outcome is unknown is never made again.
        "annotations": {"readOnlyHint": True},
    },
}


def answer(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "{{.Name}}", "version": "0.1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        described = [{k: v for k, v in tool.items() if k != "call"} for tool in TOOLS.values()]
        return {"tools": [{"name": name, **tool} for name, tool in zip(TOOLS, described)]}
    if method == "tools/call" and params["name"] in TOOLS:
        try:
            text, failed = str(TOOLS[params["name"]]["call"](**params.get("arguments", {}))), False
        except Exception as error:  # the model reads it, and can try again
            text, failed = f"{type(error).__name__}: {error}", True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
    return None


for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue  # a notification needs no answer
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    result = answer(message["method"], message.get("params") or {})
    if result is None:
        reply["error"] = {"code": -32601, "message": "unknown method or tool"}
    else:
        reply["result"] = result
    print(json.dumps(reply), flush=True)
