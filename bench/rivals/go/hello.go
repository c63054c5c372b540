// SPDX-License-Identifier: BSD-2-Clause
package main

import (
	"io"
	"log"
	"net"
	"net/http"
	"strings"
)

const (
	hello         = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 13\r\n\r\nHello, world!"
	mostPipelined = 64
)

var hellos = []byte(strings.Repeat(hello, mostPipelined))

// How many requests without a body end in these bytes? seen: how much of the blank line that ends one came before.
func requestsIn(bytes []byte, seen *int) int {
	found, s := 0, *seen
	for _, b := range bytes {
		if b == '\r' {
			if s == 2 {
				s = 3
			} else {
				s = 1
			}
		} else if b == '\n' && s&1 == 1 {
			if s == 3 {
				found++
			}
			s = (s + 1) & 3
		} else {
			s = 0
		}
	}
	*seen = s
	return found
}

func serveHello(conn net.Conn) {
	defer conn.Close()
	var buffer [1024]byte
	seen := 0
	for {
		n, err := conn.Read(buffer[:])
		if err != nil {
			return
		}
		requests := requestsIn(buffer[:n], &seen)
		if requests == 0 {
			continue
		}
		if requests > mostPipelined {
			return
		}
		if _, err := conn.Write(hellos[:requests*len(hello)]); err != nil {
			return
		}
	}
}

func serveEcho(conn net.Conn) {
	defer conn.Close()
	var buffer [1024]byte
	for {
		n, err := conn.Read(buffer[:])
		if err != nil {
			return
		}
		if _, err := conn.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// The standard library's server, which does far more than the others here.
func netHTTP(port string) {
	log.Fatal(http.Serve(listen(port), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "Hello, world!")
	})))
}
