package relay_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// raw is a client that writes its own frames, so that it can leave them unfinished.
type raw struct {
	net.Conn
	in *bufio.Reader
}

// dialRaw connects and shakes hands. What is early goes out with the request for the handshake.
func (w *world) dialRaw(t *testing.T, addr string, early ...byte) *raw {
	t.Helper()
	conn, err := w.net.dial(context.Background(), addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return upgrade(t, conn, early...)
}

func upgrade(t *testing.T, conn net.Conn, early ...byte) *raw {
	t.Helper()
	io.WriteString(conn, "GET / HTTP/1.1\r\nHost: "+domain+"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"+string(early))
	r := &raw{conn, bufio.NewReader(conn)}
	resp, err := http.ReadResponse(r.in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("handshake: %v, %v", resp, err)
	}
	return r
}

// Operations of frames (RFC 6455, 5.2).
const (
	opMore  = 0x0
	opText  = 0x1
	opClose = 0x8
	opPing  = 0x9
	opPong  = 0xa
)

// frame is a client's frame, the mask of which changes nothing.
func frame(fin bool, op byte, payload string) []byte {
	if fin {
		op |= 0x80
	}
	b := []byte{op}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// half is the beginning of a message of one frame, of which so many bytes are missing.
func half(begun string, missing int) []byte {
	whole := frame(true, opText, begun+strings.Repeat(" ", missing))
	return whole[:len(whole)-missing]
}

// read gives the next frame that is no ping, with the code of a close frame.
func (r *raw) read(t *testing.T) (payload string, closed int) {
	t.Helper()
	for {
		var head [2]byte
		if _, err := io.ReadFull(r.in, head[:]); err != nil {
			return "", -1
		}
		n := uint64(head[1])
		switch n {
		case 126:
			var b [2]byte
			io.ReadFull(r.in, b[:])
			n = uint64(binary.BigEndian.Uint16(b[:]))
		case 127:
			var b [8]byte
			io.ReadFull(r.in, b[:])
			n = binary.BigEndian.Uint64(b[:])
		}
		p := make([]byte, n)
		if _, err := io.ReadFull(r.in, p); err != nil {
			return "", -1
		}
		switch head[0] & 0xf {
		case opPing:
		case opClose:
			return string(p[2:]), int(binary.BigEndian.Uint16(p))
		default:
			return string(p), 0
		}
	}
}
