"""gateway.py - a server in front of an engine that hides its list of models.

The models list is where an engine tells its limit. Behind this nobody knows it, so that a prompt
that is too long is really sent. Everything else passes through unseen.
"""

from __future__ import annotations

import socket
import socketserver
import threading

HIDDEN = b"GET /v1/models "
NOT_FOUND = (
    b"HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\nContent-Type: application/json\r\n"
    b'Connection: close\r\n\r\n{"detail":"Not Found"}'
)
PIECE = 1 << 16


def _pass_on(source: socket.socket, to: socket.socket) -> None:
    """Until the source ends, or either side is gone; then the other side hears of the end."""
    try:
        while piece := source.recv(PIECE):
            to.sendall(piece)
    except OSError:
        pass
    finally:
        for sock in (source, to):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class _Handler(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        gateway = self.server
        assert isinstance(gateway, Gateway)
        if self.request.recv(len(HIDDEN), socket.MSG_PEEK | socket.MSG_WAITALL) == HIDDEN:
            self.request.recv(PIECE)
            self.request.sendall(NOT_FOUND)
            return
        with socket.create_connection(("127.0.0.1", gateway.port_behind)) as behind:
            back = threading.Thread(target=_pass_on, args=(behind, self.request), daemon=True)
            back.start()
            _pass_on(self.request, behind)
            back.join()


class Gateway(socketserver.ThreadingTCPServer):
    """Serves from a thread of its own while `with` lasts."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, port_behind: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port_behind = port_behind
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def server_close(self) -> None:
        self.shutdown()
        super().server_close()
