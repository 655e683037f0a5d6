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

	"github.com/graspd/graspd/internal/operate/nip86"
	"github.com/graspd/graspd/internal/protocol/nip11"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip98"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// managed asks a relay at a URL for something of management, by a key, and returns its answer.
func managed(t *testing.T, url string, key nostr.SecretKey, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", nip86.ContentType)
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

// TestTheRelayIsRenamedOverThePublicAddress: name, description and icon are seen at once, also after a restart and a SIGHUP, are in the
// journal and in graspd config; what the settings say counts again once it is changed there, or when it is asked for.
func TestTheRelayIsRenamedOverThePublicAddress(t *testing.T) {
	boss, data := testkit.Key(5), t.TempDir()
	file := written(t, "name = \"Quay\"\n")
	start := func() (us *running, url string, base []string) {
		us = serve(t, "--data", data, "--sync=false", "--config", file, "--admin-listen", "127.0.0.1:0", "--admin-pubkeys", nip19.Npub(boss.PubKey()))
		return us, "http" + strings.TrimPrefix(string(us.url), "ws"), []string{"--admin", us.out.await(t, `at (http://\S+)/status.json\n`)}
	}
	us, url, admin := start()
	document := func() nip11.Document {
		t.Helper()
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
		if err != nil {
			t.Fatal(err)
		}
		d, err := nip11.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	said := func(when, name, description, icon string) {
		t.Helper()
		d := document()
		if d.Name != name || d.Description != description || d.Icon != icon {
			t.Errorf("%s: %q, %q, %q", when, d.Name, d.Description, d.Icon)
		}
		if page := read(t, url+"/"); !strings.Contains(page, name) || !strings.Contains(page, description) {
			t.Errorf("%s: the page says something else", when)
		}
	}
	asked := 0
	change := func(setting, value string) {
		t.Helper()
		asked++ // so that no authorization is used twice
		body := `{"method":"changerelay` + setting + `","params":["` + value + `"]}` + strings.Repeat(" ", asked)
		if code, answer := managed(t, url, boss, body); code != http.StatusOK || answer != `{"result":true}` {
			t.Fatalf("%s: %d %s", body, code, answer)
		}
	}
	const picture = "https://example.org/icon.png"
	usual := document().Description
	said("at first", "Quay", usual, "")
	change("name", "Harbor")
	change("name", "Harbor")
	change("description", "Boats & more")
	change("icon", picture)
	if code, answer := managed(t, url, boss, `{"method":"changerelayicon","params":["javascript:x"]}`); code != http.StatusOK || !strings.Contains(answer, "want a URL") {
		t.Errorf("%d %s", code, answer)
	}
	d := "Boats & more"
	if name := document().Name; name != "Harbor" {
		t.Errorf("changed: %q", name)
	}
	code, out, errs := call(t, "", nil, append([]string{"journal"}, admin...)...)
	if code != exitOK || strings.Count(out, "set") != 3 || !strings.Contains(out, "Harbor") || strings.Count(out, nip19.Npub(boss.PubKey())) != 3 {
		t.Errorf("journal: %d %s%s", code, out, errs)
	}
	inForce := func() string {
		t.Helper()
		code, out, errs := call(t, "", nil, "config", "--config", file, "--admin-pubkeys", nip19.Npub(boss.PubKey()), "--admin-listen", strings.TrimPrefix(admin[1], "http://"))
		if code != exitOK {
			t.Fatalf("config: %d %s", code, errs)
		}
		return out
	}
	if out := inForce(); !strings.Contains(out, "\nname = \"Harbor\"\n") || !strings.Contains(out, "\nicon = \""+picture+"\"\n") || !strings.Contains(out, "Changed by "+nip19.Npub(boss.PubKey())) {
		t.Errorf("config: %s", out)
	}
	if code, out, errs := call(t, "", nil, append([]string{"status"}, admin...)...); code != exitOK || !strings.Contains(out, `name was changed to "Harbor" by npub1`) {
		t.Errorf("status: %d %s%s", code, out, errs)
	}
	hangUp(t)
	us.logs.await(t, "settings reread")
	if name := document().Name; name != "Harbor" {
		t.Errorf("after a SIGHUP: %q", name)
	}
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	if out := inForce(); !strings.Contains(out, "\nname = \"Quay\"\n") || !strings.Contains(out, "no running graspd answers") {
		t.Errorf("config beside no relay: %s", out)
	}

	us, url, admin = start()
	if got := document(); got.Name != "Harbor" || got.Description != d || got.Icon != picture {
		t.Errorf("after a restart: %+v", got)
	}
	change("icon", "")
	if err := os.WriteFile(file, []byte("name = \"Wharf\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangUp(t)
	us.logs.await(t, "the settings say something else now.*setting=name")
	us.logs.await(t, "settings reread")
	if got := document(); got.Name != "Wharf" || got.Description != d || got.Icon != "" {
		t.Errorf("the settings were changed: %+v", got)
	}
	if err := os.WriteFile(file, []byte("name = \"Quay\"\ndescription = \"Boats\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	us, url, admin = start()
	us.logs.await(t, "the settings say something else now.*setting=description")
	said("as the settings say", "Quay", "Boats", "")
	change("name", "Pier")
	change("name", "")
	said("taken back", "Quay", "Boats", "")
	if out := inForce(); strings.Contains(out, "Changed by") {
		t.Errorf("config: %s", out)
	}
	if err := os.WriteFile(file, []byte("name = \"Quay\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code := us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	_, url, _ = start()
	said("as the settings said at first", "Quay", usual, "")
}
