package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/manage"
	"github.com/graspd/graspd/internal/nip11"
	"github.com/graspd/graspd/internal/nip19"
	"github.com/graspd/graspd/internal/nip98"
	"github.com/graspd/graspd/internal/nostr"
	"github.com/graspd/graspd/internal/testkit"
)

// managed asks a relay at a URL for something of management, by a key, and returns its answer.
func managed(t *testing.T, url string, key nostr.SecretKey, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", manage.ContentType)
	h, err := nip98.Sign(r.Method, url, []byte(body), time.Now(), func(e *nostr.Event) error {
		*e = *testkit.Sign(key, e.CreatedAt, e.Kind, e.Content, e.Tags...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", h)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.StatusCode, strings.TrimSpace(string(b))
}

// TestAnAuthorIsBannedOverThePublicAddress: their repository leaves the page, queries and git at once, comes back when that is taken
// back, and the journal says who decided. Nobody else may, and where nobody is named nothing of it answers.
func TestAnAuthorIsBannedOverThePublicAddress(t *testing.T) {
	t.Parallel()
	boss, stranger := testkit.Key(5), testkit.Key(6)
	h := hostOne(t)
	host := strings.TrimPrefix(string(h.us.url), "ws://")
	url := "http://" + host
	owner := nip19.Npub(testkit.Key(1).PubKey())
	ban := `{"method":"banpubkey","params":["` + testkit.Key(1).PubKey().String() + `","spam"]}`
	if code, _ := managed(t, url, boss, ban); code != http.StatusMethodNotAllowed {
		t.Errorf("without --admin-pubkeys: %d", code)
	}
	if code := statusOf(t, http.MethodGet, url+"/operator/"); code != http.StatusNotFound {
		t.Errorf("the operator's page without --admin-pubkeys: %d", code)
	}
	if code := h.us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	h.us = serve(t, "--git", "--data", h.data, "--sync=false", "--listen", host, "--admin-listen", "127.0.0.1:0", "--admin-pubkeys", nip19.Npub(boss.PubKey()))
	h.base = h.us.out.await(t, `at (http://\S+)/status.json\n`)
	if code := statusOf(t, http.MethodGet, url+"/operator/"); code != http.StatusUnauthorized {
		t.Errorf("the operator's page for a stranger: %d", code)
	}
	here := func(want bool) {
		t.Helper()
		if n := dial(t, h.us.url).count(nostr.Filter{}); (n > 0) != want {
			t.Errorf("%d events", n)
		}
		if listed := strings.Contains(read(t, url+"/"), owner); listed != want {
			t.Errorf("on the page: %v", listed)
		}
		code := statusOf(t, http.MethodGet, h.url+"/info/refs?service=git-upload-pack")
		if (code == http.StatusOK) != want {
			t.Errorf("git: %d", code)
		}
	}
	here(true)
	if code, body := managed(t, url, stranger, ban); code != http.StatusUnauthorized || !strings.HasPrefix(body, `{"error":`) {
		t.Errorf("a stranger: %d %s", code, body)
	}
	here(true)
	for _, x := range []struct {
		body string
		here bool
	}{{ban, false}, {strings.Replace(ban, "banpubkey", "unbanpubkey", 1), true}} {
		if code, body := managed(t, url, boss, x.body); code != http.StatusOK || body != `{"result":true}` {
			t.Fatalf("%s: %d %s", x.body, code, body)
		}
		here(x.here)
	}
	if code, out, errs := call(t, "", nil, "journal", "--admin", h.base); code != exitOK || strings.Count(out, nip19.Npub(boss.PubKey())) != 2 {
		t.Errorf("journal: %d %s%s", code, out, errs)
	}
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", nip11.ContentType)
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Body.Close()
	b, err := io.ReadAll(w.Body)
	if d, bad := nip11.Parse(b); err != nil || bad != nil || !slices.Contains(d.SupportedNIPs, 86) {
		t.Errorf("the information document does not name NIP-86: %v %v", err, bad)
	}
}

// TestAdminPubKeysAreRead: from the flag and from a file, each key once; what is no key is told before anything starts.
func TestAdminPubKeysAreRead(t *testing.T) {
	one, two := testkit.Key(1).PubKey(), testkit.Key(2).PubKey()
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(nip19.Npub(one)+" # again\n"+two.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := Config{AdminPubKeys: []string{one.String(), "@" + file}}
	if keys, problems := c.admins(); !slices.Equal(keys, []nostr.PubKey{one, two}) || len(problems) > 0 {
		t.Errorf("%v %q", keys, problems)
	}
	if code, _, errs := call(t, "", nil, "serve", "--data", t.TempDir(), "--admin-pubkeys", "nobody"); code != exitUsage || !strings.Contains(errs, "--admin-pubkeys") {
		t.Errorf("no key: %d %s", code, errs)
	}
}
