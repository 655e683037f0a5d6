"""Serves the repositories of a directory by dulwich on loopback: dulwich_server.py DIRECTORY; the first line printed is the URL."""

import os
import sys
from wsgiref.simple_server import WSGIRequestHandler, make_server

from dulwich.server import FileSystemBackend
from dulwich.web import make_wsgi_chain


class Quiet(WSGIRequestHandler):
    def log_message(self, *arguments):
        pass


class Below(FileSystemBackend):
    """Paths of requests begin with a slash, and are below the directory."""

    def open_repository(self, path):
        return super().open_repository(os.fsdecode(path).lstrip("/"))


server = make_server("127.0.0.1", 0, make_wsgi_chain(Below(sys.argv[1])), handler_class=Quiet)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
