"""A small TCP proxy between a machine and its ledger, which a test can make swallow everything."""

from __future__ import annotations

import selectors
import socket
import threading


class Proxy:
    """Hands bytes on in both directions. While it is a black hole nothing passes, and nobody is told."""

    def __init__(self, port: int, *, host: str = "127.0.0.1") -> None:
        self._target = port
        self._listening = socket.create_server((host, 0))
        self._listening.setblocking(False)
        self.host = host
        self.port: int = self._listening.getsockname()[1]
        self._passes = threading.Event()
        self._passes.set()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Swallow everything from now on, and take new connections without ever answering."""
        self._passes.clear()

    def heal(self) -> None:
        """Let bytes pass again, those that waited too."""
        self._passes.set()

    def close(self) -> None:
        self._is_closed = True
        self._passes.set()
        self._thread.join(5.0)

    def _run(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listening, selectors.EVENT_READ)
            while not self._is_closed:
                if not self._passes.wait(0.05):
                    continue
                for key, _ in selector.select(0.05):
                    if key.fileobj is self._listening:
                        self._accept(selector)
                    elif self._passes.is_set():
                        self._hand_on(selector, key)
            for key in list(selector.get_map().values()):
                assert isinstance(key.fileobj, socket.socket)
                key.fileobj.close()

    def _accept(self, selector: selectors.BaseSelector) -> None:
        client, _ = self._listening.accept()
        try:
            server = socket.create_connection(("127.0.0.1", self._target))
        except OSError:  # the server is down
            client.close()
            return
        selector.register(client, selectors.EVENT_READ, server)
        selector.register(server, selectors.EVENT_READ, client)

    def _hand_on(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        source, sink = key.fileobj, key.data
        assert isinstance(source, socket.socket)
        if source.fileno() < 0:
            return  # its other end was closed a moment ago
        try:
            piece = source.recv(65_536)
            if piece:
                sink.sendall(piece)
                return
        except OSError:
            pass
        for each in (source, sink):
            if each.fileno() >= 0:
                selector.unregister(each)
                each.close()
