package node_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"graspd/internal/node"
)

// TestARequestUnderWayIsAnswered: what has begun when the node stops is answered before the node is gone.
func TestARequestUnderWayIsAnswered(t *testing.T) {
	n, err := node.New(t.Context(), node.Config{Dir: t.TempDir(), Service: service(t)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx, node.Listeners{Public: l}) }()
	dial := func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
	c, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n"); err != nil {
		t.Fatal(err)
	}
	// Another request is answered, so the first connection was accepted.
	if r, err := http.Get("http://" + l.Addr().String()); err != nil {
		t.Fatal(err)
	} else {
		r.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	stop()
	for {
		late, err := dial()
		if err != nil {
			break
		}
		late.Close()
	}
	if _, err := io.WriteString(c, "\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if err := errors.Join(<-ended, n.Close()); err != nil {
		t.Error(err)
	}
}
