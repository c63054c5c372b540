// SPDX-License-Identifier: BSD-2-Clause
// The quote server in Node: node quotes.js PORT
'use strict';
const net = require('net');

const server = net.createServer({ noDelay: true }, (socket) => {
  const quote = Buffer.alloc(16);
  let number = 0, price = 0, timer = null;
  const send = () => {
    quote.writeUInt32LE(number, 8);
    quote.writeUInt32LE(price >>> 0, 12);
    socket.write(quote);
    number++;
    price += (number % 3) - 1;
  };
  socket.once('data', (subscription) => {
    price = subscription.readUInt32LE(0);
    send();
    timer = setInterval(send, 1000);
  });
  socket.on('error', () => {});
  socket.on('close', () => clearInterval(timer));
});
server.listen({ host: '127.0.0.1', port: Number(process.argv[2]), backlog: 4096 });
