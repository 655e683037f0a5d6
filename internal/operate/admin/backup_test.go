package admin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/against"
	"github.com/graspd/graspd/internal/operate/backup"
	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/protocol/grasp"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/status"
	"github.com/graspd/graspd/internal/test/testkit"
)

// TestBackupIsForWhoeverHoldsTheKey: the authorization (NIP-98) is by the relay's own key, for this request, and of now.
func TestBackupIsForWhoeverHoldsTheKey(t *testing.T) {
	own, other := testkit.Key(1), testkit.Key(2)
	const dir = `{"dir":"/backups/a"}`
	as := func(key nostr.SecretKey, change func(*nostr.Event)) func(*nostr.Event) error {
		return func(e *nostr.Event) error {
			change(e)
			return key.Sign(e, [32]byte{})
		}
	}
	none := func(*nostr.Event) {}
	for _, tt := range []struct {
		name   string
		body   string // as it is sent
		signed string // as it was signed
		url    string // as it was signed
		method string // as it was signed
		age    time.Duration
		sign   func(*nostr.Event) error
		code   int
	}{
		{name: "right", sign: as(own, none), code: 200},
		{name: "a minute ago", sign: as(own, none), age: 55 * time.Second, code: 200},
		{name: "long ago", sign: as(own, none), age: 65 * time.Second, code: 401},
		{name: "of the future", sign: as(own, none), age: -65 * time.Second, code: 401},
		{name: "somebody else", sign: as(other, none), code: 401},
		{name: "another kind", sign: as(own, func(e *nostr.Event) { e.Kind = 1 }), code: 401},
		{name: "not signed", sign: func(e *nostr.Event) error {
			err := own.Sign(e, [32]byte{})
			e.Sig[10] ^= 1
			return err
		}, code: 401},
		{name: "another host", sign: as(own, none), url: "http://127.0.0.2:7335/backup", code: 401},
		{name: "another path", sign: as(own, none), url: "http://127.0.0.1:7335/retry", code: 401},
		{name: "another method", sign: as(own, none), method: "GET", code: 401},
		{name: "another body", sign: as(own, none), signed: `{"dir":"/backups/b"}`, code: 401},
		{name: "no payload", sign: as(own, func(e *nostr.Event) { e.Tags = e.Tags[:2] }), code: 401},
		{name: "a relative path", sign: as(own, none), body: `{"dir":"backups/a"}`, code: 400},
		{name: "no JSON", sign: as(own, none), body: `dir`, code: 400},
		{name: "without end", sign: as(own, none), body: dir + strings.Repeat(" ", 33<<10), code: 400},
		{name: "it is there", sign: as(own, none), body: `{"dir":"/backups/there"}`, code: 409},
		{name: "a second one", sign: as(own, none), body: `{"dir":"/backups/running"}`, code: 409},
		{name: "it fails", sign: as(own, none), body: `{"dir":"/backups/fails"}`, code: 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			made := ""
			c := here
			c.Self = own.PubKey()
			c.Node = whole{backup: func(dir string) error {
				switch {
				case strings.HasSuffix(dir, "there"):
					return fmt.Errorf("make %s: %w", dir, fs.ErrExist)
				case strings.HasSuffix(dir, "running"):
					return backup.ErrRunning
				case strings.HasSuffix(dir, "fails"):
					return fmt.Errorf("no")
				}
				made = dir
				return nil
			}}
			or := func(a, b string) string {
				if a != "" {
					return a
				}
				return b
			}
			body := or(tt.body, dir)
			signed := httptest.NewRequestWithContext(t.Context(), or(tt.method, "POST"), or(tt.url, "http://127.0.0.1:7335/backup"), nil)
			if err := admin.Authorize(signed, []byte(or(tt.signed, body)), time.Now().Add(-tt.age), tt.sign); err != nil {
				t.Fatal(err)
			}
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:7335/backup", bytes.NewReader([]byte(body)))
			r.Header.Set("Authorization", signed.Header.Get("Authorization"))
			w := httptest.NewRecorder()
			admin.New(c).ServeHTTP(w, r)
			if w.Code != tt.code || (made == "/backups/a") != (tt.code == 200) {
				t.Errorf("%d %q, made %q", w.Code, w.Body, made)
			}
		})
	}
	for _, text := range []string{"", "Basic YTpi", "Nostr !", "Nostr e30="} {
		c := here
		c.Self, c.Node = own.PubKey(), whole{backup: func(string) error { t.Error("made"); return nil }}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1:7335/backup", strings.NewReader(dir))
		r.Header.Set("Authorization", text)
		w := httptest.NewRecorder()
		if admin.New(c).ServeHTTP(w, r); w.Code != 401 {
			t.Errorf("%q: %d", text, w.Code)
		}
	}
}

// whole is a relay as a whole, which makes backups in directories alone.
type whole struct {
	filled  *status.Readiness
	backup  func(dir string) error
	nothing *status.Nothing
}

func (w whole) Backup(dir string) error                  { return w.backup(dir) }
func (whole) Stream(context.Context, backup.Start) error { return errors.New("not here") }
func (w whole) Nothing() *status.Nothing                 { return w.nothing }
func (w whole) Filled() *status.Readiness                { return w.filled }
func (w whole) Against(context.Context, grasp.RelayURL) (against.Report, error) {
	return against.Report{}, nil
}
func (whole) Changes() []nip86.Change { return nil }
