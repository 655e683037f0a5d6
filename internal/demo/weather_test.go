package demo

import (
	"io"
	"net"
	"strings"
	"testing"
)

// The flaky relay does what it is told to, to WebSockets alone.
func TestWeather(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &weather{Listener: l}
	defer w.Close()
	w.expect(fate{status: "429 Too Many Requests"}, fate{after: 10})
	const upgrade, plain = "GET / HTTP/1.1\r\nUpgrade: WebSocket\r\n\r\n", "GET / HTTP/1.1\r\n\r\n"
	talk := func(request string) (answer string, cut bool) {
		client, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		server, err := w.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		if _, err := io.WriteString(client, request); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, 1000)); err == nil {
			_, _ = io.WriteString(server, "12345678") // what comes of it is seen by the client
			n, _ := io.WriteString(server, "90ab")
			cut = n == 0
		}
		server.Close()
		b, _ := io.ReadAll(client) // it may have been reset
		return string(b), cut
	}
	for i, c := range []struct {
		request, answer string
		cut             bool
	}{
		{plain, "1234567890ab", false}, {upgrade, "HTTP/1.1 429 Too Many Requests\r\n", false}, {upgrade, "12345678", true}, {upgrade, "1234567890ab", false},
	} {
		if answer, cut := talk(c.request); cut != c.cut || !strings.HasPrefix(answer, c.answer) {
			t.Errorf("%d: %q, cut %v", i, answer, cut)
		}
	}
}
