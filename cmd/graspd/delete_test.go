package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/graspd/graspd/internal/node"
	"github.com/graspd/graspd/internal/operate/admin"
	"github.com/graspd/graspd/internal/operate/moderation"
	"github.com/graspd/graspd/internal/protocol/nip19"
	"github.com/graspd/graspd/internal/protocol/nip34"
	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// count asks a relay for events and counts what it gives.
func (c *client) count(f nostr.Filter) (n int) {
	c.t.Helper()
	c.send(nostr.AppendReq(nil, "count", f))
	for {
		switch c.next().(type) {
		case nostr.RelayEvent:
			n++
		case nostr.EOSE:
			return n
		}
	}
}

// TestARepositoryIsDeletedAndRestored: a dry run changes nothing; then the events and the git data are gone, over a restart too, and
// kept in a backup; then all of it is back. The journal says who and why, and the data is sound throughout.
func TestARepositoryIsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	h := hostOne(t)
	host := strings.TrimPrefix(string(h.us.url), "ws://")
	owner, bob := testkit.Key(1), testkit.Key(2)
	address := "30617:" + owner.PubKey().String() + ":tool"
	c := dial(t, h.us.url)
	c.publish(testkit.Sign(bob, time.Now().Unix(), nip34.KindIssue, "spam", nostr.Tag{"a", address}))
	data := h.data
	graspd := func(want string, args ...string) string {
		t.Helper()
		code, out, errs := call(t, "", map[string]string{"GRASPD_DATA": data}, append(args, "--admin", h.base)...)
		if code != exitOK || !strings.Contains(out, want) {
			t.Fatalf("%v: %d %s%s", args, code, out, errs)
		}
		return out
	}
	out := graspd("nothing has changed; add --yes", "delete", "--repository", address)
	for _, s := range []string{"1  announcement of a repository (kind 30617)\n", "1  state of a repository (kind 30618)\n", "1  issue (kind 1621)\n", "events that would go: 3 (", "repositories that would go: 1 (", "repository " + address + " (a tool)\n"} {
		if !strings.Contains(out, s) {
			t.Errorf("the dry run lacks %q:\n%s", s, out)
		}
	}
	if strings.Contains(out, "(0 KiB of git data)") {
		t.Errorf("the dry run counts no git data:\n%s", out)
	}
	npub := nip19.Npub(owner.PubKey())
	graspd("author "+npub+"\n", "delete", "--author", npub)
	graspd("\n           "+npub+"/tool\n", "delete", "--author", npub)
	if n := c.count(nostr.Filter{}); n != 3 {
		t.Errorf("%d events after a dry run", n)
	}
	refs := git(t, h.dir, "ls-remote", h.url)
	onPage := func() bool { return strings.Contains(read(t, "http://"+host+"/"), "tool") } // which is kept for half a minute
	if !onPage() {
		t.Error("the page of all repositories lacks it")
	}
	out = graspd("3 events are gone", "delete", "--repository", address, "--reason", "spam & worse", "--yes")
	if !strings.Contains(out, "case 1: repository "+address+" (a tool)\n") || !strings.Contains(graspd("(a tool)", "restore"), address) || !strings.Contains(graspd("(a tool)", "journal", "--data", data), address) {
		t.Errorf("its name does not stand beside it: %s", out)
	}
	gone := func() {
		t.Helper()
		if n := dial(t, h.us.url).count(nostr.Filter{}); n != 0 {
			t.Errorf("%d events are left", n)
		}
		for _, u := range []string{h.url, h.url + "/info/refs?service=git-upload-pack"} {
			if code := statusOf(t, http.MethodGet, u); code != http.StatusNotFound {
				t.Errorf("%s: %d", u, code)
			}
		}
		if out, err := gitIn(t, h.dir, "push", h.url, "main"); err == nil {
			t.Errorf("pushed to: %s", out)
		}
	}
	gone()
	if onPage() {
		t.Error("the page of all repositories has it still")
	}
	page := read(t, h.base+"/")
	for _, s := range []string{"spam &amp; worse", "deleted: repository " + address + " <b>a tool</b>", "Here you look only."} {
		if !strings.Contains(page, s) {
			t.Errorf("the page lacks %q", s)
		}
	}
	copied := filepath.Join(t.TempDir(), "copy")
	graspd("copied to", "backup", "--data", h.data, copied)
	if code := h.us.stop(); code != exitOK {
		t.Fatalf("exit code %d", code)
	}
	for _, dir := range []string{h.data, copied} {
		if code, out, errs := checked(t, dir); code != exitOK {
			t.Errorf("%s is not sound: %d %s%s", dir, code, out, errs)
		}
	}
	if code, out, errs := call(t, "", nil, "check", "--repair", "--data", copied); code != exitOK {
		t.Fatalf("repair: %d %s%s", code, out, errs)
	}
	for _, data = range []string{h.data, copied} {
		dir := data
		h.us = serve(t, "--git", "--data", dir, "--sync=false", "--listen", host, "--admin-listen", "127.0.0.1:0")
		h.base = h.us.out.await(t, `at (http://\S+)/status.json\n`)
		gone()
		graspd("repository "+address, "restore")
		graspd("all that graspd had kept of it is back", "restore", "--case", "1", "--reason", "a mistake")
		if n := dial(t, h.us.url).count(nostr.Filter{}); n != 3 {
			t.Errorf("%d events are back", n)
		}
		if got := git(t, h.dir, "ls-remote", h.url); got != refs {
			t.Errorf("refs are back as\n%s\nand were\n%s", got, refs)
		}
		git(t, t.TempDir(), "clone", "-q", h.url, "again")
		out := graspd("spam & worse", "journal")
		if !strings.Contains(out, "a mistake") || strings.Index(out, "restored") > strings.Index(out, "deleted") {
			t.Errorf("journal:\n%s", out)
		}
		graspd("nothing to restore", "restore")
		if code := h.us.stop(); code != exitOK {
			t.Fatalf("exit code %d", code)
		}
		if code, out, errs := checked(t, dir); code != exitOK {
			t.Errorf("%s is not sound: %d %s%s", dir, code, out, errs)
		}
	}
}

