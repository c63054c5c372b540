// SPDX-License-Identifier: BSD-2-Clause
package main

import (
	"encoding/binary"
	"log"
	"net"
	"time"
)

func listen(port string) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

// A goroutine for each connection.
func serve(port string, client func(net.Conn)) {
	listener := listen(port)
	for {
		conn, err := listener.Accept()
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		go client(conn)
	}
}

func quotes(conn net.Conn) {
	defer conn.Close()
	var quote [16]byte
	if _, err := conn.Read(quote[:4]); err != nil {
		return
	}
	number, price := uint32(0), binary.LittleEndian.Uint32(quote[:4])
	due := time.Now()
	for {
		binary.LittleEndian.PutUint32(quote[8:], number)
		binary.LittleEndian.PutUint32(quote[12:], price)
		if _, err := conn.Write(quote[:]); err != nil {
			return
		}
		number++
		price += number%3 - 1
		due = due.Add(time.Second)
		time.Sleep(time.Until(due))
	}
}
