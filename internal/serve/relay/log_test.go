package relay_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/serve/relay"
	"github.com/graspd/graspd/internal/test/testkit"
)

// lockedBuffer is written by many.
type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

// TestLogsHoldNoContent: whatever strangers send, accepted or not, none of it is in the log; what they say when they leave, or
// call themselves, is cut and escaped.
func TestLogsHoldNoContent(t *testing.T) {
	const secret = "HUSH"
	var text, machine lockedBuffer
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	for name, logger := range map[string]*slog.Logger{
		"text": slog.New(slog.NewTextHandler(&text, level)), "json": slog.New(slog.NewJSONHandler(&machine, level)),
	} {
		t.Run(name, func(t *testing.T) {
			inWorldOf(t, relay.Config{Logger: logger}, func(t *testing.T, w *world) {
				w.put(t, announcement())
				from := "198.51.100.1:1"
				c := w.dialFrom(t, from)
				defer c.close()
				taken := testkit.Sign(testkit.Key(1), time.Now().Unix(), nip34.KindIssue, secret, nostr.Tag{"a", repository()}, nostr.Tag{"t", secret})
				if ok := c.publish(t, taken); !ok.OK {
					t.Fatal(ok)
				}
				c.publish(t, testkit.Sign(testkit.Key(1), time.Now().Unix(), nostr.KindNote, secret))
				forged := taken.Clone()
				forged.Content += secret
				c.publish(t, forged)
				for _, frame := range []string{secret, `["` + secret + `"]`, `["REQ","` + secret + `",{"#t":["` + secret + `"]}]`, `["AUTH",` + string(taken.AppendJSON(nil)) + `]`,
					`["COUNT","` + secret + `",{"search":"` + secret + `"}]`, `["NEG-OPEN","` + secret + `",{},"` + secret + `"]`} {
					c.send(t, frame)
					c.read(t)
				}
				c.conn.Close(websocket.StatusCode(4000), "bye\n\x1b[2J\"'"+strings.Repeat("x", 110))
				w.get(t, "GET", "/"+secret, http.Header{"User-Agent": {secret}, "Referer": {secret}, "Accept": {secret}})
				raw, err := w.net.dial(context.Background(), from)
				if err != nil {
					t.Fatal(err)
				}
				io.WriteString(raw, "GET / HTTP/1.1\r\n"+secret+"\x1b[2J\r\n\r\n")
				io.ReadAll(raw)
				raw.Close()
				time.Sleep(time.Minute)
			})
		})
	}
	for name, log := range map[string]string{"text": text.String(), "json": machine.String()} {
		if !strings.Contains(log, "client gone") {
			t.Fatalf("%s: nothing is logged:\n%s", name, log)
		}
		if strings.Contains(log, secret) {
			t.Errorf("%s: the log tells:\n%s", name, log)
		}
		for line := range strings.Lines(log) {
			if len(line) > 500 || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("%s: a line of %d bytes: %q", name, len(line), line)
			}
		}
	}
	for line := range strings.Lines(machine.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Errorf("%v: %s", err, line)
		}
		for key, value := range fields {
			if s, ok := value.(string); ok && len(s) > 300 {
				t.Errorf("%s has %d bytes", key, len(s))
			}
		}
	}
}
