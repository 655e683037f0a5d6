package main

import (
	"io"
	"net"
	"strings"
	"testing"
)

// Without a terminal the demo ends by itself and says what came of it.
func TestDemoEndsByItself(t *testing.T) {
	if raceDetector {
		t.Skip("too slow under the race detector, which sees every part in tests of its own")
	}
	t.Parallel()
	out, errs := newOutput(), newOutput()
	if code := run(t.Context(), []string{"demo"}, stdio{strings.NewReader(""), out, errs}, noEnv); code != exitOK {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, want := range []string{
		"public page                     http://127.0.0.1:", "\ncomplete: your relay has all ", "on north", "on south", "on flaky",
		", by catching up\n", "\nYour relay has all ", "All relays have stopped",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if strings.ContainsAny(out.String(), "\r\x1b█") {
		t.Error("lines are drawn again where the output is no terminal")
	}
}

func TestDemoStaysUntilInterrupt(t *testing.T) {
	if raceDetector {
		t.Skip("too slow under the race detector, which sees every part in tests of its own")
	}
	t.Parallel()
	r := start(t, "demo", "--stay")
	r.out.await(t, `complete: `)
	r.out.await(t, `on north`)
	if code := r.stop(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(r.out.String(), "data is removed") {
		t.Errorf("it says nothing at its end:\n%s", r.out)
	}
}

func TestDemoTakesNoNonsense(t *testing.T) {
	for _, args := range [][]string{{"demo", "now"}, {"demo", "--once", "--stay"}} {
		if code := run(t.Context(), args, stdio{strings.NewReader(""), io.Discard, io.Discard}, noEnv); code != exitUsage {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

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