// TestWhoMayDelete: whoever can read the relay's key may. No page of another site may, nor may one by another name of this listener, nor
// whoever else can reach it; and what cannot be done is told.
func TestWhoMayDelete(t *testing.T) {
	data := t.TempDir()
	us := serve(t, "--data", data, "--sync=false", "--admin-listen", "127.0.0.1:0")
	base := us.out.await(t, `at (http://\S+)/status.json\n`)
	key, err := node.ReadKey(data)
	if err != nil {
		t.Fatal(err)
	}
	post := func(path, form string, header ...string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodPost, base+path, strings.NewReader(form))
		if err != nil {
			t.Fatal(err)
		}
		if err := admin.Authorize(req, []byte(form), time.Now(), node.Signer(key)); err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		for i := 0; i < len(header); i += 2 {
			if req.Header.Set(header[i], header[i+1]); header[i] == "Host" {
				req.Host = header[i+1]
			}
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	form := url.Values{"author": {someHex}}.Encode()
	for _, tc := range []struct {
		path, form string
		header     []string
		want       int
	}{
		{"/delete", form, []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"/delete", form, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{"/delete", form, []string{"Host", "evil.example"}, http.StatusMisdirectedRequest},
		{"/delete", form, []string{"Authorization", ""}, http.StatusUnauthorized},
		{"/restore", "case=1", []string{"Origin", "https://evil.example"}, http.StatusForbidden},
		{"/delete", "", nil, http.StatusBadRequest},
		{"/delete", form + "&event=" + someHex, nil, http.StatusBadRequest},
		{"/delete", "author=bob", nil, http.StatusBadRequest},
		{"/delete", form + "&keep=-1s", nil, http.StatusBadRequest},
		{"/restore", "case=x", nil, http.StatusBadRequest},
		{"/restore", "case=1", nil, http.StatusConflict},
	} {
		if got := post(tc.path, tc.form, tc.header...); got != tc.want {
			t.Errorf("%s %s %v: %d, want %d", tc.path, tc.form, tc.header, got, tc.want)
		}
	}
	var cases admin.Cases
	if err := json.Unmarshal([]byte(read(t, base+"/cases.json")), &cases); err != nil || len(cases.Cases) != 0 {
		t.Errorf("%+v, %v", cases, err)
	}
	if got := post("/delete", form); got != http.StatusOK {
		t.Errorf("the operator: %d", got)
	}
	var j admin.Journal
	if err := json.Unmarshal([]byte(read(t, base+"/journal.json")), &j); err != nil || len(j.Entries) != 1 || j.Entries[0].Did != moderation.Deleted {
		t.Errorf("%+v, %v", j, err)
	}
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"at least one --author", []string{"delete", "--yes"}},
		{"takes no argument", []string{"delete", someHex}},
		{"want a public key", []string{"delete", "--author", "bob"}},
		{"there is no such case", []string{"restore", "--case", "9"}},
		{"the relay's key proves that you may", []string{"restore", "--case", "9", "--data", t.TempDir()}},
		{"the relay's key proves that you may", []string{"status", "--retry", "wss://x.example", "--data", t.TempDir()}},
	} {
		if code, _, errs := call(t, "", map[string]string{"GRASPD_DATA": data}, append(tc.args, "--admin", base)...); code == exitOK || !strings.Contains(errs, tc.want) {
			t.Errorf("%v: %d %s", tc.args, code, errs)
		}
	}
}
