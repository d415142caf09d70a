"""A loopback service that keeps what an AWS SDK sends, and answers just enough of it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Request(NamedTuple):
    """One request: ``operation`` is CreateTrainingJob and the like, or the HTTP method for S3."""

    operation: str
    path: str
    body: bytes


class Recorder:
    """Takes the requests of any AWS client whose endpoint is :attr:`url`.

    CreateTrainingJob is answered with a name's ARN, DescribeTrainingJob with a job that runs at
    the first question and has completed at the second, everything else with an empty success.
    """

    def __init__(self) -> None:
        self.clear()
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                operation = self.headers.get("X-Amz-Target", "").rpartition(".")[2]
                recorder.requests.append(Request(operation or self.command, self.path, body))
                text = json.dumps(recorder.reply(operation, body)).encode() if operation else b""
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                pass

        for method in ("GET", "HEAD", "POST", "PUT"):
            setattr(Handler, f"do_{method}", Handler.answer)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Recorder:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def clear(self) -> None:
        """Forget what was sent."""
        self.requests: list[Request] = []
        self.described = 0

    def reply(self, operation: str, body: bytes) -> dict[str, Any]:
        asked = json.loads(body or b"{}")
        if operation == "CreateTrainingJob":
            name = asked["TrainingJobName"]
            return {
                "TrainingJobArn": f"arn:aws:sagemaker:us-east-1:111122223333:training-job/{name}"
            }
        if operation == "DescribeTrainingJob":
            self.described += 1
            ended = self.described > 1
            return {
                "TrainingJobName": asked["TrainingJobName"],
                "TrainingJobStatus": "Completed" if ended else "InProgress",
                "SecondaryStatus": "Completed" if ended else "Training",
                "CreationTime": 1700000000,
                "ModelArtifacts": {"S3ModelArtifacts": "s3://my-bucket/model.tar.gz"},
            }
        return {}

    def sent(self, operation: str) -> list[Any]:
        """The bodies of one operation's requests, parsed."""
        return [json.loads(one.body) for one in self.requests if one.operation == operation]
