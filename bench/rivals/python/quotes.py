# SPDX-License-Identifier: BSD-2-Clause
"""The quote server on asyncio, with protocols, which cost less than streams: quotes.py PORT [--uvloop]"""
import asyncio
import gc
import struct
import sys

QUOTE = struct.Struct('<QII')


class Client(asyncio.Protocol):
    __slots__ = ('loop', 'transport', 'due', 'number', 'price', 'timer')

    def connection_made(self, transport):
        self.loop = asyncio.get_running_loop()
        self.transport, self.timer, self.number = transport, None, 0

    def data_received(self, data):
        self.price = int.from_bytes(data[:4], 'little')
        self.due = self.loop.time()
        self.send()

    def send(self):
        self.transport.write(QUOTE.pack(int(self.due * 1e9), self.number, self.price & 0xffffffff))
        self.due += 1
        self.number += 1
        self.price += self.number % 3 - 1
        self.timer = self.loop.call_at(self.due, self.send)

    def connection_lost(self, _):
        if self.timer:
            self.timer.cancel()


async def main():
    server = await asyncio.get_running_loop().create_server(Client, '127.0.0.1', int(sys.argv[1]), backlog=4096)
    await server.serve_forever()


gc.freeze()
if '--uvloop' in sys.argv:
    import uvloop
    uvloop.install()
asyncio.run(main())
